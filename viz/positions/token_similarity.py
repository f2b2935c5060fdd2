"""The similarity of a sentence's tokens, without positions and with them."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from model.export.csv_tables import Table, grid_table, numbered
from model.text.languages import record_of
from model.trace import MapView
from viz import computations
from viz.kit import file_maps, patterns, sides, site_texts
from viz.kit.panel import Panel, Picture
from viz.page_context import PageContext
from viz.positions import position_texts
from viz.positions.schemes import choose_side, side_of
from viz.state import session, uploads

if TYPE_CHECKING:
    from model.readings.positions.sentence_positions import SentencePositions


def token_maps(found: SentencePositions) -> list[tuple[str, str, np.ndarray, float]]:
    """Returns name, title, values and limit of the maps."""
    if found.both is not None and found.positions is not None:
        return [
            ("alone", "Embeddings alone", found.alone, 1.0),
            ("positions", "Positions alone", found.positions, 1.0),
            ("both", "Both, added", found.both, 1.0),
        ]
    assert found.scores_without is not None and found.scores_with is not None
    limit = float(max(abs(found.scores_without).max(), abs(found.scores_with).max()))
    return [
        ("alone", "Embeddings alone", found.alone, 1.0),
        ("without", "Scores of layer 1 without positions", found.scores_without, limit),
        ("with", "Scores of layer 1 with positions", found.scores_with, limit),
    ]


def _payload(context: PageContext, found: SentencePositions) -> dict[str, Any]:
    axis = context.analysis.trace.source if side_of(context.view) == "source" else None
    labels = tuple(sides.label_sentences(found.labels, axis))
    rings = [[i, j] for pair in found.repeated for i, j in (pair, pair[::-1])]
    maps = [
        patterns.difference(MapView(values, np.ones_like(values, dtype=bool), labels, labels), None, title)
        | {"most": limit, "rings": rings, "picture": title}
        for _, title, values, limit in token_maps(found)
    ]
    return file_maps.map_data(maps, 0, context.mode)


def _controls(context: PageContext, found: SentencePositions) -> None:
    name, scheme = uploads.display_name(context.loaded.name), context.loaded.config.positions
    with st.container(key="pe_sentence_row", horizontal=True, vertical_alignment="center", gap="small"):
        label = f'<span class="lab-note">{html.escape(name)}: {scheme} positions</span>'
        site_texts.write(f'<h2 class="lab-label">On this sentence {label}</h2>', inline=True)
        choose_side("sentence side", context.view)


def _text(context: PageContext, found: SentencePositions) -> str:
    sentences = position_texts.likeness(found)
    if not found.repeated:
        sentences.append("No token occurs twice in this sentence.")
    return "".join(f'<p class="lab-note">{html.escape(each)}</p>' for each in sentences)


def _details(context: PageContext, found: SentencePositions) -> None:
    """Draws a button with a sentence that has a repeated token."""
    name = context.loaded.languages[0]
    example = record_of(None if name == "source" else name).repeated_token_example
    if example and not found.repeated:
        button = {"on_click": session.change, "kwargs": {"source": example}}
        st.button(f"Try “{example}”", key="pe_repeat", type="tertiary", **button)


def _tables(context: PageContext, found: SentencePositions) -> tuple[Table, ...]:
    side, labels = side_of(context.view), numbered(found.labels)
    return tuple(grid_table(f"{side}-{name}", title, labels, labels, values) for name, title, values, _ in token_maps(found))


TOKENS = Panel(
    "positions.tokens",
    "Similarity of the tokens",
    file_maps.COMPONENT,
    _payload,
    call=lambda context: computations.SENTENCE_POSITIONS(side_of(context.view)),
    controls=_controls,
    text=_text,
    details=_details,
    tables=_tables,
    pictures=(
        Picture(
            "Sentence",
            data=lambda context, found: {"large": True},
            text=lambda context, found: f'<p class="lab-large">{html.escape(position_texts.likeness(found)[-1])}</p>',
        ),
    ),
    file=None,
    reads=("kind",),
    seen_key=lambda context: None,
)
