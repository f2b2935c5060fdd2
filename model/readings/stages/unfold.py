"""All numbers of one query of one head on its way through a layer, stage by stage in the order of the formula."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ...checkpoint import Checkpoint
from ...edits.apply import BatchEdits, SiteEdits
from ...edits.kinds import Positions
from ...inference.analysis import Analysis
from ...network.attention import MultiHeadAttention, attention_weights
from ...network.layers import Residual
from ...trace import Site, Streams
from .layer_inputs import activations
from .stage_values import Reference, Stage, StageShape, StageTable, array_of, feed_forward_stages, residual_stages, with_foot

_FORWARD, _KEYS = "MultiHeadAttention.forward", "MultiHeadAttention._keys_and_values"


@dataclass(frozen=True)
class Unfolded:
    """The stages of one site, head and query (all from 0), with the labels of the query and the keys.

    `chosen_key` is the key whose weight is followed from stage to stage; None: the one with the largest weight.
    """

    site: Site
    head: int
    query: int
    query_label: str
    keys: tuple[str, ...]
    stages: tuple[Stage, ...]
    chosen_key: int | None = None

    @property
    def key(self) -> int:
        """The followed key: the chosen one, else that of the largest weight, without weights that of the largest product."""
        if self.chosen_key is not None:
            return self.chosen_key
        weights, products = self["softmax"].tables[0].values[:, 0], self["products"].tables[0].totals
        assert products is not None
        return int((weights if weights.any() else products).argmax())

    def __getitem__(self, name: str) -> Stage:
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise KeyError(f"there is no stage {name!r}; expected one of {', '.join(s.name for s in self.stages)}")


@torch.inference_mode()
def unfold(checkpoint: Checkpoint, analysis: Analysis, site: Site, head: int, query: int) -> Unfolded:
    """Returns all stages of one head for one query, under the analysis' intervention, from the pass behind its row.

    Raises:
        ValueError: The site, head or query does not exist.
    """
    trace, model = analysis.trace, checkpoint.model
    view = trace.view(site, head)  # raises ValueError for an unknown site or head
    if not 0 <= query < len(view.queries):
        raise ValueError(f"There is no query {query + 1}; this site has queries 1 to {len(view.queries)}.")
    intervention, recorded = analysis.request.intervention, activations(checkpoint, analysis, site, query)
    layer = getattr(model, site.spec.stack)[site.layer]
    parts = [residual.place.part for residual in layer.residuals]
    number = parts.index(site.spec.sublayer)
    around = [Streams(*(x[0] for x in recorded.streams[residual.place])) for residual in layer.residuals]  # [T,D] each
    record = {name: tensor[0] for name, tensor in recorded.records[site].items()}
    plain = getattr(recorded.unedited, site.kind)[0, 0]  # [1|T,S]
    side, scores_edits = site.spec.query_side, intervention.scores_of_head(site, head)
    edited = {
        "scale": bool(scores_edits),
        "mask": not torch.equal(_mask_of(record, head)[query], plain[query if len(plain) > 1 else 0]),
        "rotate": any(isinstance(edit, Positions) and edit.side == side for edit in intervention.edits),
    }
    module = getattr(layer, f"{site.spec.sublayer}_attention")
    memory = None if site.spec.is_self else recorded.memory[0]
    residual = (layer.residuals[number], around[number])
    keys = view.keys[: analysis.key_count(site, query)]
    unfolder = _HeadStages(layer, module, *residual, record, memory, site, head, query, view.queries, keys)
    scaling = SiteEdits(BatchEdits([scores_edits]), site)
    stages = unfolder.stages(scaling, edited)
    if parts[number + 1] == "ff":  # else cross-attention follows, a separate site
        stages += feed_forward_stages(layer.feed_forward, layer.residuals[-1], around[-1], query, view.queries[query])
    return Unfolded(site, head, query, view.queries[query], keys, tuple(stages))


@dataclass
class _HeadStages:
    """Computes the stages of one head for one query."""

    layer: nn.Module
    attention: MultiHeadAttention
    residual: Residual
    around: Streams  # [T,D], before and after the sub-layer
    record: dict[str, Tensor]  # without the batch axis
    memory: Tensor | None  # [S,D], the encoder's output; None in self-attention
    site: Site
    head: int
    query: int
    queries: tuple[str, ...]
    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        self.x = self.around.before  # [T,D]
        self.row_label = (self.queries[self.query],)
        self.q, self.k, self.v = (self.record[name][self.head] for name in "qkv")  # [T,K], [S,K], [S,K]
        self.scores, self.pattern = (self.record[name][self.head, self.query] for name in ("scores", "pattern"))  # [S]
        self.marked = None if self.memory is not None else self.query  # the query's token, where it is a key too

    def stages(self, scaled: SiteEdits, edited: dict[str, bool]) -> list[Stage]:
        """Returns the stages up to the residual connection, in the order of the computation."""
        parts = (self._input(), self._projected(edited), self._weighed(scaled, edited), [self._mixed()], self._written())
        return [stage for part in parts for stage in part]

    def _shape(self, name: str, letters: str) -> StageShape:
        """Returns a tensor's shape from the letters of its axes."""
        lengths = {"B": 1, "H": self.attention.heads, "T": len(self.x), "S": len(self.keys), "K": self.q.size(-1)}
        lengths |= {"D": self.x.size(-1), "1": 1}
        return StageShape(name, f"[{','.join(letters)}]", tuple(lengths[letter] for letter in letters))

    @property
    def _read(self) -> Tensor:
        """The input of the sub-layer, [T,D]."""
        return self.residual.norm(self.x) if self.residual.norm_first else self.x

    def _alone(self, name: str, values: Tensor) -> StageTable:
        """Returns a table with the row of the query."""
        return StageTable(name, self.row_label, array_of(values[self.query : self.query + 1]))

    def _input(self) -> list[Stage]:
        cross = self.memory is not None
        streams = (self._shape("x", "BTD"), self._shape("memory", "BSD")) if cross else (self._shape("x", "BTD"),)
        name, values = ("memory", self.memory) if cross else ("x of every token", self.x)
        inputs = StageTable(name, self.keys, array_of(values), marked=self.marked)
        function, result = f"{type(self.layer).__name__}.forward", "crossed" if cross else "attended"
        code = (Reference("layers.py", function, result),)
        stages = [Stage("input", (self._alone("x", self.x), inputs), streams, code)]
        if self.residual.norm_first:
            normed = (self._alone("x", self.x), self._alone("read", self._read))
            code = (Reference("layers.py", "Residual.forward", "read"),)
            stages.append(Stage("norm", normed, (self._shape("read", "BTD"),), code))
        return stages

    def _projected(self, edited: dict[str, bool]) -> list[Stage]:
        """Returns queries, keys and values, and their rotated versions for a rotary scheme of positions."""
        shapes = (self._shape("q", "BHTK"), self._shape("k, v", "BHSK"))
        module, q, k = self.attention, self.q, self.k
        if module.scheme.has_rotation:
            offered = self._read if self.memory is None else self.memory  # [S,D]
            q = module.split(module.query(self._read)[None])[0, self.head]  # [T,K]
            k = module.split(module.key(offered)[None])[0, self.head]  # [S,K]
        code = (
            Reference("attention.py", _FORWARD, "q", "split"),
            Reference("attention.py", _FORWARD, "k"),
            Reference("attention.py", _KEYS, "k", "split"),
        )
        stages = [Stage("qkv", (*self._query_and_keys(q, k), StageTable("v", self.keys, array_of(self.v))), shapes, code)]
        if module.scheme.has_rotation:
            code = (Reference("attention.py", _FORWARD, "q", "rotate"), Reference("attention.py", _KEYS, "k", "rotate"))
            code += tuple(Reference("positions.py", "rotary", name) for name in ("angles", "rotated"))
            stages.append(Stage("rotate", self._query_and_keys(self.q, self.k), shapes, code, edited["rotate"]))
        return stages

    def _query_and_keys(self, q: Tensor, k: Tensor) -> tuple[StageTable, StageTable]:
        return self._alone("q", q), StageTable("k", self.keys, array_of(k), marked=self.marked)

    def _weighed(self, scaled: SiteEdits, edited: dict[str, bool]) -> list[Stage]:
        """Returns the stages from products to weights."""
        keys, marked, mask = self.keys, self.marked, self.record["mask"]
        allowed = _mask_of(self.record, self.head)[self.query]  # [S]
        visible = tuple(bool(cell) for cell in allowed)
        products = self.q[self.query] * self.k  # [S,K]
        sums = products.sum(-1)  # [S]
        table = StageTable("q × k", keys, array_of(products), marked=marked, totals=array_of(sums), total_name="q · k")
        code = (Reference("attention.py", "attention_scores", "products"),)
        stages = [Stage("products", (table,), (self._shape("products", "BHTS"),), code)]
        table = StageTable("score", keys, array_of(torch.stack((sums, self.scores), -1)), "step", marked=marked)
        code = (
            Reference("attention.py", "attention_scores", "scores"),
            Reference("attention.py", "finish_scores", "edited"),
        )
        stages.append(Stage("scale", (table,), (self._shape("scores", "BHTS"),), code, edited["scale"]))
        table = StageTable("score", keys, array_of(self.scores[:, None]), "score", marked=marked, allowed=visible)
        code = (Reference("attention.py", _FORWARD, "mask"), Reference("attention.py", "masked_softmax", "masked"))
        shape = self._shape("mask", "B1TS" if mask.dim() == 2 else "BHTS")
        stages.append(Stage("mask", (table,), (shape,), code, edited["mask"]))
        one = slice(self.query, self.query + 1)
        bias = self.record.get("position_bias")  # [H,T,S]
        bias = None if bias is None else bias[None, self.head, None, one]  # [1,1,1,S]
        plain = attention_weights(self.q[None, None, one], self.k[None, None], allowed, scaled, bias)[0][0, 0, 0]  # [S]
        table = StageTable("weight", keys, array_of(self.pattern[:, None]), "weight", "weights", marked, allowed=visible)
        code = (
            Reference("attention.py", "masked_softmax", "pattern"),
            Reference("attention.py", "attention_weights", "pattern"),
        )
        is_overwritten = not torch.allclose(plain, self.pattern, atol=1e-6)
        stages.append(Stage("softmax", (table,), (self._shape("pattern", "BHTS"),), code, is_overwritten))
        return stages

    def _mixed(self) -> Stage:
        parts, z = self.pattern[:, None] * self.v, self.record["z"][self.head, self.query]  # [S,K], [K]
        sums = {"totals": array_of(self.pattern), "foot": array_of(z), "foot_name": "z"}
        table = StageTable("weight × v", self.keys, array_of(parts), marked=self.marked, **sums)
        code = (Reference("attention.py", "attention", "z"),)
        is_edited = not torch.allclose(parts.sum(0), z, atol=1e-5)
        return Stage("mix", (table,), (self._shape("z", "BHTK"),), code, is_edited)

    def _written(self) -> list[Stage]:
        """Returns the stages of the output projection and of the residual connection."""
        heads, h = self.attention.heads, self.head
        names = tuple(map(self.site.head_name, range(heads)))
        joined = self.record["z"][:, self.query]  # [H,K]
        code = (Reference("attention.py", _FORWARD, "concatenated"),)
        table = StageTable("z", names, array_of(joined), marked=h)
        stages = [Stage("concatenate", (table,), (self._shape("concatenated", "BTD"),), code)]
        weight = self.attention.output.weight.unflatten(1, (heads, joined.size(-1)))  # [D,H,K]
        written = torch.einsum("dhk,hk->hd", weight, joined)  # [H,D]
        output = self.attention.output(joined.flatten())  # [D]
        parts = torch.cat((written, self.attention.output.bias[None]))  # [H+1,D]
        norms = array_of(parts.norm(dim=-1))
        table = StageTable("W_O z", (*names, "bias"), array_of(parts), marked=h, totals=norms, total_name="norm")
        code = (Reference("attention.py", _FORWARD, "output"),)
        stages.append(Stage("project", (with_foot(table, output, "sum"),), (self._shape("output", "BTD"),), code))
        x, after = (stream[self.query] for stream in self.around)  # [D]
        return stages + residual_stages("residual", self.residual, x, output, after, len(self.x))


def _mask_of(record: dict[str, Tensor], head: int) -> Tensor:
    """Returns the mask of one head, [T,S]."""
    mask = record["mask"]  # [T,S], or [H,T,S] where heads differ
    return mask[head] if mask.dim() == 3 else mask
