"""Judge in lecture mode: the text with its label, the words that decide, or the map of one layer and head; one alone."""

from __future__ import annotations

from viz.classroom import lecture
from viz.decoding_steps import pattern_maps
from viz.judge import label_view
from viz.kit import site_texts
from viz.page_context import PageContext
from viz.state import navigation, session

LARGE = ("Text", "Words", "Map")  # the pictures, from 1
ABOVE = 8  # px of the stage above the map


def draw(context: PageContext) -> None:
    """One picture, and its keys; what edits did to the label stands above it."""
    view, analysis = context.view, context.analysis
    large = lecture.picture(view, len(LARGE))
    with context.places.bar:
        lecture.picture_buttons(LARGE, large)
    _keys(context, large)
    with context.places.notes:
        site_texts.sentence_notes(
            [note for note in analysis.notes if note not in analysis.warning_sentences], context.faults
        )
        if analysis.baseline is not None:
            edits = analysis.request.intervention.describe(analysis.labels)
            site_texts.note(f"{edits[:1].upper()}{edits[1:]}. {site_texts.verdict_text(analysis)}.")
    with context.places.body:
        if large == 3:
            pattern_maps.draw_large(analysis, view, context.mode, ABOVE)
        else:
            label_view.draw(view, context, context.mode, {"words": large == 2})


def _keys(context: PageContext, large: int) -> None:
    view = context.view
    names = ", ".join(LARGE).lower()
    lecture.add_key(lecture.PICTURE, names, lambda: lecture.next_picture(len(LARGE)), quiet=True)
    if large == 3:
        other = "attention" if view.show == "mask" else "mask"
        does = f"the map shows {'weights' if other == 'attention' else 'the mask'}"
        lecture.add_key(lecture.SHOWS, does, lambda: session.change(show=other), quiet=True)
    now = "off" if view.intervention.padding_mask else "on"
    lecture.add_key(lecture.PADDING, f"padding mask {now}", lambda: navigation.toggle_mask("padding_mask"))
