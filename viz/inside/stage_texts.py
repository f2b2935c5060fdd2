"""The words of the stages of one head: a title, the formula, one sentence with its number, and an explanation.

In formulas `_{...}` is set below the line and `^{...}` above it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from model.config import ACTIVATIONS, ModelConfig
from model.inference.predictions import is_near_tie
from model.io.numbers import probability, three_digits

if TYPE_CHECKING:
    from model.readings.stages.stage_values import Stage, StageTable
    from model.readings.stages.unfold import Unfolded


class Told(NamedTuple):
    title: str
    formula: str
    sentence: str
    help: str = ""


def told(unfolded: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    """The words of a stage."""
    words = _WORDS.get(stage.name, _WORDS.get(stage.name.removeprefix("ff_")))
    assert words is not None, stage.name
    return words(unfolded, stage, config)


def _quoted(label: str) -> str:
    return f"“{label}”"


def _key(unfolded: Unfolded) -> str:
    return "m_{s}" if not unfolded.site.spec.is_self else "x_{s}"


def _pair(u: Unfolded) -> tuple[str, int]:
    """Returns query and key of the number that the stages follow, and the row of that key."""
    return f"{_quoted(u.query_label)} → {_top(u, u.key)}", u.key


def _length(values: np.ndarray) -> str:
    return three_digits(float(np.linalg.norm(values)))


def _place(rank: int, count: int) -> str:
    return "the only one" if count == 1 else f"the largest of {count}" if rank == 1 else f"number {rank} of {count}"


def _input(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    length = _length(stage.tables[0].values)
    text = f"{_quoted(u.query_label)} arrives as {config.d_model} numbers, a vector of length {length}."
    if not u.site.spec.is_self:
        why = "It asks the encoder’s output: one row for each source token."
        return Told("What comes in", "x_{t}   and   m_{s}", text, why)
    why = "Its embedding and all that the layers below have added to it." if u.site.layer else "Straight from the embedding."
    return Told("What comes in", "x_{t}   and   x_{s}", text, why)


def _norm(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    before = stage.tables[0].values
    mean, spread = three_digits(float(before.mean())), three_digits(float(before.std()))
    why = "" if stage.name.startswith("ff_") or not u.site.spec.is_self else "Every token’s row is treated alike."
    if stage.name.endswith("residual_norm"):
        why = "Here the norm stands after the addition, as in the paper (post-norm)."
    if config.norm == "rmsnorm":
        root = three_digits(float(np.sqrt(np.mean(np.square(before.astype(float))))))
        text = f"The numbers are divided by their root mean square, {root}, and multiplied by a gain."
        return Told("Norm", "γ · x / √(mean(x^{2}) + ε)", text, why)
    text = f"The mean {mean} is subtracted and the spread {spread} divided out. A learned gain and bias follow."
    return Told("Norm", "γ · (x − mean(x)) / √(var(x) + ε) + β", text, why)


def _qkv(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    k = _key(u)
    formula = f"q_{{t}} = W_{{Q}} x_{{t}} + b_{{Q}}     k_{{s}} = W_{{K}} {k} + b_{{K}}     v_{{s}} = W_{{V}} {k} + b_{{V}}"
    width = stage.tables[0].values.shape[1]
    name = u.site.head_name(u.head)
    text = f"{name}: a query of {_quoted(u.query_label)}, a key and a value of each token, {width} numbers each."
    why = "The query says what the token looks for, a key what a token can be found by, a value what it hands on."
    return Told("Query, keys, values", formula, text, why)


def _rotate(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    formula, pairs = "q_{t} ← R(t) q_{t}     k_{s} ← R(s) k_{s}", stage.tables[0].values.shape[1] // 2
    if stage.edited:
        return Told("Rotary positions", formula, f"{pairs} pairs of dimensions turn by the angles of the edited positions.")
    why = "The product of a turned query and key depends on how far apart they stand, not on where."
    return Told("Rotary positions", formula, f"{pairs} pairs of dimensions turn by angles that grow with the position.", why)


def _products(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    sums, (pair, row) = stage.tables[0].totals, _pair(u)
    assert sums is not None
    rank = int((sums > sums[row]).sum()) + 1
    text = f"{pair}: q · k = {three_digits(float(sums[row]))}, {_place(rank, len(sums))}."
    why = "The query is multiplied with each key, dimension by dimension. The sum of a row says how well the two fit."
    return Told("Products", "q_{t} · k_{s} = Σ_{d} q_{t,d} k_{s,d}", text, why)


def _top(u: Unfolded, row: int) -> str:
    """A key in quotes, with its place where another has the same label."""
    place = f" ({row + 1})" if u.keys.count(u.keys[row]) > 1 else ""
    return _quoted(u.keys[row]) + place


def _scale(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    width, values, (pair, row) = config.d_model // config.heads, stage.tables[0].values, _pair(u)
    spread = [three_digits(float(v)) for v in values.std(0)]
    before, after = (three_digits(float(v)) for v in values[row])
    if stage.edited and not np.allclose(values[row, 0], values[row, 1], rtol=1e-3, atol=1e-4):
        return Told(
            "Scale", "score_{t,s} = f · q_{t} · k_{s}", f"{pair}: {before} becomes {after}. An edit changes the scaling."
        )
    if stage.edited:
        text = f"{pair}: {after}. An edit switches the division by √{width} off."
        return Told("No scaling", "score_{t,s} = q_{t} · k_{s}", text)
    is_all = np.allclose(values[row, 0] / math.sqrt(width), values[row, 1], rtol=1e-3, atol=1e-4)
    text = (
        f"{pair}: {before} / √{width} = {after}."
        if is_all
        else f"{pair}: {before} / √{width} and an added term give {after}."
    )
    why = f"So that scores do not grow with the number of dimensions: their spread goes from {spread[0]} to {spread[1]}."
    formula = f"score_{{t,s}} = q_{{t}} · k_{{s}} / √d_{{k}} = q_{{t}} · k_{{s}} / √{width}"
    return Told("Divide by √dₖ", formula, text, why)


def _mask(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    allowed = stage.tables[0].allowed
    assert allowed is not None
    hidden = len(allowed) - sum(allowed)
    if hidden == len(allowed):
        text = f"All {hidden} tokens are hidden from this query: it will have no weights."
    else:
        text = (
            f"{hidden} of {len(allowed)} {'token is' if hidden == 1 else 'tokens are'} hidden from {_quoted(u.query_label)}."
        )
    if stage.edited:
        text += " An edit has changed what may be seen here."
    why = "The score of a hidden token becomes the lowest number there is, which softmax turns into 0."
    return Told("Mask", "score_{t,s} = −∞   where s is hidden from t", text, why)


def _softmax(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    weights, scores, (pair, row) = stage.tables[0].values[:, 0], u["mask"].tables[0], _pair(u)
    formula, weight = "a_{t,s} = exp(score_{t,s}) / Σ_{r} exp(score_{t,r})", probability(float(weights[row]))
    if stage.edited:
        text = f"{pair}: {weight}. An edit overwrites this row: these are not the weights of the scores."
        return Told("Softmax", formula, text)
    if not weights.any():
        return Told("Softmax", formula, f"Nothing may be seen: all {len(weights)} weights are 0.")
    help = "The scores become weights, none below 0, that sum to 1."
    allowed = np.array(scores.allowed)
    if not allowed[row]:
        return Told("Softmax", formula, f"{pair}: 0, because the mask hides it.", help)
    rank = int((weights > weights[row]).sum()) + 1
    near = [n for n, other in enumerate(weights) if n != row and is_near_tie(float(weights[row]), float(other))]
    place = f"a near-tie with {_top(u, near[0])}" if rank == 1 and near else _place(rank, len(weights))
    return Told("Softmax", formula, f"{pair}: {weight} = {_quotient(scores.values[:, 0], allowed, row)}, {place}.", help)


def _quotient(scores: np.ndarray, allowed: np.ndarray, row: int) -> str:
    """Returns the division of the softmax with its numbers: `exp(5.08) / 294`; scores [S] and what may be seen [S]."""
    total = np.exp(scores[allowed].astype(np.float64)).sum()
    return f"exp({three_digits(float(scores[row]))}) / {three_digits(float(total))}"


def _mix(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    formula, (_, row) = "z_{t} = Σ_{s} a_{t,s} v_{s}", _pair(u)
    foot, totals = stage.tables[0].foot, stage.tables[0].totals
    assert foot is not None and totals is not None
    if stage.edited:
        text = f"An edit replaces what this head hands on: z has length {_length(foot)} and is no longer the sum."
        return Told("Weighted sum", formula, text)
    weight = probability(float(totals[row]))
    text = f"{weight} of the value of {_top(u, row)} and the others by their weights: length {_length(foot)}."
    why = f"Each value counts as much as its weight, on the right. Their sum z is what {u.site.head_name(u.head)} hands on."
    return Told("Weighted sum of values", formula, text, why)


def _concatenate(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    width, heads = config.d_model // config.heads, config.heads
    first = u.head * width + 1
    text = f"Numbers {first} to {first + width - 1} of {config.d_model} are those of {u.site.head_name(u.head)}."
    why = f"The outputs of the {heads} heads stand side by side." if heads > 1 else "There is only one head."
    return Told("Concatenate the heads", f"Concat(z^{{1}}, …, z^{{{heads}}})", text, why)


def _project(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    norms = stage.tables[0].totals
    assert norms is not None
    norms = norms[:-1]
    rank = int((norms > norms[u.head]).sum()) + 1
    length = f"{three_digits(float(norms[u.head]))}, {_place(rank, len(norms))}"
    text = f"{u.site.head_name(u.head)} writes a vector of length {length}."
    why = f"The output projection mixes the heads back into {config.d_model} numbers."
    return Told("Output projection", f"W_{{O}} Concat(z^{{1}}, …, z^{{{len(norms)}}}) + b_{{O}}", text, why)


def _residual(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    foot = stage.tables[0].foot
    assert foot is not None or stage.edited
    if stage.edited:
        text = "An edit skips this sub-layer: nothing is added, the stream goes on as it came."
        return Told("Residual connection", "x_{t}", text)
    before, added = _norms(stage.tables[0])
    why = "The result is added to what came in."
    if stage.name == "residual" and u.site.kind == "decoder" and "cross" in config.kinds:
        why += " Cross-attention comes next."
    elif stage.name == "ff_residual" and config.norm_first and u.site.layer + 1 < config.layers[u.site.kind]:
        why += " This row goes up to the next layer."
    text = f"Length {before} before, {added} added, {_length(foot)} after."
    return Told("Residual connection", "x_{t} + output", text, why)


def _norms(table: StageTable) -> list[str]:
    assert table.totals is not None
    return [three_digits(float(v)) for v in table.totals]


def _inner(u: Unfolded, stage: Stage, config: ModelConfig) -> Told:
    text = f"{config.d_ff:,} units, each a weighted sum of the {config.d_model} numbers."
    return Told("Feed-forward: in", "W_{1} x + b_{1}", text, "The feed-forward network reads each token alone.")


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
    text = f"The units become {config.d_model} numbers again."
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
