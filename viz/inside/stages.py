"""One query of one head, unfolded: the list of stages, one of them large with its numbers and the lines that compute it.

Walking through the stages happens in the browser; the server hears of the one at which the visitor rests.

Inside, first part: one head unfolded, stage by stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from model.inference.request import Request
from model.readings.stages import stage_values
from model.trace import Site, Trace
from viz import cache, computations, theme
from viz.classroom import lecture
from viz.inside import one_head
from viz.inside.stage_texts import told
from viz.kit import mount, sides, site_texts
from viz.page_context import PageContext
from viz.state import session
from viz.state.result_cache import cached_figure
from viz.state.view import View

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.readings.stages.stage_values import Stage, StageTable
    from model.readings.stages.unfold import Unfolded

_GOES_ON = {"encoder": "encoder", "decoder": "decoder self-attention", "cross": "cross-attention"}
_BARS = {"score": ("",), "weight": ("",), "step": ("q · k", "score")}  # units whose numbers are bars, a heading a column


def payload(unfolded: Unfolded, checkpoint: Checkpoint, trace: Trace, mode: theme.Mode) -> dict[str, Any]:
    """All that the browser needs, as JSON values; numbers as float32, base64. `queries`: the tokens that may ask instead;
    `next`: where the stream goes on, None after the last layer."""
    site, config = unfolded.site, checkpoint.config
    following: dict[str, Any] | None = {"kind": site.spec.stack, "layer": site.layer + 2}
    if site.spec.is_self and "cross" in config.kinds and site.spec.stack == "decoder":
        following = {"kind": "cross", "layer": site.layer + 1}
    elif site.layer + 1 >= config.layers[site.kind]:
        following = None
    return {
        "kind": site.kind,
        "layer": site.layer + 1,
        "head": unfolded.head + 1,
        "query": unfolded.query + 1,
        "asks": unfolded.query_label,
        "queries": sides.queries(trace, site),
        "next": following and following | {"name": _GOES_ON[following["kind"]]},
        "stages": [_stage(unfolded, stage, checkpoint) for stage in unfolded.stages],
        "signed": list(theme.diverging(mode)),
        "large": False,  # in a lecture: one stage alone
    }


def _stage(unfolded: Unfolded, stage: Stage, checkpoint: Checkpoint) -> dict[str, Any]:
    title, formula, sentence = told(unfolded, stage, checkpoint.config)
    return {
        "name": stage.name,
        "title": title,
        "formula": formula,
        "sentence": sentence,
        "edited": stage.edited,
        "shapes": [{"name": s.name, "letters": s.letters, "numbers": list(s.numbers)} for s in stage.shapes],
        "tables": [_table(table) for table in stage.tables],
        "code": [
            {"file": found.file, "function": found.function, "number": found.number, "text": found.text}
            for reference in stage.code
            for found in stage_values.source_lines(reference)
        ],
    }


def _table(table: StageTable) -> dict[str, Any]:
    return {
        "name": table.name,
        "rows": list(table.rows),
        "columns": table.values.shape[1],
        "values": mount.floats(table.values),
        "unit": table.unit,
        "bars": _bars(table),
        "kind": table.kind,
        "marked": table.marked,
        "totals": None if table.totals is None else mount.floats(table.totals),
        "totalName": table.total_name,
        "foot": None if table.foot is None else mount.floats(table.foot),
        "footName": table.foot_name,
        "allowed": None if table.allowed is None else [int(cell) for cell in table.allowed],
    }


def _bars(table: StageTable) -> list[str] | None:
    """What stands above each column of bars; None for the numbers of a vector, which are cells."""
    return None if table.unit in ("dimension", "unit") else list(_BARS.get(table.unit, (table.name,)))


COMPONENT = mount.Component(__file__, '<div class="stages"></div>', picture="One head, stage by stage")


def stages(
    data: dict[str, Any],
    on_stage: Callable[[int], None],
    on_query: Callable[[int], None],
    on_next: Callable[[str, int], None],
    on_apart: Callable[[], None],
    key: str = "stages",
) -> None:
    """Mounts the component with the payload and `stage` (from 1). Before the next run `on_stage` is called with the stage at
    which the visitor rests, `on_query` with the token or step that shall ask, `on_next` with the kind and layer at
    which the stream goes on, `on_apart` where it is asked who wrote a score."""
    following = data["next"]
    events = {
        "stage": (mount.from_one(len(data["stages"])), on_stage),
        "query": (mount.from_one(len(data["queries"])), on_query),
        "next": (lambda told: mount.pressed(told and following), lambda: on_next(following["kind"], following["layer"] - 1)),
        "apart": (mount.pressed, on_apart),
    }
    COMPONENT.mount(key, data, events, default={"stage": data["stage"]})


MOST_STAGES = 20  # a link may ask for the last one of another kind of site, which has more


def draw(context: PageContext, view: View, mode: theme.Mode) -> None:
    """Which head and whose query, and its stages."""
    _unfolded(context, view, mode, one_head.chosen(context, view))


def large(context: PageContext) -> None:
    """One stage over the whole page. Its keys are taken in the browser."""
    lecture.list_component_keys(lecture.WALK, "the next stage, the stage before")
    lecture.list_component_keys("→ ←, space, Home, End", "the token that asks")
    view = context.view
    with context.places.notes:
        one_head.told(context, view)
    _unfolded(context, view, context.mode, one_head.place(context, view), large=True)


def _unfolded(context: PageContext, view: View, mode: theme.Mode, place: tuple[Site, int, int], large: bool = False) -> None:
    site, head, query = place
    data = unfolded(context.request, view.device, site, head, query, mode)
    if view.stage >= MOST_STAGES:
        site_texts.note(
            f"There is no stage {view.stage + 1}: this head has {len(data['stages'])}, the last is shown.", warn=True
        )
    stages(
        data | {"stage": min(view.stage + 1, len(data["stages"]))} | ({"large": True} if large else {}),
        on_stage=lambda stage: session.change(stage=stage),
        on_query=lambda number: session.change(**one_head.asking(site, number)),
        on_next=lambda kind, layer: session.change(kind=kind, layer=layer, stage=View.stage),
        on_apart=lambda: session.change(part="writers", key=None),
    )


@cached_figure
def unfolded(request: Request, device: str, site: Site, head: int, query: int, mode: theme.Mode) -> dict[str, Any]:
    """What the stages need; head and query count from 0."""
    found = computations.unfold(request, device, site, head, query)
    return payload(found, cache.checkpoint(request.checkpoint, device), cache.analyse(request, device).trace, mode)
