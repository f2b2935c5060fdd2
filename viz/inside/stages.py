"""One query of one head, unfolded: a list of stages, and one of them large with its numbers and the lines that compute it.

Walking through the stages happens in the browser. The server gets the stage at which the visitor rests.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Any

from model.export.csv_tables import Table
from model.readings.stages import stage_values
from model.trace import Site, Trace
from viz import computations, theme
from viz.classroom import lecture
from viz.inside import one_head
from viz.inside.stage_texts import told
from viz.kit import mount, patterns, site_texts
from viz.kit.panel import FileOptions, Panel, Picture, where
from viz.page_context import PageContext
from viz.state import session
from viz.state.view import View

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.config import ModelConfig
    from model.export.code import Code
    from model.readings.stages.stage_values import Stage, StageTable
    from model.readings.stages.unfold import Unfolded

PART = {"part": "stages"}
_GOES_ON = {"encoder": "encoder", "decoder": "decoder self-attention", "cross": "cross-attention"}
_BARS = {"score": ("",), "weight": ("",), "step": ("q · k", "score")}  # units whose numbers are bars, a heading a column


def payload(unfolded: Unfolded, checkpoint: Checkpoint, trace: Trace, mode: theme.Mode) -> dict[str, Any]:
    """Returns all that the browser needs, as JSON values; numbers as float32, base64.

    `queries` are the tokens that may ask instead, `next` is the next layer of the stream, None after the last one.
    """
    site, following = unfolded.site, _next_layer(unfolded.site, checkpoint.config)
    return {
        "kind": site.kind,
        "layer": site.layer + 1,
        "head": unfolded.head + 1,
        "query": unfolded.query + 1,
        "asks": unfolded.query_label,
        "queries": patterns.queries(trace, site),
        "next": following and following | {"name": _GOES_ON[following["kind"]]},
        "stages": [_stage(unfolded, stage, checkpoint) for stage in unfolded.stages],
        "signed": list(theme.diverging(mode)),
        "large": False,  # in a lecture: one stage alone
    }


def _next_layer(site: Site, config: ModelConfig) -> dict[str, Any] | None:
    """Returns kind and layer (from 1) at which the stream goes on; None after the last layer."""
    if site.spec.is_self and "cross" in config.kinds and site.spec.stack == "decoder":
        return {"kind": "cross", "layer": site.layer + 1}
    if site.layer + 1 >= config.layers[site.kind]:
        return None
    return {"kind": site.spec.stack, "layer": site.layer + 2}


def _stage(unfolded: Unfolded, stage: Stage, checkpoint: Checkpoint) -> dict[str, Any]:
    title, formula, sentence, help = told(unfolded, stage, checkpoint.config)
    return {
        "name": stage.name,
        "title": title,
        "formula": formula,
        "sentence": sentence,
        "help": help,
        "edited": stage.edited,
        "shapes": [{"name": s.name, "letters": s.letters, "numbers": list(s.numbers)} for s in stage.shapes],
        "tables": [table_data(table, unfolded.key) for table in stage.tables],
        "code": [
            {"file": found.file, "function": found.function, "number": found.number, "text": found.text}
            for reference in stage.code
            for found in stage_values.source_lines(reference)
        ],
    }


def table_data(table: StageTable, key: int | None = None) -> dict[str, Any]:
    """Returns a table for `stages_parts.js`, as JSON values. In bars the row of the key is marked."""
    bars = _bars(table)
    return {
        "name": table.name,
        "rows": list(table.rows),
        "columns": table.values.shape[1],
        "values": mount.floats(table.values),
        "unit": table.unit,
        "bars": bars,
        "kind": table.kind,
        "marked": table.marked if bars is None or key is None else key,
        "totals": None if table.totals is None else mount.floats(table.totals),
        "totalName": table.total_name,
        "foot": None if table.foot is None else mount.floats(table.foot),
        "footName": table.foot_name,
        "allowed": None if table.allowed is None else [int(cell) for cell in table.allowed],
    }


def _bars(table: StageTable) -> list[str] | None:
    """What stands above each column of bars; None for the numbers of a vector, which are cells."""
    return None if table.unit in ("dimension", "unit") else list(_BARS.get(table.unit, (table.name,)))


COMPONENT = mount.Component(__file__, '<div class="stages"></div>', term_names=("score",))
MAX_STAGE = 20  # a link may name the last stage of another kind of attention, which has more


def _payload(context: PageContext, unfolded: Unfolded) -> dict[str, Any]:
    key = context.view.key
    chosen = dataclasses.replace(unfolded, chosen_key=None if key is None or key >= len(unfolded.keys) else key)
    return payload(chosen, context.loaded, context.analysis.trace, context.mode)


def stage_number(view: View, unfolded: Unfolded) -> int:
    """Returns the number of the view's stage, from 0, or the nearest that exists; without one the softmax."""
    if view.stage is None:
        return unfolded.stages.index(unfolded["softmax"])
    return min(view.stage, len(unfolded.stages) - 1)


def _stage_of(context: PageContext, unfolded: Unfolded) -> dict[str, Any]:
    return {"stage": stage_number(context.view, unfolded) + 1}


def _events(context: PageContext, unfolded: Unfolded) -> dict[str, mount.Event]:
    site, following = unfolded.site, _next_layer(unfolded.site, context.loaded.config)
    queries = len(context.analysis.trace.queries(site))
    return {
        "stage": (mount.from_one(len(unfolded.stages)), lambda stage: session.change(stage=stage)),
        "query": (mount.from_one(queries), lambda number: session.change(key=None, **one_head.query_field(site, number))),
        "next": (lambda event: mount.pressed(event and following), partial(_go_on, following or {})),
        "apart": (mount.pressed, lambda: session.change(part="writers", key=None)),
    }


def _go_on(following: dict[str, Any]) -> None:
    """Shows the first stage of the next layer of the stream. For callbacks."""
    session.change(kind=following["kind"], layer=following["layer"] - 1, stage=0)


def _text(context: PageContext, unfolded: Unfolded) -> str:
    stage = context.view.stage
    if stage is None or stage < MAX_STAGE:
        return ""
    sentence = f"There is no stage {stage + 1}: this head has {len(unfolded.stages)}, the last is shown."
    return site_texts.note_markup(sentence, warn=True)


def _keys(context: PageContext, unfolded: Unfolded) -> None:
    lecture.list_component_keys(lecture.WALK, "the next stage, the stage before")
    lecture.list_component_keys("→ ←, space, Home, End", "the token that asks")


def _tables(context: PageContext, unfolded: Unfolded) -> tuple[Table, ...]:
    """Returns a table for each table of each stage, since their widths differ."""
    made = []
    for number, stage in enumerate(unfolded.stages, 1):
        for each in stage.tables:
            columns = ("row", *(str(n) for n in range(1, each.values.shape[1] + 1)))
            rows = tuple((row, *values) for row, values in zip(each.rows, each.values, strict=True))
            rows += () if each.foot is None else ((each.foot_name, *each.foot),)
            made.append(Table(f"{number:02}-{stage.name}-{_file_name(each.name)}", columns, rows))
    return tuple(made)


def _file_name(text: str) -> str:
    return "".join(char if char.isalnum() else "-" for char in text).strip("-")


def _code(code: Code, context: PageContext, unfolded: Unfolded) -> None:
    code.add("stages = {stage.name: {table.name: table.values for table in stage.tables} for stage in result.stages}")


def _remote_fields(context: PageContext) -> dict[str, tuple[Any, ...]]:
    """Returns the stage, and the step if it is not the query: then another step needs other numbers."""
    return {"stage": ()} | ({"step": ()} if one_head.site(context).spec.query_side == "source" else {})


STAGES = Panel(
    "inside.stages",
    "One head, stage by stage",
    COMPONENT,
    _payload,
    _events,
    call=lambda context: computations.UNFOLD(*one_head.place(context)),
    text=_text,
    tables=_tables,
    code=_code,
    is_visible=where(**PART),
    pictures=(Picture("One head", ".stage", lambda context, unfolded: {"large": True}, fields=PART),),
    bar=one_head.draw_head_bar,
    keys=_keys,
    file=FileOptions(component_fields=("step", "stage"), remote_fields=_remote_fields),
    reads=("kind", "layer", "head", "token", "step", "key"),
    follow=_stage_of,
)
