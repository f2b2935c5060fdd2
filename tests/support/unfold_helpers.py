"""The stages of one head once more, in numpy: what the tests of unfolding compare with."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from unittest import mock

import numpy as np
import torch

from model.checkpoint import Checkpoint
from model.config import START
from model.edits.apply import BatchEdits
from model.inference.analyse import analyse
from model.inference.analysis import Analysis
from model.inference.request import Request
from model.network import masks
from model.network.context import Pass
from model.readings.stages.layer_inputs import activations
from model.readings.stages.unfold import Unfolded, unfold
from model.text.tokenizer import Tokenizer
from model.trace import Probe, Site
from tests.support import tiny
from tests.support.recorded import VARIANTS
from viz.inside.stages import payload

TEXT, TARGET = "The fox sees a lamp.", "Lo varun mira."  # seven and five tokens, and `</s>`
MODELS = {
    **{name: sizes for name, sizes in VARIANTS.items() if name != "two tables"},
    "marian": tiny.MARIAN,
    "unscaled": tiny.UNSCALED,
    "post-norm, modern": {"norm": "rmsnorm", "activation": "swiglu", "positions": "rotary", "norm_first": False},
}
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


@cache
def make(tokenizer: Tokenizer, name: str) -> Checkpoint:
    """A model by name, in float64 and with means; its biases and norms are drawn, so that a forgotten one is seen."""
    checkpoint = tiny.checkpoint(tokenizer, dtype=torch.float64, **MODELS[name])
    torch.manual_seed(3)
    for parameter in checkpoint.model.parameters():
        if parameter.dim() == 1:
            parameter.add_(0.3 * torch.randn_like(parameter))
    return tiny.with_means(checkpoint)


def analyse_edited(checkpoint: Checkpoint, *codes: str, text: str = TEXT, target: str | None = TARGET, **more) -> Analysis:
    return analyse(checkpoint, Request(text, target=target, intervention=tiny.edited(*codes), **more))


def recorded(checkpoint: Checkpoint, analysis: Analysis) -> dict[Site, dict[str, np.ndarray]]:
    """Returns the records of a full probe of a separate pass."""
    trace, edit, config = analysis.full_pass, analysis.request.intervention, checkpoint.config
    source = torch.tensor([trace.source.ids])
    target = torch.tensor([[START, *trace.outputs.ids[:-1]]])
    seen = masks.build(config, source, target, [edit])
    probe = Probe("full")
    with torch.inference_mode():
        checkpoint.model(source, target, seen, Pass(BatchEdits([edit], checkpoint.mean_z), probe))
    return {site: {name: t[0].numpy() for name, t in arrays.items()} for site, arrays in tiny.records(probe).items()}


def everywhere(checkpoint: Checkpoint, analysis: Analysis):
    """Every site, head and query, unfolded."""
    done = activations(checkpoint, analysis)  # one pass serves all
    for site in tiny.sites(checkpoint.config):
        for head in range(checkpoint.config.heads):
            for query in range(len(analysis.full_pass.queries(site))):
                with mock.patch("model.readings.stages.unfold.activations", lambda *_: done):
                    unfolded = unfold(checkpoint, analysis, site, head, query)
                yield unfolded


def some(u: Unfolded) -> bool:
    """True for a third of all that is unfolded: every query of every site, at one head or another."""
    return (u.query + u.site.layer + u.head) % 3 == 0


def modules(checkpoint: Checkpoint, site: Site):
    """The attention of a site, its residual connection, the layer's feed-forward network and the residual of that."""
    model = checkpoint.model
    layer = (model.encoder if site.kind == "encoder" else model.decoder)[site.layer]
    attention = layer.cross_attention if site.kind == "cross" else layer.self_attention
    return attention, layer.residuals[site.kind == "cross"], layer.feed_forward, layer.residuals[-1]


def linear(module, x: np.ndarray) -> np.ndarray:
    return x @ module.weight.numpy().T + module.bias.numpy()


def norm(checkpoint: Checkpoint, module, x: np.ndarray) -> np.ndarray:
    eps = checkpoint.config.norm_eps
    if checkpoint.config.norm == "rmsnorm":
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * module.weight.numpy()
    scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)
    return scaled * module.weight.numpy() + module.bias.numpy()


def turned(x: np.ndarray, position: int) -> np.ndarray:
    """A vector [K] under rotary positions: neighbouring dimensions as a complex number."""
    pairs = x[0::2] + 1j * x[1::2]
    pairs = pairs * np.exp(1j * position / 10000.0 ** (np.arange(0, len(x), 2) / len(x)))
    return np.stack((pairs.real, pairs.imag), -1).ravel()


def activation(name: str, x: np.ndarray) -> np.ndarray:
    if name == "relu":
        return np.where(x > 0, x, 0)
    if name == "gelu":
        return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
    if name == "gelu_tanh":
        return x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x / (1 + np.exp(-x))


def tables(u: Unfolded, stage: str) -> list[np.ndarray]:
    return [table.values.astype(float) for table in u[stage].tables]


def follow(checkpoint: Checkpoint, u: Unfolded, scaling: bool = True, turn: Callable[[int], int] = int) -> None:
    """Every stage from the one before. What an edit replaces is not computed, but what follows from it is; `turn` makes the
    edited position of a source token of its own."""
    config, t = checkpoint.config, u.query
    attention, residual, *_ = modules(checkpoint, u.site)
    part = slice(u.head * config.head_dim, (u.head + 1) * config.head_dim)
    names = {stage.name for stage in u.stages}

    (x,), arrived = tables(u, "input")
    if u.site.kind == "cross":
        read, offered = x, arrived
    else:
        np.testing.assert_array_equal(arrived[t], x)
        read, offered = x, arrived
    if config.norm_first:
        before, (normed,) = tables(u, "norm")
        np.testing.assert_array_equal(before[0], x)
        read = norm(checkpoint, residual.norm, x)
        np.testing.assert_allclose(normed, read, **CLOSE)
        offered = arrived if u.site.kind == "cross" else norm(checkpoint, residual.norm, arrived)
    (q,), k, v = tables(u, "qkv")
    np.testing.assert_allclose(q, linear(attention.query, read)[part], **CLOSE)
    np.testing.assert_allclose(k, linear(attention.key, offered)[:, part], **CLOSE)
    np.testing.assert_allclose(v, linear(attention.value, offered)[:, part], **CLOSE)
    rotary = config.positions == "rotary" and u.site.kind != "cross"
    assert ("rotate" in names) == rotary
    if rotary:
        (after_q,), after_k = tables(u, "rotate")
        turn = turn if u.site.kind == "encoder" else int
        np.testing.assert_allclose(after_q, turned(q, turn(t)), **CLOSE)
        np.testing.assert_allclose(after_k, [turned(row, turn(s)) for s, row in enumerate(k)], **CLOSE)
        q, k = after_q, after_k

    (products,) = tables(u, "products")
    np.testing.assert_allclose(products, q * k, **CLOSE)
    np.testing.assert_allclose(u["products"].tables[0].totals, k @ q, **CLOSE)
    (steps,) = tables(u, "scale")
    np.testing.assert_allclose(steps[:, 0], products.sum(-1), **CLOSE)
    np.testing.assert_allclose(steps[:, 1], steps[:, 0] / (math.sqrt(config.head_dim) if scaling else 1), **CLOSE)
    (scores,) = tables(u, "mask")
    np.testing.assert_array_equal(scores[:, 0], steps[:, 1].astype(np.float32))
    allowed = np.array(u["mask"].tables[0].allowed)
    assert u["softmax"].tables[0].allowed == u["mask"].tables[0].allowed
    (weights,) = tables(u, "softmax")
    weights = weights[:, 0]
    if not u["softmax"].edited:
        powers = np.where(allowed, np.exp(scores[:, 0] - scores[:, 0].max()), 0)
        np.testing.assert_allclose(weights, powers / max(powers.sum(), 1e-300), **CLOSE)
    assert (weights[~allowed] == 0).all() and (np.isclose(weights.sum(), 1) or not allowed.any())
    _follow_output(checkpoint, u, x, weights, v)


def _follow_output(checkpoint: Checkpoint, u: Unfolded, x: np.ndarray, weights: np.ndarray, v: np.ndarray) -> None:
    """From the weights [S] and values [S,K] on: what the head hands on, what all heads write, the feed-forward network."""
    config, heads = checkpoint.config, checkpoint.config.heads
    attention, residual, network, last = modules(checkpoint, u.site)
    names = {stage.name for stage in u.stages}
    (parts,), mixed = tables(u, "mix"), u["mix"].tables[0]
    np.testing.assert_allclose(parts, weights[:, None] * v, **CLOSE)
    np.testing.assert_allclose(mixed.totals, weights, **CLOSE)
    if not u["mix"].edited:
        np.testing.assert_allclose(mixed.foot, weights @ v, **CLOSE)
    (joined,) = tables(u, "concatenate")
    assert joined.shape == (heads, config.head_dim) and u["concatenate"].tables[0].marked == u.head
    np.testing.assert_array_equal(joined[u.head], mixed.foot)
    (written,), projected = tables(u, "project"), u["project"].tables[0]
    output = linear(attention.output, joined.ravel())
    for n in range(heads):
        columns = slice(n * config.head_dim, (n + 1) * config.head_dim)
        np.testing.assert_allclose(written[n], attention.output.weight.numpy()[:, columns] @ joined[n], **CLOSE)
    np.testing.assert_allclose(written[-1], attention.output.bias.numpy(), **CLOSE)
    np.testing.assert_allclose(projected.foot, output, **CLOSE)
    np.testing.assert_allclose(projected.foot, written.sum(0), **CLOSE)
    np.testing.assert_allclose(projected.totals, np.linalg.norm(written, axis=-1), **CLOSE)

    stream = added_to(checkpoint, u, "residual", x, output, residual)
    assert ("ff_residual" in names) == (u.site.kind != "decoder")
    if u.site.kind == "decoder":
        return
    read = stream
    if config.norm_first:
        before, (read,) = tables(u, "ff_norm")
        np.testing.assert_allclose(before[0], stream, **CLOSE)
        np.testing.assert_allclose(read, norm(checkpoint, last.norm, stream), **CLOSE)
    ((inner,),), ((active,),), ((outer,),) = (tables(u, f"ff_{name}") for name in ("inner", "active", "output"))
    np.testing.assert_allclose(inner, linear(network.inner, read), **CLOSE)
    gate = inner if network.gate is None else linear(network.gate, read)
    np.testing.assert_allclose(active, activation(config.activation, gate) * (1 if network.gate is None else inner), **CLOSE)
    np.testing.assert_allclose(outer, linear(network.outer, active), **CLOSE)
    added_to(checkpoint, u, "ff_residual", stream, outer, last)


def added_to(checkpoint: Checkpoint, u: Unfolded, name: str, x: np.ndarray, output: np.ndarray, residual) -> np.ndarray:
    """A residual connection: the stream [D] behind it."""
    (rows,), table = tables(u, name), u[name].tables[0]
    np.testing.assert_allclose(rows, [x, 0 * output if u[name].edited else output], **CLOSE)
    np.testing.assert_allclose(table.foot, rows.sum(0), **CLOSE)
    np.testing.assert_allclose(table.totals, np.linalg.norm(rows, axis=-1), **CLOSE)
    assert (f"{name}_norm" in {stage.name for stage in u.stages}) == (not checkpoint.config.norm_first)
    if checkpoint.config.norm_first:
        return table.foot
    before, (after,) = tables(u, f"{name}_norm")
    np.testing.assert_array_equal(before[0], table.foot)
    np.testing.assert_allclose(after, norm(checkpoint, residual.norm, before[0]), **CLOSE)
    return after


def last_row(u: Unfolded) -> np.ndarray:
    """The stream [D] behind the last stage."""
    table = u.stages[-1].tables[-1]
    return table.values[0] if table.foot is None else table.foot


def unfolded_payload(checkpoint: Checkpoint, *codes: str, kind="encoder", layer=0, head=1, query=2, mode="light", **more):
    """A head unfolded, and what the view of it is given."""
    analysis = analyse_edited(checkpoint, *codes, **more)
    u = unfold(checkpoint, analysis, Site(kind, layer), min(head, checkpoint.config.heads - 1), query)
    return u, payload(u, checkpoint, analysis.full_pass, mode)
