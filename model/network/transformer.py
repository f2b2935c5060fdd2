"""The three families, composed of the same layers: encoder-decoder, encoder-only and decoder-only."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor, nn

from ..config import END, PAD, ModelConfig
from .attention import Dropout
from .context import PLAIN, Pass
from .layers import DecoderLayer, EncoderLayer, OutputTransform, Pooler, final_norm, make_norm
from .masks import Masks
from .positions import PositionalEncoding


def segments(ids: Tensor) -> Tensor:
    """For ids [B,T] which of two sentences each token belongs to, [B,T]: 0 up to the first `</s>`, 1 after it."""
    ends = (ids == END).long()
    return (ends.cumsum(-1) - ends).clamp(max=1)


class Embedding(nn.Module):
    """Token embeddings times sqrt(D), where the config scales them, with positions added (Vaswani et al. 2017, sections 3.4
    and 3.5); where the config says so, segments are added and a norm follows (Devlin et al. 2019)."""

    def __init__(self, config: ModelConfig, table: nn.Embedding) -> None:
        super().__init__()
        self.table = table
        self.scale = math.sqrt(config.d_model) if config.embedding_scale else 1.0
        self.segments = nn.Embedding(config.segments, config.d_model) if config.segments else None
        self.positional = PositionalEncoding(config)
        self.has_norm = config.embedding_norm
        if config.embedding_norm:
            self.norm = make_norm(config)
        self.dropout = Dropout(config.dropout)

    def forward(self, ids: Tensor, positions: Tensor, present: Tensor | None = None) -> Tensor:
        """ids [B,T], positions [T] or [B,T], and 0 in `present` [B,1,1] for rows without positions; returns [B,T,D]."""
        added = self.added(ids, positions, present)
        return self.dropout(self.norm(added) if self.has_norm else added)

    def tables_beside(self) -> list[nn.Embedding]:
        """What is learned and added to the tokens' embeddings as it is."""
        learned = (self.segments, getattr(self.positional, "table", None))
        return [table for table in learned if table is not None]

    def added(self, ids: Tensor, positions: Tensor, present: Tensor | None = None) -> Tensor:
        """The same before the norm, if there is one: [B,T,D]."""
        embedded = self.table(ids) * self.scale  # [B,T,D]
        if self.segments is not None:
            embedded = embedded + self.segments(segments(ids))
        return self.positional(embedded, positions, present)


class Transformer(nn.Module, ABC):
    """What all families have in common: ids to hidden states to logits.

    Masks are made by the caller, in `masks.py`; nothing is recorded unless the Pass has a probe. Ids and masks of a side
    that a family lacks are None.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        if config.family != self.family:
            raise ValueError(f"the config's family is {config.family}; expected {self.family}")
        self.config = config

    family: ClassVar[str]

    def _finish(self, table: nn.Embedding) -> None:
        """The projection, tied to a table where the config says so; then all weights are drawn."""
        self.projection = nn.Linear(self.config.d_model, self.config.target_vocab, bias=self.config.output_bias)
        if self.config.tied_output:
            self.projection.weight = table.weight
        if self.config.output_transform:
            self.transform = OutputTransform(self.config)
        self._initialise()

    def _initialise(self) -> None:
        """Xavier uniform for matrices (Glorot and Bengio 2010), zero for biases, N(0, 1/D) for embeddings, so that they
        have unit variance after the factor sqrt(D); learned positions and segments beside scaled ones have it too."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for module in self.modules():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.config.d_model**-0.5)
        with torch.no_grad():
            for module in self.modules():
                if isinstance(module, Embedding):
                    for table in module.tables_beside():
                        table.weight.mul_(module.scale)

    def forward(self, source: Tensor | None, target: Tensor | None, masks: Masks, at: Pass = PLAIN) -> Tensor:
        """Source ids [B,S] and decoder input ids [B,T] to logits [B,T,V]; without a decoder [B,S,V]."""
        return self.project(self.states(source, target, masks, at))

    @abstractmethod
    def states(self, source: Tensor | None, target: Tensor | None, masks: Masks, at: Pass = PLAIN) -> Tensor:
        """The same to hidden states [B,T,D], without a decoder [B,S,D], for `project`."""

    def project(self, hidden: Tensor) -> Tensor:
        """Hidden states [...,D] to logits [...,V]."""
        return self.projection(self.transform(hidden) if self.config.output_transform else hidden)

    def answer(self, hidden: Tensor, source: Tensor | None) -> Tensor:
        """Hidden states [B,T,D], over source ids [B,S], to the logits of what the model is for: of the token at each place
        [B,T,V], of a classifier those of the whole text's labels [B,1,C]."""
        return self.project(hidden)

    def preference(self, token: int, rival: int) -> tuple[Tensor, float]:
        """What makes of hidden states the logit of a token minus that of another: a direction [D], and what is added."""
        weight, bias = self.projection.weight, self.projection.bias
        return weight[token] - weight[rival], 0.0 if bias is None else float(bias[token] - bias[rival])

    @cached_property
    def parameter_count(self) -> int:
        """Parameters, tied ones counted once."""
        return sum(p.numel() for p in self.parameters())


class Encodes:
    """The encoder's half of a forward pass."""

    def encode(self, source: Tensor, mask: Tensor, at: Pass = PLAIN) -> Tensor:
        """Source ids [B,S] to what cross-attention reads, [B,S,D]."""
        assert at.cache is None, "an encoder keeps nothing between steps"
        positions, present = at.positions("source", source)
        x = at.patched("encoder", 0, self.source_embedding(source, positions, present))  # [B,S,D]
        for layer in self.encoder:
            x = layer(x, mask, positions, at)
        memory = self.encoder_norm(x)
        at.record_memory(memory)
        return memory


class EncoderDecoder(Encodes, Transformer):
    """Reads a source sentence, predicts a target sentence token by token (Vaswani et al. 2017)."""

    family = "encoder-decoder"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        target = nn.Embedding(config.target_vocab, config.d_model)
        source = target if config.joint_vocab else nn.Embedding(config.source_vocab, config.d_model)
        self.source_embedding = Embedding(config, source)
        self.target_embedding = Embedding(config, target)
        self.encoder = nn.ModuleList(EncoderLayer(config, n) for n in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config, n) for n in range(config.decoder_layers))
        self.encoder_norm = final_norm(config)
        self.decoder_norm = final_norm(config)
        self._finish(target)

    def states(self, source: Tensor | None, target: Tensor | None, masks: Masks, at: Pass = PLAIN) -> Tensor:
        memory = self.encode(source, masks.encoder, at)  # [B,S,D]
        return self.decode(target, memory, masks.decoder, masks.cross, at)  # [B,T,D]

    def decode(
        self, target: Tensor, memory: Tensor | None, mask: Tensor, memory_mask: Tensor | None, at: Pass = PLAIN
    ) -> Tensor:
        """Decoder inputs [B,T] that stand at positions at.start, at.start + 1, ..., to hidden states [B,T,D], for `project`.

        With a cache, `target` holds only what came after the positions that the cache has seen.
        """
        positions, present = at.positions("target", target)
        x = self.target_embedding(target, positions, present)  # [B,T,D]
        for layer in self.decoder:
            x = layer(x, memory, mask, memory_mask, positions, at)
        return self.decoder_norm(x)


class EncoderOnly(Encodes, Transformer):
    """Reads a sentence and says of each position which token stands there (the encoder of Devlin et al. 2019). Where the
    config has such heads, it says of the whole whether its second sentence follows the first, and which label it has."""

    family = "encoder-only"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        table = nn.Embedding(config.source_vocab, config.d_model)
        self.source_embedding = Embedding(config, table)
        self.encoder = nn.ModuleList(EncoderLayer(config, n) for n in range(config.encoder_layers))
        self.encoder_norm = final_norm(config)
        if config.pooler:
            self.pooler = Pooler(config)
        if config.follows:
            self.follows = nn.Linear(config.d_model, 2)
        if config.classes:
            self.classifier = nn.Linear(config.d_model, len(config.classes))
        self._finish(table)

    def states(self, source: Tensor | None, target: Tensor | None, masks: Masks, at: Pass = PLAIN) -> Tensor:
        assert target is None, "an encoder-only model has no decoder"
        return self.encode(source, masks.encoder, at)  # [B,S,D]

    def pooled(self, hidden: Tensor, source: Tensor) -> Tensor:
        """Hidden states [B,S,D] of source ids [B,S] to one vector a row, [B,D]."""
        return self.pooler(hidden, source != PAD)

    def following(self, hidden: Tensor, source: Tensor) -> Tensor:
        """The same to logits [B,2]: the second sentence follows the first, or comes from elsewhere."""
        return self.follows(self.pooled(hidden, source))

    def judged(self, hidden: Tensor, source: Tensor) -> Tensor:
        """The same to logits [B,C], one for each of `config.classes`."""
        return self.classifier(self.pooled(hidden, source))

    def answer(self, hidden: Tensor, source: Tensor | None) -> Tensor:
        if not self.config.classes:
            return self.project(hidden)
        assert source is not None, "an encoder reads a source"
        return self.judged(hidden, source)[:, None]  # [B,1,C]


class DecoderOnly(Transformer):
    """Goes on with a text token by token (Radford et al. 2018): encoder layers with a causal mask."""

    family = "decoder-only"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        table = nn.Embedding(config.target_vocab, config.d_model)
        self.target_embedding = Embedding(config, table)
        self.decoder = nn.ModuleList(EncoderLayer(config, n, "decoder") for n in range(config.decoder_layers))
        self.decoder_norm = final_norm(config)
        self._finish(table)

    def states(self, source: Tensor | None, target: Tensor | None, masks: Masks, at: Pass = PLAIN) -> Tensor:
        assert source is None, "a decoder-only model has no encoder"
        return self.decode(target, None, masks.decoder, None, at)  # [B,T,D]

    def decode(
        self, target: Tensor, memory: Tensor | None, mask: Tensor, memory_mask: Tensor | None, at: Pass = PLAIN
    ) -> Tensor:
        """As that of `EncoderDecoder`, with nothing to read beside the text itself."""
        assert memory is None and memory_mask is None, "a decoder-only model has no memory"
        positions, present = at.positions("target", target)
        x = self.target_embedding(target, positions, present)  # [B,T,D]
        for layer in self.decoder:
            x = layer(x, mask, positions, at)
        return self.decoder_norm(x)


_FAMILIES: dict[str, type[Transformer]] = {made.family: made for made in (EncoderDecoder, EncoderOnly, DecoderOnly)}


def build(config: ModelConfig) -> Transformer:
    """A model of the config's family with newly drawn weights."""
    return _FAMILIES[config.family](config)
