"""The architecture of a checkpoint as a picture, and one of its blocks in words and numbers.

Pointing at a block shows it and sends nothing; a click keeps it. Only another site or layer, and a way to another place in
the lab, are sent.

The map: the whole model as a picture, every block with what it does, its shapes and its parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from model.inference.request import Request
from model.readings.stages.blueprint import blueprint as plan
from model.task import task_of_kinds
from viz import cache, pages, theme
from viz.classroom import lecture
from viz.inside import sizes
from viz.kit import mount
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.page_fields import PARTS
from viz.state.result_cache import cached_figure
from viz.state.view import View

if TYPE_CHECKING:
    from model.readings.stages.blueprint import ArchitectureBlock
    from model.trace import Trace

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
    blocks: tuple[ArchitectureBlock, ...], trace: Trace, view: View, mode: theme.Mode, rotary: bool = False
) -> dict[str, Any]:
    """What the browser needs, as JSON values: all blocks outside the layers and those of the layer that is chosen (the
    last one, in a stack that has fewer); of the other layers their parameters alone."""
    stacks, open_layers = {}, {}
    for column in ("encoder", "decoder"):
        layers = sorted({b.layer for b in blocks if b.column == column and b.layer is not None})
        stacks[column] = [sum(b.parameters for b in blocks if (b.column, b.layer) == (column, n)) for n in layers]
        open_layers[column] = min(view.layer + 1, len(layers))
    shown = [b for b in blocks if b.layer is None or b.layer + 1 == open_layers[b.column]]
    step = 0 if trace.classes else view.within(len(trace.predicted_axis)).step
    first = task_of_kinds(trace.kinds, trace.classes).title
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
        "at": "" if trace.classes else "step" if trace.inputs else "place",
        "probability": round(float(trace.probabilities[step]), 5),
        "style": {f"--tint-{kind}": theme.scale(kind, mode)[4] for kind in theme.HUES},
    }


_COMPONENT = mount.Component(__file__, '<div class="blueprint"></div>', picture="Map of the model", name="blueprint")


def blueprint(
    data: dict[str, Any],
    on_choose: Callable[[str, int], None],
    on_open: Callable[[str, str | None, int | None], None],
    key: str = "blueprint",
) -> None:
    """Mounts the component. Before the next run `on_choose` is called with the kind of attention and the layer that
    were chosen, `on_open` with a place of the lab and the kind of attention and layer of the block that leads there, None
    where it has none."""
    most = max(len(layers) for layers in data["layers"].values())
    blocks = {block["key"]: block for block in data["blocks"]}
    kinds = [block["site"] for block in data["blocks"] if block["site"]]

    def opens(told: Any) -> tuple[str, str | None, int | None] | None:
        block = blocks.get(str(told.get("key"))) if isinstance(told, dict) else None
        if not block or told.get("to") not in [to for to, _ in block["links"]]:
            return None
        after = {"encoder": "encoder", "decoder": "cross"}[block["column"]] if block["kind"] == "feed_forward" else None
        return told["to"], block["site"] or after, None if block["layer"] is None else block["layer"] - 1

    place = mount.fields(kind=mount.one_of(kinds), layer=mount.from_one(most))
    _COMPONENT.mount(key, data, {"choose": (place, on_choose), "open": (opens, on_open)})


def draw(context: PageContext, view: View, mode: theme.Mode) -> None:
    """The architecture of this checkpoint, with this sentence's shapes."""
    _mounted(context, view, mode)
    sizes.draw(view, context.loaded)


def large(context: PageContext) -> None:
    """The same as large as the window."""
    lecture.list_component_keys(lecture.WALK, "the next block of the stream, the one before")
    _mounted(context, context.view, context.mode, {"large": True})


def _mounted(context: PageContext, view: View, mode: theme.Mode, more: dict[str, Any] | None = None) -> None:
    data = picture(context.request, view.device, view, mode)
    blueprint(data | (more or {}), on_choose=lambda kind, layer: session.change(kind=kind, layer=layer), on_open=_open)


@cached_figure
def picture(request: Request, device: str, view: View, mode: theme.Mode) -> dict[str, Any]:
    """What the picture needs."""
    loaded, trace = cache.checkpoint(request.checkpoint, device), cache.analyse(request, device).trace
    blocks = plan(loaded, len(trace.source or ()), len(trace.inputs or ()))
    return payload(blocks, trace, view, mode, rotary=bool(loaded.config.scheme.attention_effect))


def _open(place: str, kind: str | None, layer: int | None) -> None:
    """To another part of this page, or to another page, with the site that the block stands for."""
    site = {name: value for name, value in (("kind", kind), ("layer", layer)) if value is not None}
    if place in PARTS:
        session.change(part=place, **site)
    else:
        session.change(**site)
        navigation.go_to(place)
