"""One query of one head, unfolded: the list of stages, one of them large with its numbers and the lines that compute it.

Walking through the stages happens in the browser; the server hears of the one at which the visitor rests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from model.readings import source_lines
from viz import theme
from viz.inside.stage_texts import told
from viz.shared import mount, packed, sides

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.readings.stages import Stage, Table
    from model.readings.unfold import Unfolded
    from model.trace import Trace

_GOES_ON = {"encoder": "encoder", "decoder": "decoder self-attention", "cross": "cross-attention"}
_BARS = {"score": ("",), "weight": ("",), "step": ("q · k", "score")}  # units whose numbers are bars, a heading a column


def payload(unfolded: Unfolded, checkpoint: Checkpoint, trace: Trace, mode: theme.Mode) -> dict[str, Any]:
    """All that the browser needs, as JSON values; numbers as float32, base64. `queries`: the tokens that may ask instead;
    `next`: where the stream goes on, None after the last layer."""
    site, config = unfolded.site, checkpoint.config
    following: dict[str, Any] | None = {"kind": site.of.stack, "layer": site.layer + 2}
    if site.of.is_self and "cross" in config.kinds and site.of.stack == "decoder":
        following = {"kind": "cross", "layer": site.layer + 1}
    elif site.layer + 1 >= config.layers[site.kind]:
        following = None
    return {
        "kind": site.kind,
        "layer": site.layer + 1,
        "head": unfolded.head + 1,
        "query": unfolded.query + 1,
        "asks": unfolded.asks,
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
            for found in source_lines.find(reference)
        ],
    }


def _table(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "rows": list(table.rows),
        "columns": table.values.shape[1],
        "values": packed.floats(table.values),
        "unit": table.unit,
        "bars": _bars(table),
        "kind": table.kind,
        "marked": table.marked,
        "totals": None if table.totals is None else packed.floats(table.totals),
        "totalName": table.total_name,
        "foot": None if table.foot is None else packed.floats(table.foot),
        "footName": table.foot_name,
        "allowed": None if table.allowed is None else [int(cell) for cell in table.allowed],
    }


def _bars(table: Table) -> list[str] | None:
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
    which the visitor rests, `on_query` with the token or step (from 1) that shall ask, `on_next` with the kind and layer at
    which the stream goes on, `on_apart` where it is asked who wrote a score."""
    following = data["next"]
    events = {
        "stage": (mount.whole(1, len(data["stages"])), on_stage),
        "query": (mount.whole(1, len(data["queries"])), on_query),
        "next": (lambda told: mount.pressed(told and following), lambda: on_next(following["kind"], following["layer"])),
        "apart": (mount.pressed, on_apart),
    }
    COMPONENT.mount(key, data, events, default={"stage": data["stage"]})
