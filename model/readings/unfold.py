"""One query of one head, stage by stage in the order of the formula: every number on its way through a layer."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from model.checkpoint import Checkpoint
from model.edits.apply import Edits, SiteEdits
from model.edits.intervention import BASELINE
from model.edits.kinds import Positions
from model.inference.analysis import Analysis
from model.network.attention import MultiHeadAttention, attention
from model.network.layers import FeedForward, Residual
from model.readings.activations import activations
from model.readings.source_lines import Reference
from model.trace import Site, Streams

_FORWARD, _KEYS = "MultiHeadAttention.forward", "MultiHeadAttention._keys_and_values"


@dataclass(frozen=True)
class Table:
    """Rows of numbers with their names: values float32 [R,C]. `totals` [R] are sums over a row, `foot` [C] stands below the
    rows and is what they make together; `allowed` [R] is False for rows that the mask takes out."""

    name: str
    rows: tuple[str, ...]
    values: np.ndarray
    unit: str = "dimension"  # what a column is
    kind: str = "signed"  # or "weights": from 0 to 1
    marked: int | None = None  # the row of the token that asks, or of the head that is looked at
    totals: np.ndarray | None = None
    total_name: str = ""
    foot: np.ndarray | None = None
    foot_name: str = ""
    allowed: tuple[bool, ...] | None = None


@dataclass(frozen=True)
class Shape:
    """A tensor of the stage: its name in the source, its shape in letters and in this sentence's numbers."""

    name: str
    letters: str
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Stage:
    """One step of the computation; `edited` where an edit changes it here."""

    name: str
    tables: tuple[Table, ...]
    shapes: tuple[Shape, ...]
    code: tuple[Reference, ...]
    edited: bool = False


@dataclass(frozen=True)
class Unfolded:
    """The stages of one site, head and query (all from 0), with the tokens: `asks` and the keys' labels."""

    site: Site
    head: int
    query: int
    asks: str
    keys: tuple[str, ...]
    stages: tuple[Stage, ...]

    def __getitem__(self, name: str) -> Stage:
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise KeyError(f"there is no stage {name!r}; there are {', '.join(s.name for s in self.stages)}")


@torch.inference_mode()
def unfold(checkpoint: Checkpoint, analysis: Analysis, site: Site, head: int, query: int) -> Unfolded:
    """All stages of one head for one query, under the analysis' intervention, from one pass over its whole target.

    Raises ValueError for a site, head or query that is not there.
    """
    trace, model = analysis.whole, checkpoint.model
    view = trace.view(site, head)  # ValueError for a site or a head that is not there
    if not 0 <= query < len(view.queries):
        raise ValueError(f"There is no query {query + 1}; this site has queries 1 to {len(view.queries)}.")
    asked, done = analysis.request.intervention, activations(checkpoint, analysis)
    layer = getattr(model, site.of.stack)[site.layer]
    parts = [residual.place.part for residual in layer.residuals]
    number = parts.index(site.of.sublayer)
    around = [Streams(*(x[0] for x in done.streams[residual.place])) for residual in layer.residuals]  # [T,D] each
    record = {name: tensor[0] for name, tensor in done.records[site].items()}
    plain = getattr(done.unedited, site.kind)[0, 0]  # [1|T,S]
    side = site.of.queries
    edited = {
        "scale": not asked.scaling,
        "mask": not torch.equal(_mask_of(record, head)[query], plain[query if len(plain) > 1 else 0]),
        "rotate": any(isinstance(edit, Positions) and edit.side == side for edit in asked.edits),
    }
    module = getattr(layer, f"{site.of.sublayer}_attention")
    memory = None if site.of.is_self else done.memory[0]
    residual = (layer.residuals[number], around[number])
    one = _Head(layer, module, *residual, record, memory, site, head, query, view.queries, view.keys)
    scaling = SiteEdits(Edits([dataclasses.replace(BASELINE, scaling=asked.scaling)]))  # the one edit before the softmax
    stages = one.stages(scaling, edited)
    if parts[number + 1] == "ff":  # else cross-attention comes next, a site of its own
        stages += _feed_forward(layer.feed_forward, layer.residuals[-1], around[-1], query, view.queries[query])
    return Unfolded(site, head, query, view.queries[query], view.keys, tuple(stages))


@dataclass
class _Head:
    layer: nn.Module
    attention: MultiHeadAttention
    residual: Residual
    around: Streams  # [T,D], before and after it
    record: dict[str, Tensor]  # without the batch
    memory: Tensor | None  # [S,D]: what cross-attention reads, None in self-attention
    site: Site
    head: int
    query: int
    queries: tuple[str, ...]
    keys: tuple[str, ...]

    def stages(self, scaled: SiteEdits, edited: dict[str, bool]) -> list[Stage]:
        h, t, keys, record = self.head, self.query, self.keys, self.record
        cross, heads, asks = self.memory is not None, self.attention.heads, self.queries[t]
        me = None if cross else t
        x, after = self.around  # [T,D]
        read = self.residual.norm(x) if self.residual.norm_first else x  # [T,D]
        offered = self.memory if cross else read  # [S,D]
        q, k, v = (record[name][h] for name in "qkv")  # [T,K], [S,K], [S,K]
        (queries, width), length = x.shape, len(keys)
        size, d_k = (1, heads), q.size(-1)

        def shape(name: str, letters: str, *numbers: int) -> Shape:
            return Shape(name, letters, numbers)

        streams = (shape("x", "[B,T,D]", 1, queries, width), *([shape("memory", "[B,S,D]", 1, length, width)] * cross))
        layer = Reference("layers.py", *self._layer())
        arrived = Table("memory" if cross else "x of every token", keys, _array(self.memory if cross else x), marked=me)
        alone = Table("x", (asks,), _array(x[t : t + 1]))
        made = [Stage("input", (alone, arrived), streams, (layer,))]
        if self.residual.norm_first:
            normed = (Table("x", (asks,), _array(x[t : t + 1])), Table("read", (asks,), _array(read[t : t + 1])))
            code = (Reference("layers.py", "Residual.forward", "read"),)
            made.append(Stage("norm", normed, (shape("read", "[B,T,D]", 1, queries, width),), code))
        projected = (shape("q", "[B,H,T,K]", *size, queries, d_k), shape("k, v", "[B,H,S,K]", *size, length, d_k))
        plain_q, plain_k = q, k
        if self.attention.turn is not None:
            plain_q = self.attention.query(read).unflatten(-1, (heads, -1))[:, h]  # [T,K]
            plain_k = self.attention.key(offered).unflatten(-1, (heads, -1))[:, h]  # [S,K]
        code = (
            Reference("attention.py", _FORWARD, "q", "_split"),
            Reference("attention.py", _FORWARD, "k"),
            Reference("attention.py", _KEYS, "k", "_split"),
        )
        made.append(
            Stage("qkv", (*_rows(plain_q, plain_k, t, asks, keys, me), Table("v", keys, _array(v))), projected, code)
        )
        if self.attention.turn is not None:
            code = (Reference("attention.py", _FORWARD, "q", "turn"), Reference("attention.py", _KEYS, "k", "turn"))
            code += tuple(Reference("positions.py", "rotary", name) for name in ("angles", "turned"))
            made.append(Stage("rotate", _rows(q, k, t, asks, keys, me), projected, code, edited["rotate"]))

        scores, pattern = record["scores"][h, t], record["pattern"][h, t]  # [S]
        mask = record["mask"]
        allowed = _mask_of(record, h)[t]  # [S]
        products = q[t] * k  # [S,K]
        maps = shape("scores", "[B,H,T,S]", *size, queries, length)
        table = Table("q × k", keys, _array(products), marked=me, totals=_array(products.sum(-1)), total_name="q · k")
        formula = Reference("attention.py", "attention", "products")
        made.append(Stage("products", (table,), (shape("products", "[B,H,T,S]", *size, queries, length),), (formula,)))
        both = torch.stack((products.sum(-1), scores), -1)  # [S,2]
        code = (Reference("attention.py", "attention", "scores"),)
        made.append(Stage("scale", (Table("score", keys, _array(both), "step", marked=me),), (maps,), code, edited["scale"]))
        seen = tuple(bool(cell) for cell in allowed)
        table = Table("score", keys, _array(scores[:, None]), "score", marked=me, allowed=seen)
        code = (Reference("attention.py", _FORWARD, "mask"), Reference("attention.py", "attention", "masked"))
        where = shape(
            "mask", "[B,1,T,S]" if mask.dim() == 2 else "[B,H,T,S]", 1, 1 if mask.dim() == 2 else heads, queries, length
        )
        made.append(Stage("mask", (table,), (where,), code, edited["mask"]))
        plain = attention(q[None, None, t : t + 1], k[None, None], v[None, None], allowed, edits=scaled)[1][0, 0, 0]  # [S]
        table = Table("weight", keys, _array(pattern[:, None]), "weight", "weights", me, allowed=seen)
        code = (Reference("attention.py", "attention", "pattern"),)
        where = shape("pattern", "[B,H,T,S]", *size, queries, length)
        made.append(Stage("softmax", (table,), (where,), code, not torch.allclose(plain, pattern, atol=1e-6)))
        parts, z = pattern[:, None] * v, record["z"]  # [S,K], [H,T,K]
        table = Table(
            "weight × v", keys, _array(parts), marked=me, foot=_array(z[h, t]), foot_name="z", totals=_array(pattern)
        )
        code = (Reference("attention.py", "attention", "z"),)
        off = not torch.allclose(parts.sum(0), z[h, t], atol=1e-5)
        made.append(Stage("mix", (table,), (shape("z", "[B,H,T,K]", *size, queries, d_k),), code, off))

        names = tuple(f"head {n + 1}" for n in range(heads))
        joined = z[:, t]  # [H,K]
        code = (Reference("attention.py", _FORWARD, "concatenated"),)
        where = shape("concatenated", "[B,T,D]", 1, queries, width)
        made.append(Stage("concatenate", (Table("z", names, _array(joined), marked=h),), (where,), code))
        weight = self.attention.output.weight.unflatten(1, (heads, d_k))  # [D,H,K]
        written = torch.einsum("dhk,hk->hd", weight, joined)  # [H,D]
        bias = self.attention.output.bias[None]  # [1,D]
        output = self.attention.output(joined.flatten())  # [D]
        parts = torch.cat((written, bias))  # [H+1,D]
        table = Table(
            "W_O z", (*names, "bias"), _array(parts), marked=h, totals=_array(parts.norm(dim=-1)), total_name="norm"
        )
        table = _with_foot(table, output, "sum")
        code = (Reference("attention.py", _FORWARD, "output"),)
        made.append(Stage("project", (table,), (shape("output", "[B,T,D]", 1, queries, width),), code))
        return made + _residual("residual", self.residual, x[t], output, after[t], queries)

    def _layer(self) -> tuple[str, str]:
        """The function of its layer, and the name that this sub-layer's result has there."""
        return f"{type(self.layer).__name__}.forward", "attended" if self.memory is None else "crossed"


def _residual(name: str, residual: Residual, x: Tensor, added: Tensor, after: Tensor, queries: int) -> list[Stage]:
    """What a sub-layer adds to the stream, all [D]; in post-norm a norm follows. `edited` where it is skipped."""
    whole = x + added
    plain = whole if residual.norm_first else residual.norm(whole)
    skipped = not torch.allclose(plain, after, atol=1e-4, rtol=1e-4)
    added, whole = (torch.zeros_like(x), x) if skipped else (added, whole)
    rows = torch.stack((x, added))  # [2,D]
    table = Table("stream", ("before", "added"), _array(rows), totals=_array(rows.norm(dim=-1)), total_name="norm")
    where = (Shape("total", "[B,T,D]", (1, queries, len(x))),)
    code = tuple(Reference("layers.py", "Residual.forward", each) for each in ("added", "total"))
    made = [Stage(name, (_with_foot(table, whole, "after"),), where, code, skipped)]
    if not residual.norm_first:
        tables = (Table("total", ("total",), _array(whole[None])), Table("norm", ("norm",), _array(after[None])))
        made.append(Stage(f"{name}_norm", tables, where, (Reference("layers.py", "Residual.forward", "output"),)))
    return made


def _feed_forward(network: FeedForward, residual: Residual, around: Streams, t: int, asks: str) -> list[Stage]:
    x, after = around  # [T,D]
    queries, width = x.shape
    made = []
    read = residual.norm(x[t]) if residual.norm_first else x[t]  # [D]
    if residual.norm_first:
        tables = (Table("x", (asks,), _array(x[t : t + 1])), Table("read", (asks,), _array(read[None])))
        code = (Reference("layers.py", "Residual.forward", "read"),)
        made.append(Stage("ff_norm", tables, (Shape("read", "[B,T,D]", (1, queries, width)),), code))
    inner = network.inner(read)  # [F]
    active = network.activation(inner) if network.gate is None else network.activation(network.gate(read)) * inner  # [F]
    output = network.outer(active)  # [D]

    def stage(name: str, values: Tensor, letters: str) -> Stage:
        where = (Shape(name, letters, (1, queries, len(values))),)
        unit = "unit" if letters.endswith("F]") else "dimension"
        code = (Reference("layers.py", "FeedForward.forward", name),)
        return Stage(f"ff_{name}", (Table(name, (asks,), _array(values[None]), unit),), where, code)

    made += [stage("inner", inner, "[B,T,F]"), stage("active", active, "[B,T,F]"), stage("output", output, "[B,T,D]")]
    return made + _residual("ff_residual", residual, x[t], output, after[t], queries)


def _mask_of(record: dict[str, Tensor], head: int) -> Tensor:
    """The mask of one head, [T,S]."""
    mask = record["mask"]  # [T,S], or [H,T,S] where heads differ
    return mask[head] if mask.dim() == 3 else mask


def _rows(q: Tensor, k: Tensor, t: int, asks: str, keys: Sequence[str], me: int | None) -> tuple[Table, Table]:
    return Table("q", (asks,), _array(q[t : t + 1])), Table("k", tuple(keys), _array(k), marked=me)


def _with_foot(table: Table, foot: Tensor, name: str) -> Table:
    return dataclasses.replace(table, foot=_array(foot), foot_name=name)


def _array(tensor: Tensor) -> np.ndarray:
    array = tensor.detach().float().cpu().numpy().copy()
    array.flags.writeable = False
    return array
