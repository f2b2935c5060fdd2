"""The encoder-decoder of "Attention Is All You Need", composed of the layers."""

from __future__ import annotations

import math

from torch import Tensor, nn

from model.config import ModelConfig
from model.edits.apply import NO_EDITS, Edits
from model.network.dropout import Dropout
from model.network.layers import DecoderLayer, EncoderLayer, LayerCache, make_norm
from model.network.masks import Masks
from model.network.positions import PositionalEncoding
from model.trace import Probe


class Embedding(nn.Module):
    """Token embeddings times sqrt(D), with positions added (Vaswani et al. 2017, sections 3.4 and 3.5)."""

    def __init__(self, config: ModelConfig, table: nn.Embedding) -> None:
        super().__init__()
        self.table = table
        self.scale = math.sqrt(config.d_model)
        self.positional = PositionalEncoding(config)
        self.dropout = Dropout(config.dropout)

    def forward(self, ids: Tensor, positions: Tensor, present: Tensor | None = None) -> Tensor:
        """ids [B,T], positions [T] or [B,T], and 0 in `present` [B,1,1] for rows without positions; returns [B,T,D]."""
        return self.dropout(self.positional(self.table(ids) * self.scale, positions, present))


class EncoderDecoder(nn.Module):
    """Reads a source sentence, predicts a target sentence token by token.

    Masks are made by the caller, in `masks.py`; nothing is recorded unless a Probe is passed.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        target = nn.Embedding(config.target_vocab, config.d_model)
        source = target if config.joint_vocab else nn.Embedding(config.source_vocab, config.d_model)
        self.source_embedding = Embedding(config, source)
        self.target_embedding = Embedding(config, target)
        self.encoder = nn.ModuleList(EncoderLayer(config, n) for n in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config, n) for n in range(config.decoder_layers))
        self.encoder_norm = make_norm(config) if config.final_norm else nn.Identity()
        self.decoder_norm = make_norm(config) if config.final_norm else nn.Identity()
        self.projection = nn.Linear(config.d_model, config.target_vocab, bias=False)
        if config.tied_output:
            self.projection.weight = target.weight
        self._initialise()

    def _initialise(self) -> None:
        """Xavier uniform for matrices (Glorot and Bengio 2010), zero for biases, N(0, 1/D) for embeddings, so that they
        have unit variance after the factor sqrt(D)."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for module in self.modules():
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.config.d_model**-0.5)

    def forward(
        self, source: Tensor, target: Tensor, masks: Masks, probe: Probe | None = None, edits: Edits = NO_EDITS
    ) -> Tensor:
        """Source ids [B,S] and decoder input ids [B,T] to logits [B,T,V]."""
        memory = self.encode(source, masks.encoder, probe, edits)  # [B,S,D]
        return self.project(self.decode(target, memory, masks.decoder, masks.cross, probe=probe, edits=edits))

    def encode(self, source: Tensor, mask: Tensor, probe: Probe | None = None, edits: Edits = NO_EDITS) -> Tensor:
        """Source ids [B,S] to what cross-attention reads, [B,S,D]."""
        positions, present = edits.positions("source", source)
        x = self.source_embedding(source, positions, present)  # [B,S,D]
        for layer in self.encoder:
            x = layer(x, mask, positions, probe, edits)
        return self.encoder_norm(x)

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        self_mask: Tensor,
        cross_mask: Tensor,
        cache: list[LayerCache] | None = None,
        start: int = 0,
        probe: Probe | None = None,
        edits: Edits = NO_EDITS,
    ) -> Tensor:
        """Decoder inputs [B,T] that stand at positions start, start + 1, ..., to hidden states [B,T,D], for `project`.

        With a cache, `target` holds only what came after the positions that the cache has seen.
        """
        positions, present = edits.positions("target", target, start)
        x = self.target_embedding(target, positions, present)  # [B,T,D]
        for n, layer in enumerate(self.decoder):
            x = layer(x, memory, self_mask, cross_mask, positions, cache[n] if cache else None, probe, edits, start)
        return self.decoder_norm(x)

    def project(self, hidden: Tensor) -> Tensor:
        """Hidden states [...,D] to logits [...,V]."""
        return self.projection(hidden)

    def new_cache(self) -> list[LayerCache]:
        """An empty key-value cache, one entry a decoder layer."""
        return [LayerCache() for _ in self.decoder]

    @property
    def parameter_count(self) -> int:
        """Parameters, tied ones counted once."""
        return sum(p.numel() for p in self.parameters())
