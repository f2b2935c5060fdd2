"""The three model families, built from the same layers: encoder-decoder, encoder-only and decoder-only."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor, nn

from ..config import END, PAD, ModelConfig
from .attention import Dropout
from .context import EMPTY_PASS, Pass
from .layers import DecoderLayer, EncoderLayer, OutputTransform, Pooler, final_norm, make_norm
from .masks import Masks
from .positions import PositionalEncoding


def segment_ids(ids: Tensor) -> Tensor:
    """Returns the sentence of each token of ids [B,T], [B,T]: 0 up to the first `</s>`, 1 after it."""
    ends = (ids == END).long()
    return (ends.cumsum(-1) - ends).clamp(max=1)


class Embedding(nn.Module):
    """Token embeddings plus positions (Vaswani et al. 2017, sections 3.4 and 3.5).

    The config can scale the token embeddings by sqrt(D), add segments, and add a norm (Devlin et al. 2019).
    """

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

    def forward(self, ids: Tensor, positions: Tensor, position_factors: Tensor | None = None) -> Tensor:
        """Returns [B,T,D] for ids [B,T] and positions [T] or [B,T].

        `position_factors` [B,1,1] is 0 for rows without positions."""
        total = self.embedding_sum(ids, positions, position_factors)
        return self.dropout(self.norm(total) if self.has_norm else total)

    def unscaled_tables(self) -> list[nn.Embedding]:
        """Returns the learned tables that are added to the token embeddings without scaling."""
        learned = (self.segments, getattr(self.positional, "table", None))
        return [table for table in learned if table is not None]

    def embedding_sum(self, ids: Tensor, positions: Tensor, position_factors: Tensor | None = None) -> Tensor:
        """Returns the sum of token, segment and position embeddings before the norm, [B,T,D]."""
        embedded = self.table(ids) * self.scale  # [B,T,D]
        if self.segments is not None:
            embedded = embedded + self.segments(segment_ids(ids))
        return self.positional(embedded, positions, position_factors)


class Transformer(nn.Module, ABC):
    """Base class of the families: maps ids to hidden states, and these to logits.

    The caller builds the masks with `masks.py`. Nothing is recorded unless the Pass has a probe. Ids and masks of a side
    that a family lacks are None.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        if config.family != self.family:
            raise ValueError(f"the config's family is {config.family}; expected {self.family}")
        self.config = config

    family: ClassVar[str]
    source_embedding: Embedding
    encoder: nn.ModuleList
    encoder_norm: nn.Module
    target_embedding: Embedding
    decoder: nn.ModuleList
    decoder_norm: nn.Module

    def _create_output(self, table: nn.Embedding) -> None:
        """Creates the output projection, tied to a table if the config says so, and initialises all weights."""
        self.projection = nn.Linear(self.config.d_model, self.config.target_vocab, bias=self.config.output_bias)
        if self.config.tied_output:
            self.projection.weight = table.weight
        if self.config.output_transform:
            self.transform = OutputTransform(self.config)
        self._initialise()

    def _initialise(self) -> None:
        """Initialises matrices by Xavier uniform (Glorot and Bengio 2010), biases with 0, embeddings with N(0, 1/D).

        Token embeddings so have unit variance after the factor sqrt(D). Learned positions and segments are scaled to the
        same variance.
        """
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
                    for table in module.unscaled_tables():
                        table.weight.mul_(module.scale)

    def forward(self, source: Tensor | None, target: Tensor | None, masks: Masks, context: Pass = EMPTY_PASS) -> Tensor:
        """Returns logits [B,T,V] for source ids [B,S] and decoder input ids [B,T]; without a decoder [B,S,V]."""
        return self.project(self.states(source, target, masks, context))

    @abstractmethod
    def states(self, source: Tensor | None, target: Tensor | None, masks: Masks, context: Pass = EMPTY_PASS) -> Tensor:
        """Returns hidden states [B,T,D], without a decoder [B,S,D], for `project`; arguments as in `forward`."""

    def encode(self, source: Tensor, mask: Tensor, context: Pass = EMPTY_PASS) -> Tensor:
        """Returns the encoder's output [B,S,D] for source ids [B,S]."""
        raise NotImplementedError(f"the family {self.family} has no encoder")

    def decode(
        self, target: Tensor, memory: Tensor | None, mask: Tensor, memory_mask: Tensor | None, context: Pass = EMPTY_PASS
    ) -> Tensor:
        """Returns hidden states [B,T,D], for `project`, of decoder inputs [B,T]."""
        raise NotImplementedError(f"the family {self.family} has no decoder")

    def project(self, hidden: Tensor) -> Tensor:
        """Returns logits [...,V] for hidden states [...,D]."""
        return self.projection(self.transform(hidden) if self.config.output_transform else hidden)

    def task_logits(self, hidden: Tensor, source: Tensor | None) -> Tensor:
        """Returns the logits of the model's task for hidden states [B,T,D] and source ids [B,S].

        They are token logits [B,T,V]; for a classifier those of the labels [B,1,C].
        """
        return self.project(hidden)

    def logit_difference(self, token: int, rival: int) -> tuple[Tensor, float]:
        """Returns the direction [D] and the bias whose affine map of a hidden state is logit(token) - logit(rival)."""
        weight, bias = self.projection.weight, self.projection.bias
        return weight[token] - weight[rival], 0.0 if bias is None else float(bias[token] - bias[rival])

    @cached_property
    def parameter_count(self) -> int:
        """The number of parameters; tied ones count once."""
        return sum(p.numel() for p in self.parameters())


class EncoderMixin:
    """The encoder's forward pass."""

    def encode(self, source: Tensor, mask: Tensor, context: Pass = EMPTY_PASS) -> Tensor:
        """Returns the encoder's output [B,S,D] for source ids [B,S]."""
        assert context.cache is None, "an encoder has no key-value cache"
        positions, position_factors = context.positions("source", source)
        x = context.patch_stream("encoder", 0, self.source_embedding(source, positions, position_factors))  # [B,S,D]
        for layer in self.encoder:
            x = layer(x, mask, positions, context)
        memory = self.encoder_norm(x)
        context.record_memory(memory)
        return memory


class EncoderDecoder(EncoderMixin, Transformer):
    """Predicts a target sentence token by token from a source sentence (Vaswani et al. 2017)."""

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
        self._create_output(target)

    def states(self, source: Tensor | None, target: Tensor | None, masks: Masks, context: Pass = EMPTY_PASS) -> Tensor:
        memory = self.encode(source, masks.encoder, context)  # [B,S,D]
        return self.decode(target, memory, masks.decoder, masks.cross, context)  # [B,T,D]

    def decode(
        self, target: Tensor, memory: Tensor | None, mask: Tensor, memory_mask: Tensor | None, context: Pass = EMPTY_PASS
    ) -> Tensor:
        """Returns hidden states [B,T,D], for `project`, of decoder inputs [B,T] at positions context.start and following.

        With a cache, `target` has only the tokens after the cached positions.
        """
        positions, position_factors = context.positions("target", target)
        x = self.target_embedding(target, positions, position_factors)  # [B,T,D]
        for layer in self.decoder:
            x = layer(x, memory, mask, memory_mask, positions, context)
        return self.decoder_norm(x)


class EncoderOnly(EncoderMixin, Transformer):
    """Predicts the token at each position of a text (the encoder of Devlin et al. 2019).

    With the heads of the config it also predicts the label of the text, and whether its second sentence follows the first.
    """

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
        self._create_output(table)

    def states(self, source: Tensor | None, target: Tensor | None, masks: Masks, context: Pass = EMPTY_PASS) -> Tensor:
        assert target is None, "an encoder-only model has no decoder"
        return self.encode(source, masks.encoder, context)  # [B,S,D]

    def pooled_output(self, hidden: Tensor, source: Tensor) -> Tensor:
        """Returns one vector a row, [B,D], for hidden states [B,S,D] of source ids [B,S]."""
        return self.pooler(hidden, source != PAD)

    def next_sentence_logits(self, hidden: Tensor, source: Tensor) -> Tensor:
        """Returns the next-sentence logits [B,2]: the second sentence follows the first, or it does not."""
        return self.follows(self.pooled_output(hidden, source))

    def label_logits(self, hidden: Tensor, source: Tensor) -> Tensor:
        """Returns logits [B,C], one for each of `config.classes`."""
        return self.classifier(self.pooled_output(hidden, source))

    def task_logits(self, hidden: Tensor, source: Tensor | None) -> Tensor:
        if not self.config.classes:
            return self.project(hidden)
        assert source is not None, "an encoder reads a source"
        return self.label_logits(hidden, source)[:, None]  # [B,1,C]


class DecoderOnly(Transformer):
    """Continues a text token by token (Radford et al. 2018): encoder layers with a causal mask."""

    family = "decoder-only"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        table = nn.Embedding(config.target_vocab, config.d_model)
        self.target_embedding = Embedding(config, table)
        self.decoder = nn.ModuleList(EncoderLayer(config, n, "decoder") for n in range(config.decoder_layers))
        self.decoder_norm = final_norm(config)
        self._create_output(table)

    def states(self, source: Tensor | None, target: Tensor | None, masks: Masks, context: Pass = EMPTY_PASS) -> Tensor:
        assert source is None, "a decoder-only model has no encoder"
        return self.decode(target, None, masks.decoder, None, context)  # [B,T,D]

    def decode(
        self, target: Tensor, memory: Tensor | None, mask: Tensor, memory_mask: Tensor | None, context: Pass = EMPTY_PASS
    ) -> Tensor:
        """Returns hidden states as `EncoderDecoder.decode` does, without a memory."""
        assert memory is None and memory_mask is None, "a decoder-only model has no memory"
        positions, position_factors = context.positions("target", target)
        x = self.target_embedding(target, positions, position_factors)  # [B,T,D]
        for layer in self.decoder:
            x = layer(x, mask, positions, context)
        return self.decoder_norm(x)


_FAMILIES: dict[str, type[Transformer]] = {family.family: family for family in (EncoderDecoder, EncoderOnly, DecoderOnly)}


def build(config: ModelConfig) -> Transformer:
    """Returns a model of the config's family with new random weights."""
    return _FAMILIES[config.family](config)
