"""Segments, the pooler and the heads that judge a whole text: torch's own numbers, and what must not matter."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from benchmarks.peers import copy, copy_encoder_layer
from model.config import END, PAD, START
from model.network.context import teacher_forced_states
from model.network.transformer import EncoderOnly
from tests.support import tiny

ALONE = {"family": "encoder-only", "decoder_layers": 0, "source_start": True}
JUDGES = ALONE | {"segments": 2, "pooler": True, "follows": True, "classes": ("no", "yes", "perhaps")}
BERT = {"embedding_norm": True, "output_transform": True, "output_bias": True, "positions": "learned", "activation": "gelu"}
pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # torch names a fast path that it will not take


def two_sentences(first: int, second: int, pads: int = 0, seed: int = 0) -> Tensor:
    """`<s>` a `</s>` b `</s>`, and padding: [1,S]."""
    words = tiny.ids(1, first + second, seed=seed)[0].tolist()
    return torch.tensor([[START, *words[:first], END, *words[first:], END, *[PAD] * pads]])


BATCH = torch.cat([two_sentences(3, 5), two_sentences(4, 1, 3, seed=1), two_sentences(0, 2, 6, seed=2)])  # [3,11]


class Plain(nn.Module):
    """An encoder as one writes it with torch alone, with the weights of ours."""

    def __init__(self, ours: EncoderOnly) -> None:
        super().__init__()
        c = ours.config
        layer = nn.TransformerEncoderLayer(
            c.d_model, c.heads, c.d_ff, 0.0, c.activation, c.norm_eps, True, c.norm_first, dtype=torch.float64
        )
        norm = nn.LayerNorm(c.d_model, c.norm_eps, dtype=torch.float64) if c.final_norm else None
        self.encoder = nn.TransformerEncoder(layer, c.encoder_layers, norm)
        for mine, other in zip(ours.encoder, self.encoder.layers, strict=True):
            copy_encoder_layer(mine, other)
        if norm is not None:
            copy(ours.encoder_norm, norm)
        self.ours = ours

    def forward(self, ids: Tensor, second: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Ids [B,S], and True for the second sentence: states, and the logits of tokens, next sentence and labels."""
        embedding, config = self.ours.source_embedding, self.ours.config
        x = embedding.table.weight[ids] * (config.d_model**0.5 if config.embedding_scale else 1)
        x = x + embedding.segments.weight[second.long()]
        places = torch.arange(ids.size(1))
        x = x + (
            embedding.positional.table.weight[places]
            if config.positions == "learned"
            else embedding.positional(0 * x, places)
        )
        hidden = self.encoder(embedding.norm(x) if config.embedding_norm else x, src_key_padding_mask=ids == PAD)
        made = hidden
        if config.output_transform:
            made = self.ours.transform.norm(nn.functional.gelu(self.ours.transform.dense(hidden)))
        tokens = made @ embedding.table.weight.T + (self.ours.projection.bias if config.output_bias else 0)
        if config.pooling == "first":
            read = hidden[:, 0]
        else:
            read = torch.stack([row[known != PAD].mean(0) for row, known in zip(hidden, ids, strict=True)])
        pooled = torch.tanh(self.ours.pooler.dense(read))
        return hidden, tokens, self.ours.follows(pooled), self.ours.classifier(pooled)


@pytest.mark.parametrize("norm_first", [True, False], ids=["pre-norm", "post-norm"])
@pytest.mark.parametrize("pooling", ["first", "mean"])
@pytest.mark.parametrize("more", [{}, BERT | {"final_norm": False, "embedding_scale": False}], ids=["plain", "as BERT"])
def test_every_head_equals_torch(norm_first, pooling, more):
    ours = tiny.model(**(JUDGES | {"norm_first": norm_first, "pooling": pooling} | more))
    second = torch.tensor([[0] * 5 + [1] * 6, [0] * 6 + [1] * 5, [0] * 2 + [1] * 9]).bool()
    hidden, tokens, follows, labels = Plain(ours).eval()(BATCH, second)
    states, real = teacher_forced_states(ours, BATCH, None), BATCH != PAD
    pairs = [(states[real], hidden[real]), (ours.project(states)[real], tokens[real])]
    pairs += [(ours.next_sentence_logits(states, BATCH), follows), (ours.label_logits(states, BATCH), labels)]
    for mine, theirs in pairs:
        torch.testing.assert_close(mine, theirs, atol=1e-10, rtol=0)


def test_segments_distinguish_the_sentences():
    ids, model = two_sentences(3, 3), tiny.model(**JUDGES)
    with torch.no_grad():
        before = teacher_forced_states(model, ids, None)
        model.source_embedding.segments.weight[1, :8] += 1.0
        after = teacher_forced_states(model, ids, None)
        alone = ids[:, :5]  # one sentence: its segment is the first
        assert (before - after).abs().max() > 1e-2
        one = teacher_forced_states(model, alone, None)
        model.source_embedding.segments.weight[1, :8] -= 1.0
        torch.testing.assert_close(teacher_forced_states(model, alone, None), one, atol=0, rtol=0)


@pytest.mark.parametrize("pooling", ["first", "mean"])
def test_padding_does_not_move_what_is_pooled(pooling):
    model = tiny.model(**(JUDGES | {"pooling": pooling}))
    made = [
        model.label_logits(teacher_forced_states(model, ids, None), ids)
        for ids in (two_sentences(3, 4), two_sentences(3, 4, 5))
    ]
    torch.testing.assert_close(*made, atol=1e-10, rtol=0)
