"""Reference for speed and numbers: our model made of torch's own modules."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from model.config import PAD
from model.network.attention import MultiHeadAttention
from model.network.layers import DecoderLayer, EncoderLayer
from model.network.transformer import EncoderDecoder


@torch.no_grad()
def copy(source: nn.Module, target: nn.Module) -> None:
    target.load_state_dict(source.state_dict())


@torch.no_grad()
def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    theirs.in_proj_weight.copy_(torch.cat((ours.query.weight, ours.key.weight, ours.value.weight)))
    theirs.in_proj_bias.copy_(torch.cat((ours.query.bias, ours.key.bias, ours.value.bias)))
    copy(ours.output, theirs.out_proj)


def _copy_rest(ours: EncoderLayer | DecoderLayer, theirs: nn.Module, norms: list[nn.LayerNorm]) -> None:
    copy(ours.feed_forward.inner, theirs.linear1)
    copy(ours.feed_forward.outer, theirs.linear2)
    for residual, norm in zip(ours.residuals, norms, strict=True):
        copy(residual.norm, norm)


def copy_encoder_layer(ours: EncoderLayer, theirs: nn.TransformerEncoderLayer) -> None:
    copy_attention(ours.self_attention, theirs.self_attn)
    _copy_rest(ours, theirs, [theirs.norm1, theirs.norm2])


def copy_decoder_layer(ours: DecoderLayer, theirs: nn.TransformerDecoderLayer) -> None:
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    _copy_rest(ours, theirs, [theirs.norm1, theirs.norm2, theirs.norm3])


def torch_transformer(ours: EncoderDecoder, dropout: float = 0.0) -> nn.Transformer:
    """`nn.Transformer` with the weights of ours; its dropout is on embeddings' sums, sub-layers and attention alike.

    Biases, LayerNorm, ReLU or GELU, sinusoidal or learned positions: what torch has.
    """
    c, dtype = ours.config, next(ours.parameters()).dtype
    theirs = nn.Transformer(
        c.d_model,
        c.heads,
        c.encoder_layers,
        c.decoder_layers,
        c.d_ff,
        dropout,
        c.activation,
        layer_norm_eps=c.norm_eps,
        batch_first=True,
        norm_first=c.norm_first,
        dtype=dtype,
    )
    for mine, other in zip(ours.encoder, theirs.encoder.layers, strict=True):
        copy_encoder_layer(mine, other)
    for mine, other in zip(ours.decoder, theirs.decoder.layers, strict=True):
        copy_decoder_layer(mine, other)
    if c.final_norm:
        copy(ours.encoder_norm, theirs.encoder.norm)
        copy(ours.decoder_norm, theirs.decoder.norm)
    else:
        theirs.encoder.norm = theirs.decoder.norm = None
    return theirs


class PlainTransformer(nn.Module):
    """An encoder-decoder as one writes it with torch alone: one table for both languages and the output, sinusoids."""

    def __init__(self, ours: EncoderDecoder, dropout: float = 0.0) -> None:
        super().__init__()
        d = ours.config.d_model
        self.embedding = nn.Embedding.from_pretrained(ours.target_embedding.table.weight.detach().clone(), freeze=False)
        self.transformer = torch_transformer(ours, dropout)
        self.dropout = nn.Dropout(dropout)
        rates = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        angles = torch.arange(512)[:, None] * rates  # [512, D/2]
        table = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)  # sine and cosine take turns
        self.register_buffer("positions", table.to(self.embedding.weight.dtype))

    def embed(self, ids: Tensor) -> Tensor:
        """Ids [B,T] to [B,T,D]."""
        return self.dropout(self.embedding(ids) * math.sqrt(self.embedding.embedding_dim) + self.positions[: ids.size(1)])

    def forward(self, source: Tensor, inputs: Tensor) -> Tensor:
        """Source ids [B,S] and decoder inputs [B,T] to logits [B,T,V]."""
        no_later = torch.ones(inputs.size(1), inputs.size(1), dtype=torch.bool, device=inputs.device).triu(1)
        hidden = self.transformer(
            self.embed(source),
            self.embed(inputs),
            tgt_mask=no_later,
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=inputs == PAD,
            memory_key_padding_mask=source == PAD,
        )
        return hidden @ self.embedding.weight.T
