"""The map: the architecture of a checkpoint as a picture, and one of its blocks in words and numbers.

Pointing at a block shows it and sends nothing. A click on another layer, another kind of attention or a link sends an event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from model.export.csv_tables import Table
from model.task import TRANSLATION
from viz import computations, pages, theme
from viz.classroom import lecture
from viz.inside import one_head
from viz.kit import mount
from viz.kit.panel import FileOptions, Panel, Picture, where
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.page_fields import PARTS
from viz.state.view import View

if TYPE_CHECKING:
    from model.export.code import Code
    from model.readings.stages.blueprint import ArchitectureBlock
    from model.trace import Trace

PART = {"part": "map"}
_LINKS = {
    "tokens": (("translate", "Watch the decoding, on {first}"),),
    "embedding": (("embeddings", "Nearest neighbours of a token"),),
    "positions": (("positions", "Positions: the vectors that are added"), ("what-if", "Switch them off, in What if")),
    "attention": (
        ("stages", "Unfold it, stage by stage"),
        ("heads", "Its heads on this sentence"),
        ("what-if", "Edit its mask and heads, in What if"),
    ),
    "feed_forward": (("stages", "Unfold this layer, stage by stage"),),
    "projection": (("lens", "What each layer would say: logit lens"), ("translate", "Candidates at this step, on {first}")),
    "softmax": (("translate", "Candidates at this step, on {first}"),),
}


def links(block: ArchitectureBlock, rotary: bool = False, first: str = pages.PAGES[0].title) -> tuple[tuple[str, str], ...]:
    """Where a block leads to in the lab: the place and the words of the link; `first`: how the first page is called."""
    if block.kind == "tokens" and block.column == "encoder":
        return ()
    turned = rotary and block.kind == "attention" and block.site != "cross"
    named = tuple((place, words.format(first=first)) for place, words in _LINKS.get(block.kind, ()))
    return named + ((("positions", "Positions: how rotary ones turn"),) if turned else ())


_SHARES = {
    ("embedding", None): "Embeddings",
    ("segments", None): "Segments",
    ("positions", None): "Positions",
    ("attention", "encoder"): "Encoder self-attention",
    ("attention", "decoder"): "Decoder self-attention",
    ("attention", "cross"): "Cross-attention",
    ("feed_forward", None): "Feed-forward",
    ("norm", None): "Norms",
    ("transform", None): "Output transform",
    ("projection", None): "Output projection",
    ("pooler", None): "Heads over the whole text",
}


def shares(blocks: tuple[ArchitectureBlock, ...]) -> list[tuple[str, str | None, int]]:
    """Name, kind of attention and parameters of each kind of block that has any; they add up to those of all blocks."""
    counts = {kind: sum(b.parameters for b in blocks if (b.kind, b.site) == kind) for kind in _SHARES}
    return [(_SHARES[kind], kind[1], count) for kind, count in counts.items() if count]


def _shown(block: ArchitectureBlock, rotary: bool, first: str) -> dict[str, Any]:
    return {
        "key": block.key,
        "kind": block.kind,
        "column": block.column,
        "site": block.site,
        "layer": None if block.layer is None else block.layer + 1,
        "sublayer": block.sublayer,
        "name": block.name,
        "sentence": block.sentence,
        "shapes": [[s.name, ",".join(s.letters), ", ".join(map(str, s.numbers))] for s in block.shapes],
        "parameters": block.parameters,
        "terms": [[t.name, " + ".join("×".join(map(str, shape)) for shape in t.shapes), t.count] for t in block.terms],
        "shared": block.shared,
        "code": list(block.code),
        "path": block.path,
        "links": [list(link) for link in links(block, rotary, first)],
    }


def payload(
    blocks: tuple[ArchitectureBlock, ...],
    trace: Trace,
    view: View,
    mode: theme.Mode,
    rotary: bool = False,
    first: str = TRANSLATION.title,
) -> dict[str, Any]:
    """What the browser needs, as JSON values: all blocks outside the layers and those of the layer that is chosen (the
    last one, in a stack that has fewer); of the other layers their parameters alone. `first`: title of the first page."""
    stacks, open_layers = {}, {}
    for column in ("encoder", "decoder"):
        layers = sorted({b.layer for b in blocks if b.column == column and b.layer is not None})
        stacks[column] = [sum(b.parameters for b in blocks if (b.column, b.layer) == (column, n)) for n in layers]
        open_layers[column] = min(view.layer + 1, len(layers))
    shown = [b for b in blocks if b.layer is None or b.layer + 1 == open_layers[b.column]]
    step = 0 if trace.classes else view.within(len(trace.predicted_axis)).step
    return {
        "blocks": [_shown(block, rotary, first) for block in shown],
        "layers": stacks,
        "open": open_layers,
        "kind": view.kind,
        "large": False,  # in a lecture
        "shares": [list(share) for share in shares(blocks)],
        "total": sum(b.parameters for b in blocks),
        "source": list(trace.source.labels) if trace.source else [],
        "inputs": list(trace.inputs.labels) if trace.inputs else [],
        "outputs": list(trace.predicted_axis.labels),
        "step": step,
        "at": "" if trace.classes else "step" if trace.inputs else "token",
        "probability": round(float(trace.probabilities[step]), 5),
        "style": {f"--tint-{kind}": theme.scale(kind, mode)[4] for kind in theme.HUES},
    }


COMPONENT = mount.Component(__file__, '<div class="blueprint"></div>', name="blueprint")
Blocks = tuple["ArchitectureBlock", ...]


def _payload(context: PageContext, blocks: Blocks) -> dict[str, Any]:
    is_rotary = bool(context.loaded.config.scheme.attention_effect)
    return payload(blocks, context.analysis.trace, context.view, context.mode, is_rotary, context.analysis.task.title)


def _events(context: PageContext, blocks: Blocks) -> dict[str, mount.Event]:
    first = context.analysis.task.title
    is_rotary, config = bool(context.loaded.config.scheme.attention_effect), context.loaded.config
    places = {block.key: [to for to, _ in links(block, is_rotary, first)] for block in blocks}
    sites = {block.key: _site_fields(block, config.kinds[-1]) for block in blocks}

    def opened(event: Any) -> tuple[str, dict[str, Any]] | None:
        return (event["to"], sites[event["key"]]) if event["to"] in places[event["key"]] else None

    site = mount.fields(kind=mount.one_of(config.kinds), layer=mount.from_one(context.layers))
    return {"choose": (site, lambda kind, layer: session.change(kind=kind, layer=layer)), "open": (opened, _open)}


def _site_fields(block: ArchitectureBlock, last_kind: str) -> dict[str, Any]:
    """Returns the fields of the view with the attention of a block; of a feed-forward network the attention below it."""
    below = None
    if block.kind == "feed_forward":
        below = "encoder" if block.column == "encoder" else last_kind
    fields = {"kind": block.site or below, "layer": block.layer}
    return {name: value for name, value in fields.items() if value is not None}


def _open(place: str, site: dict[str, Any]) -> None:
    """Goes to another part of this page, or to another page, with the attention of a block. For callbacks."""
    if place in PARTS:
        session.change(part=place, **site)
    else:
        session.change(**site)
        navigation.go_to(place)


def _keys(context: PageContext, blocks: Blocks) -> None:
    lecture.list_component_keys(lecture.WALK, "the next block of the stream, the one before")


def _tables(context: PageContext, blocks: Blocks) -> tuple[Table, ...]:
    rows = tuple(
        (block.key, block.kind, block.name, None if block.layer is None else block.layer + 1, block.parameters)
        for block in blocks
    )
    return (Table("blocks", ("key", "kind", "name", "layer", "parameters"), rows),)


def _code(code: Code, context: PageContext, blocks: Blocks) -> None:
    code.add("each = {block.key: block.parameters for block in result}")


MAP = Panel(
    "inside.map",
    "Map of the model",
    COMPONENT,
    _payload,
    _events,
    call=lambda context: computations.BLUEPRINT(),
    tables=_tables,
    code=_code,
    is_visible=where(**PART),
    pictures=(Picture("Map", ".picture", lambda context, blocks: {"large": True}, fields=PART),),
    bar=one_head.draw_layer_bar,
    keys=_keys,
    file=FileOptions(),
    reads=("kind", "layer", "step"),
)
