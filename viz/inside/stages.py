"""One query of one head, unfolded: the list of stages, one of them large with its numbers and the lines that compute it.

Walking through the stages happens in the browser; the server hears of the one at which the visitor rests.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from model.readings import source_lines
from viz import state, theme
from viz.inside.stage_texts import told

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.readings.stages import Stage, Table
    from model.readings.unfold import Unfolded
    from model.trace import Trace

_HERE = Path(__file__).parent


def payload(unfolded: Unfolded, checkpoint: Checkpoint, trace: Trace, mode: theme.Mode) -> dict[str, Any]:
    """All that the browser needs, as JSON values; numbers as float32, base64. `queries`: the tokens that may ask instead;
    `next`: where the stream goes on, None after the last layer."""
    site, config = unfolded.site, checkpoint.config
    count = config.encoder_layers if site.kind == "encoder" else config.decoder_layers
    following: dict[str, Any] | None = {"kind": "decoder" if site.kind == "cross" else site.kind, "layer": site.layer + 2}
    if site.kind == "decoder":
        following = {"kind": "cross", "layer": site.layer + 1}
    elif site.layer + 1 >= count:
        following = None
    return {
        "kind": site.kind,
        "layer": site.layer + 1,
        "head": unfolded.head + 1,
        "query": unfolded.query + 1,
        "asks": unfolded.asks,
        "queries": list(trace.source.labels if site.kind == "encoder" else trace.queries(site)),
        "next": following,
        "stages": [_stage(unfolded, stage, checkpoint) for stage in unfolded.stages],
        "signed": list(theme.diverging(mode)),
        "weights": list(theme.scale(site.kind, mode)),
        "style": theme.PALETTES[mode].css_variables(),
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
        "values": _packed(table.values),
        "unit": table.unit,
        "kind": table.kind,
        "marked": table.marked,
        "totals": None if table.totals is None else _packed(table.totals),
        "totalName": table.total_name,
        "foot": None if table.foot is None else _packed(table.foot),
        "footName": table.foot_name,
        "allowed": None if table.allowed is None else [int(cell) for cell in table.allowed],
    }


def _packed(values: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()


_mount = st.components.v2.component(
    "attention_lab.stages",
    html='<div class="stages"></div>',
    css=(_HERE / "stages.css").read_text(encoding="utf-8"),
    js="".join((_HERE / name).read_text(encoding="utf-8") for name in ("../shared/dom.js", "stages_parts.js", "stages.js")),
)


def stages(
    data: dict[str, Any],
    on_stage: Callable[[int], None],
    on_query: Callable[[int], None],
    on_next: Callable[[str, int], None],
    key: str = "stages",
) -> None:
    """Mounts the component with the payload and `stage` (from 1). Before the next run `on_stage` is called with the stage at
    which the visitor rests, `on_query` with the token or step (from 1) that shall ask, `on_next` with the kind and layer at
    which the stream goes on."""

    def settled() -> None:
        stage = state.component_value(key, "stage")
        if isinstance(stage, int | float) and 1 <= stage <= len(data["stages"]):
            on_stage(int(stage))

    def asked() -> None:
        query = state.component_value(key, "query")
        if isinstance(query, int | float) and 1 <= query <= len(data["queries"]):
            on_query(int(query))

    def followed() -> None:
        if state.component_value(key, "next") and data["next"]:
            on_next(data["next"]["kind"], data["next"]["layer"])

    told = {"stage": data["stage"]}
    _mount(key=key, data=data, default=told, on_stage_change=settled, on_query_change=asked, on_next_change=followed)
