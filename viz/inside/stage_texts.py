"""What the stages of one head say in words: a title, the formula, and one plain sentence with this sentence's numbers.

In formulas `_{...}` is set below the line and `^{...}` above it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from model.config import ACTIVATIONS, ModelConfig
from model.io.numbers import three_figures

if TYPE_CHECKING:
    from model.readings.stages.stage_values import Stage, StageTable
    from model.readings.stages.unfold import Unfolded


class Told(NamedTuple):
    title: str
    formula: str
    sentence: str


def told(unfolded: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    """The words of a stage."""
    words = _WORDS.get(stage.name, _WORDS.get(stage.name.removeprefix("ff_")))
    assert words is not None, stage.name
    return words(unfolded, stage, config)


def _quoted(label: str) -> str:
    return f"“{label}”"


def _key(unfolded: Unfolded) -> str:
    return "m_{s}" if not unfolded.site.spec.is_self else "x_{s}"


def _input(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    where = f"{_quoted(u.query_label)} asks, in layer {u.site.layer + 1} of the {u.site.spec.name}"
    many = f"{config.d_model} numbers"
    if not u.site.spec.is_self:
        text = f"{where}. It arrives as {many}, and it asks the encoder’s output: one row for each source token."
        return Told("What comes in", "x_{t}   and   m_{s}", text)
    below = (
        ": its embedding and all that the layers below have added to it" if u.site.layer else ", straight from the embedding"
    )
    text = f"{where}. Every token arrives as {many}{below}."
    return Told("What comes in", "x_{t}   and   x_{s}", text)


def _norm(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    before = stage.tables[0].values
    mean, spread = three_figures(float(before.mean())), three_figures(float(before.std()))
    alike = "" if stage.name.startswith("ff_") or not u.site.spec.is_self else " Every token’s row is treated alike."
    if stage.name.endswith("residual_norm"):
        alike = " Here the norm stands after the addition, as in the paper (post-norm)."
    if config.norm == "rmsnorm":
        formula = "γ · x / √(mean(x^{2}) + ε)"
        text = f"The numbers are divided by their root mean square, then multiplied by a learned gain.{alike}"
    else:
        formula = "γ · (x − mean(x)) / √(var(x) + ε) + β"
        text = f"The mean ({mean}) is subtracted, the spread ({spread}) divided out; a learned gain and bias follow.{alike}"
    return Told("Norm", formula, text)


def _qkv(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    k = _key(u)
    formula = f"q_{{t}} = W_{{Q}} x_{{t}} + b_{{Q}}     k_{{s}} = W_{{K}} {k} + b_{{K}}     v_{{s}} = W_{{V}} {k} + b_{{V}}"
    text = (
        f"Head {u.head + 1} makes a query of {_quoted(u.query_label)}, what it "
        "looks for, and of every token that may answer a "
        f"key, what it can be found by, and a value, what it hands on: {stage.tables[0].values.shape[1]} numbers each."
    )
    return Told("Query, keys, values", formula, text)


def _rotate(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    if stage.edited:
        text = "An edit has changed the positions: pairs of dimensions are turned by the angles of the edited ones."
        return Told("Rotary positions", "q_{t} ← R(t) q_{t}     k_{s} ← R(s) k_{s}", text)
    text = (
        "Each pair of dimensions is turned by an angle that grows with the token’s position: a product of the two then "
        "depends on how far apart they stand, not on where."
    )
    return Told("Rotary positions", "q_{t} ← R(t) q_{t}     k_{s} ← R(s) k_{s}", text)


def _products(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    sums = stage.tables[0].totals
    assert sums is not None
    best, worst = int(sums.argmax()), int(sums.argmin())
    text = (
        "The query is multiplied with each key, dimension by dimension; the sum of a row says how well they fit. "
        f"{_top(u, best)} fits best ({three_figures(float(sums[best]))})"
    )
    if best != worst:
        text += f", {_top(u, worst)} least ({three_figures(float(sums[worst]))})"
    return Told("Products", "q_{t} · k_{s} = Σ_{d} q_{t,d} k_{s,d}", text + ".")


def _top(u: Unfolded, row: int) -> str:
    """A key in quotes, with its place where another has the same label."""
    place = f" ({row + 1})" if u.keys.count(u.keys[row]) > 1 else ""
    return _quoted(u.keys[row]) + place


def _scale(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    width = config.d_model // config.heads
    spread = [three_figures(float(v)) for v in stage.tables[0].values.std(0)]
    if stage.edited:
        return Told(
            "No scaling",
            "score_{t,s} = q_{t} · k_{s}",
            f"An edit switches the division by √{width} off: the scores keep their spread of {spread[1]}.",
        )
    text = (
        f"Divided by √{width} = {math.sqrt(width):.2f}, so that scores do not grow with the number of dimensions: their "
        f"spread falls from {spread[0]} to {spread[1]}."
    )
    return Told("Divide by √dₖ", f"score_{{t,s}} = q_{{t}} · k_{{s}} / √d_{{k}} = q_{{t}} · k_{{s}} / √{width}", text)


def _mask(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    allowed = stage.tables[0].allowed
    assert allowed is not None
    hidden = len(allowed) - sum(allowed)
    if not hidden:
        text = "Nothing is hidden from this query: every score goes on as it is."
    elif hidden == len(allowed):
        text = "Everything is hidden from this query: it will have no weights at all."
    else:
        what, whose = ("tokens is", "its score becomes") if hidden == 1 else ("tokens are", "their scores become")
        text = f"{hidden} of {len(allowed)} {what} hidden: {whose} the lowest number there is, which softmax turns into 0."
    if stage.edited:
        text += " An edit has changed what may be seen here."
    return Told("Mask", "score_{t,s} = −∞   where s is hidden from t", text)


def _softmax(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    weights = stage.tables[0].values[:, 0]
    best = int(weights.argmax())
    formula = "a_{t,s} = exp(score_{t,s}) / Σ_{r} exp(score_{t,r})"
    most = f"{_top(u, best)} gets most, {weights[best]:.3f}."
    if stage.edited:
        return Told(
            "Softmax", formula, f"An edit overwrites this row: these are its weights, not those of the scores. {most}"
        )
    if not weights.any():
        return Told("Softmax", formula, "Nothing may be seen: the weights are zeros.")
    return Told("Softmax", formula, f"The scores become weights, none below 0, that sum to 1. {most}")


def _mix(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    formula = "z_{t} = Σ_{s} a_{t,s} v_{s}"
    if stage.edited:
        return Told(
            "Weighted sum",
            formula,
            "An edit switches this head off: what it hands on, z, is replaced and no longer the sum.",
        )
    text = f"Each value counts as much as its weight, on the right. Their sum is what head {u.head + 1} hands on."
    return Told("Weighted sum of values", formula, text)


def _concatenate(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    width, heads = config.d_model // config.heads, config.heads
    first = u.head * width + 1
    mine = f"numbers {first} to {first + width - 1} are those of head {u.head + 1}"
    text = f"What the {heads} heads hand on is put side by side: {mine}."
    if heads == 1:
        text = f"There is but {heads} head, so nothing stands beside what it hands on: {mine}."
    return Told("Concatenate the heads", f"Concat(z^{{1}}, …, z^{{{heads}}})", text)


def _project(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    norms = stage.tables[0].totals
    assert norms is not None
    norms = norms[:-1]
    rank = int((norms > norms[u.head]).sum()) + 1
    place = "the longest" if rank == 1 else f"number {rank}"
    text = (
        f"The output projection mixes them back into {config.d_model} numbers. By itself, head {u.head + 1} writes a vector "
        f"of length {three_figures(float(norms[u.head]))}, {place} of {len(norms)}."
    )
    return Told("Output projection", f"W_{{O}} Concat(z^{{1}}, …, z^{{{len(norms)}}}) + b_{{O}}", text)


def _residual(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    if stage.edited:
        return Told(
            "Residual connection", "x_{t}", "An edit skips this sub-layer: nothing is added, the stream goes on as it came."
        )
    before, added = _norms(stage.tables[0])
    assert stage.tables[0].foot is not None
    after = three_figures(float(np.linalg.norm(stage.tables[0].foot)))
    text = f"The result is added to what came in: a length of {before} before, {added} added, {after} after."
    if stage.name == "residual" and u.site.kind == "decoder" and "cross" in config.kinds:
        text += " Cross-attention comes next."
    elif stage.name == "ff_residual" and config.norm_first and u.site.layer + 1 < config.layers[u.site.kind]:
        text += " This row goes up to the next layer."
    return Told("Residual connection", "x_{t} + output", text)


def _norms(table: StageTable) -> list[str]:
    assert table.totals is not None
    return [three_figures(float(v)) for v in table.totals]


def _inner(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    units = f"{config.d_ff:,} units, each a weighted sum of the {config.d_model} numbers"
    text = f"The feed-forward network reads each token alone: {units}."
    return Told("Feed-forward: in", "W_{1} x + b_{1}", text)


def _active(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    kind, values = ACTIVATIONS[config.activation], stage.tables[0].values
    name = kind.title
    count = f"{int((values > 0).sum()):,} of {values.size:,} units"
    if kind.is_gated:
        return Told(
            name, "silu(W_{g} x + b_{g}) · (W_{1} x + b_{1})", f"Each unit is multiplied by its gate; {count} are above 0."
        )
    return Told(name, f"{name}(W_{{1}} x + b_{{1}})", f"{name} {kind.effect}: {count} are active.")


def _output(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    name = ACTIVATIONS[config.activation].title
    text = f"A second linear map turns the units back into {config.d_model} numbers."
    return Told("Feed-forward: out", f"W_{{2}} {name}(…) + b_{{2}}", text)


_WORDS = {
    "input": _input,
    "norm": _norm,
    "residual_norm": _norm,
    "qkv": _qkv,
    "rotate": _rotate,
    "products": _products,
    "scale": _scale,
    "mask": _mask,
    "softmax": _softmax,
    "mix": _mix,
    "concatenate": _concatenate,
    "project": _project,
    "residual": _residual,
    "inner": _inner,
    "active": _active,
    "output": _output,
}
