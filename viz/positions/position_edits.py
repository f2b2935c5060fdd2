"""Positions in a sentence: the similarity of its tokens, and its translation under edits of positions.

A click makes the edit on every page.
"""

from __future__ import annotations

import dataclasses
import html
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from model.decoding.strategy import Decoding
from model.edits.kinds import Positions, TokenLabels, parse
from model.export.csv_tables import Table, grid_table, numbered
from model.export.token_labels import label_sentences
from model.inference.predictions import top_tokens
from model.io import numbers
from model.text.languages import record_of
from model.trace import MapView
from viz import cache, computations
from viz.classroom import lecture
from viz.kit import button_groups, mount, patterns, site_texts
from viz.kit.button_groups import Button, ButtonGroup
from viz.kit.panel import FileOptions, Panel, Picture
from viz.page_context import PageContext
from viz.positions import position_texts
from viz.positions.schemes import side_choice, side_of
from viz.state import session, uploads
from viz.state.view import without_edits

if TYPE_CHECKING:
    from model.inference.analysis import Analysis
    from model.inference.request import Request
    from model.readings.positions.sentence_positions import SentencePositions, Variant


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


def _token_payload(context: PageContext, found: SentencePositions) -> dict[str, Any]:
    axis = context.analysis.trace.source if side_of(context.view) == "source" else None
    labels = tuple(label_sentences(found.labels, axis))
    rings = [[i, j] for pair in found.repeated for i, j in (pair, pair[::-1])]
    maps = [
        patterns.difference(MapView(values, np.ones_like(values, dtype=bool), labels, labels), None, title)
        | {"most": limit, "rings": rings, "picture": title}
        for _, title, values, limit in token_maps(found)
    ]
    return patterns.map_data(maps, 0, context.mode)


def _token_controls(context: PageContext, found: SentencePositions) -> None:
    name, scheme = uploads.display_name(context.loaded.name), context.loaded.config.positions
    label = f'<span class="lab-note">{html.escape(name)}: {scheme} positions</span>'
    site_texts.write(f'<h2 class="lab-label lab-rule">On this sentence {label}</h2>')
    button_groups.draw("positions.side", [*side_choice(context.view), *_example(context, found)])


def _example(context: PageContext, found: SentencePositions) -> list[ButtonGroup]:
    """Returns a button with a sentence that has a repeated token; none if this one has."""
    name = context.loaded.languages[0]
    example = record_of(None if name == "source" else name).repeated_token_example
    if found.repeated:
        return []
    press = partial(session.change, source=example)
    buttons = {"pe_repeat": Button(f"Try “{example}”", press)} if example else {}
    return [ButtonGroup("Example", buttons, "links", is_label_hidden=True, note="No token occurs twice.", follows=True)]


def _token_text(context: PageContext, found: SentencePositions) -> str:
    return "".join(map(site_texts.note_markup, position_texts.likeness(found)))


def _token_tables(context: PageContext, found: SentencePositions) -> tuple[Table, ...]:
    side, labels = side_of(context.view), numbered(found.labels)
    return tuple(grid_table(f"{side}-{name}", title, labels, labels, values) for name, title, values, _ in token_maps(found))


TOKENS = Panel(
    "positions.tokens",
    "Similarity of the tokens",
    patterns.COMPONENT,
    _token_payload,
    call=lambda context: computations.SENTENCE_POSITIONS(side_of(context.view)),
    controls=_token_controls,
    text=_token_text,
    tables=_token_tables,
    pictures=(
        Picture(
            "Sentence",
            data=lambda context, found: {"large": True},
            text=lambda context, found: f'<p class="lab-large">{html.escape(position_texts.likeness(found)[-1])}</p>',
        ),
    ),
    file=FileOptions(rounded=patterns.ROUNDED),
    reads=("kind",),
    seen_key=lambda context: None,
)


MAX_TRIED_WORK = 200  # paths of a beam times source tokens, of a translation that is made for each edit
COMPONENT = mount.Component(__file__, '<div class="position-edits"></div>', picture="Edits of the positions")


@dataclass(frozen=True)
class TriedEdits:
    """The result of each edit of positions on a sentence."""

    base: Analysis
    notes: tuple[str, ...]  # on what the request leaves out
    results: tuple[tuple[Positions, Variant | ValueError], ...]


def tried(request: Request, tokens: int) -> tuple[Request, list[str]]:
    """Returns the request under each edit, and a sentence for each part that it leaves out.

    It has one sentence, no branches, and greedy decoding if a beam would take long.
    """
    plain, decoding = dataclasses.replace(request, other_sentences=(), branches=(), path=()), request.decoding
    notes = ["The branches are left out here."] if request.branches else []
    if decoding.has_width and decoding.width * tokens > MAX_TRIED_WORK:
        plain = dataclasses.replace(plain, decoding=Decoding())
        notes += [f"A beam of {decoding.width} over {tokens} source tokens would take long here: all are decoded greedily."]
    return plain, notes


def _compute(context: PageContext) -> TriedEdits:
    from model.readings.positions.sentence_positions import position_edits, sides_of

    plain, notes = tried(without_edits(context.request), context.analysis.source_length)
    base = cache.analyse(plain, context.view.device)
    edits = position_edits(context.view.pe_shift, sides_of(base.trace))
    return TriedEdits(base, tuple(notes), computations.position_variants(plain, context.view.device, edits))


def _payload(context: PageContext, found: TriedEdits) -> dict[str, Any]:
    task = context.analysis.task
    # without a decoder, the words are the top tokens, or the label
    pieces = context.loaded.output_vocabulary.pieces
    base = found.base.translation.split() if task.has_decoder else pieces(top_tokens(found.base.trace))
    return {
        "base": list(base),
        "lang": site_texts.language_code(context.loaded.languages[1]),
        "rows": [_row(context, edit, result) for edit, result in found.results],
        "large": False,
    }


def _row(context: PageContext, edit: Positions, result: Variant | ValueError) -> dict[str, Any]:
    from model.readings.positions.sentence_positions import is_beyond

    config, name = context.loaded.config, edit.text(TokenLabels())
    row = {"code": edit.code, "name": name[:1].upper() + name[1:], "made": edit in context.view.intervention.edits}
    if is_beyond(edit, config):
        result = ValueError(position_texts.beyond(edit.amount, config.max_positions))
    if isinstance(result, ValueError):
        return row | {"fault": position_texts.refused(str(result))}
    words = [[word, bool(changed)] for word, changed in zip(result.words, result.changed, strict=True)]
    change = [numbers.signed(result.change), "loss" if result.change < 0 else "gain"]
    return row | {"words": words, "change": change, "note": result.near_tie}


def _text(context: PageContext, found: TriedEdits) -> str:
    task = context.analysis.task
    sentences = [position_texts.ANEW["judged" if task.is_classifier else task.family], *found.notes]
    sentences.append(site_texts.near_tie_text(found.base, context.loaded.output_vocabulary))
    notes = "".join(f'<p class="lab-note">{html.escape(each)}</p>' for each in sentences if each)
    return f'<h2 class="lab-label lab-rule">What if they were different?</h2>{notes}'


def _keys(context: PageContext, found: TriedEdits) -> None:
    codes = [row["code"] for row in _payload(context, found)["rows"] if "fault" not in row]
    if not codes:
        return
    made = [n for n, code in enumerate(codes) if parse(code) in context.view.intervention.edits]
    following = codes[(made[-1] + 1 if made else 0) % len(codes)]
    lecture.add_key(lecture.EXPERIMENT, "the next of these edits, on every page", lambda: apply(following), quiet=True)


def apply(code: str) -> None:
    """Makes an edit of positions in place of another on its side, decoded again; or removes it. For callbacks."""
    intervention, edit = session.current_view().intervention, parse(code)
    others = tuple(e for e in intervention.edits if not (isinstance(e, Positions) and e.side == edit.side))
    added = () if edit in intervention.edits else (edit,)
    session.change(mode="again", intervention=dataclasses.replace(intervention, edits=(*others, *added)))


def _compute_without(context: PageContext) -> Variant | ValueError:
    """Returns the result without positions, of the source if the model has one. The other edits are not computed for it."""
    from model.readings.positions.sentence_positions import sides_of

    plain, _ = tried(without_edits(context.request), context.analysis.source_length)
    device = context.view.device
    off = Positions(sides_of(cache.analyse(plain, device).trace)[0], "off")
    return computations.position_variants(plain, device, (off,))[0][1]


def _answer(context: PageContext, variant: Variant | ValueError) -> str:
    if isinstance(variant, ValueError):
        return ""
    sentence = position_texts.describe_without(variant, context.analysis.task)
    return f'<p class="lab-verdict">{html.escape(sentence)}</p>'


ANSWER = Panel(
    "positions.answer",
    "Without positions",
    compute=_compute_without,
    text=_answer,
    file=None,
    is_visible=lambda context: not context.view.lecture,
)
EDITS = Panel(
    "positions.edits",
    "Edits of the positions",
    COMPONENT,
    _payload,
    lambda context, found: {"make": (mount.one_of([edit.code for edit, _ in found.results]), apply)},
    compute=_compute,
    text=_text,
    pictures=(Picture("Edits", data=lambda context, found: {"large": True}),),
    keys=_keys,
    file=None,
    reads=("pe_shift", "intervention"),
    seen_key=lambda context: (context.request, context.view.pe_shift),
)
