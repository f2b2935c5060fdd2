"""Compare in lecture mode: what differs in the bar, and one large picture of the two sides, or of patching.

Patching in lecture mode: what one piece of the other sentence does, the pieces of one kind as a large picture."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.edits.kinds import Edit, PatchZ, TokenLabels
from model.inference.predictions import changed_words
from viz import cache, computations
from viz.classroom import lecture
from viz.compare import choices, distance, patch_grids, patching_part, side_by_side
from viz.compare.pair import DIFFERENCES, NotChosenError, Pair, PairError, pair
from viz.kit import controls, lazy, site_texts
from viz.page_context import LecturePlaces, PageContext
from viz.state import session
from viz.state.view import View, without_edits

if TYPE_CHECKING:
    from model.experiments.patching import Patching
    from model.text.tokenizer import Tokenizer

PATCHING_PICTURES = ("encoder", "heads", "decoder")  # whose pieces, in the order of the view's `large`
WALKED = 12  # pieces that are walked through by key, those that do most


def draw_patching(context: PageContext, pair: Pair) -> None:
    """The three translations, the grid of one kind of pieces, and what the chosen piece does."""
    view, loaded = context.view, pair.first.loaded
    if pair.differs not in patching_part.SENTENCES:
        site_texts.note(patching_part.NEEDS)
        return
    requests = without_edits(pair.first.request), without_edits(pair.second.request)
    try:
        question = computations.patch_question(*requests, view.device, view.patched_step)
    except ValueError as fault:
        site_texts.fault(str(fault))
        return
    found = patching_part.measured(requests, view.device, view.patched_step)
    if found is None:
        return
    number = lecture.picture(view, len(PATCHING_PICTURES))
    ranked = _ranked(found, PATCHING_PICTURES[number - 1])
    edits = view.patched.edits or (ranked[0],)
    try:
        *_, patched = patching_part.put_in(requests, edits, view.device)
    except ValueError as fault:
        site_texts.fault(str(fault))
        return
    first, second = (cache.analyse(request, view.device) for request in requests)
    tokens = patch_grids.names(question, loaded.target_tokenizer)
    own = first.trace.outputs.ids
    rows = (("this one", own), ("the other", second.trace.outputs.ids), ("patched", patched.trace.outputs.ids))
    large = {
        "picture": PATCHING_PICTURES[number - 1],
        "asked": patch_grids.asked(question, tokens),
        "rows": [[name, _marked(ids, own, loaded.target_tokenizer)] for name, ids in rows],
        "told": _told(found, edits, first.labels),
    }
    data = patch_grids.payload(found, first.labels, tuple(edit.code for edit in edits), context.mode, large)
    patch_grids.grids(data, patching_part.choose)
    _keys(ranked, ranked[0])


def _told(found: Patching, edits: Sequence[Edit], labels: TokenLabels) -> str:
    """What is put in, and how far it leads where that was measured alone."""
    value = dict(found.patches).get(edits[0]) if len(edits) == 1 else None
    put = "; ".join(patch_grids.told(edit, labels) for edit in edits)
    return f"Put in: {put}" + ("." if value is None else f". {patch_grids.far(found, value)}.")


def _ranked(found: Patching, picture: str) -> list[Edit]:
    """The pieces of a picture, those that lead furthest towards the other sentence first."""
    own = [
        (edit, float(found.share(value)))
        for edit, value in found.patches
        if (picture == "heads") == isinstance(edit, PatchZ) and picture in ("heads", getattr(edit, "stack", ""))
    ]
    return [edit for edit, _ in sorted(own, key=lambda each: -each[1])]


def _marked(ids: Sequence[int], own: Sequence[int], tokenizer: Tokenizer) -> list[list[Any]]:
    """A translation in pieces of text, each with whether it is another than in the first."""
    return [list(each) for each in zip(tokenizer.segments(ids), changed_words(own, ids)[1], strict=True)]


def _keys(ranked: list[Edit], usual: Edit) -> None:
    lecture.add_walk_keys("the next piece", "the piece before", partial(_walk, ranked[:WALKED], usual))
    lecture.add_key(lecture.INNER, "encoder, heads, decoder", _turn_patching, quiet=True)


def _walk(known: list[Edit], usual: Edit, by: int) -> None:
    """To the piece beside the one that is put in now; called from callbacks."""
    edits = session.current_view().patched.edits or (usual,)
    at = known.index(edits[0]) if len(edits) == 1 and edits[0] in known else None
    patching_part.choose((known[0] if at is None else known[(at + by) % len(known)]).code)


def _turn_patching() -> None:
    """Another picture, with its own best piece; called from callbacks."""
    number = lecture.picture(session.current_view(), len(PATCHING_PICTURES))
    session.change(large=number % len(PATCHING_PICTURES) + 1, patched=patching_part.BASELINE)


PICTURES = {
    "Maps": "maps",
    "Difference": "difference",
    "Heads": "heads",
}  # of both sides, in the order of the view's `large`
PATCHING = "Patching"


def draw(context: PageContext) -> None:
    """Both sides as one large picture, or one sentence that says why there is no second side."""
    places, view = context.places, context.view
    assert isinstance(places, LecturePlaces)
    lecture.draw(context)
    with places.notes:
        controls.target_note(view)
    found: Pair | None = None
    with places.body:
        try:
            found = pair(view, context)
        except NotChosenError as missing:
            site_texts.note(str(missing))
            choices.way_out(context)
        except ValueError as fault:
            site_texts.fault(str(fault))
    with places.bar:
        _controls(context, found)
    lecture.add_key(lecture.DIFFERS, "another thing differs", partial(_turn, context), quiet=True)
    lecture.add_key(lecture.PICTURE, ", ".join((*PICTURES, PATCHING)).lower(), _next_picture, quiet=True)
    if found is None:
        return
    with places.body:
        _picture(context, found)


def _controls(context: PageContext, found: Pair | None) -> None:
    """What differs, with all that is chosen of it behind its name; and which picture."""
    view = context.view
    name = f"{found.first.name} → {found.second.name}" if found else DIFFERENCES[view.differs].title
    with lazy.popover(controls.plain_label(name), "compare differs") as is_open:
        if is_open:
            with st.container(key="compare_choices"):
                choices.differs_pick(context)
                choices.CHOICES[view.differs](context)
    names = (*PICTURES, PATCHING)
    st.segmented_control(
        "Picture",
        names,
        required=True,
        label_visibility="collapsed",
        **session.bind("compare picture", "large", names[_number(view) - 1], lambda name: names.index(name) + 1, _show),
    )


def _number(view: View) -> int:
    """Which of the pictures is shown, from 1; patching is the last."""
    return len(PICTURES) + 1 if view.compared == "patching" else lecture.picture(view, len(PICTURES))


def _show(number: int) -> None:
    """Another picture; called from callbacks."""
    patching = number > len(PICTURES)
    session.change(compared="patching" if patching else "maps", large=1 if patching else number)


def _next_picture() -> None:
    """Another picture, patching after those of both sides; called from callbacks."""
    _show(_number(session.current_view()) % (len(PICTURES) + 1) + 1)


def _next_kind(kinds: list[str]) -> None:
    """Another kind of attention, of those that can be compared; called from callbacks."""
    kind = session.current_view().kind
    session.change(kind=kinds[(kinds.index(kind) + 1) % len(kinds)] if kind in kinds else kinds[0])


def _turn(context: PageContext) -> None:
    """The next thing that may differ of which there is a second side; called from callbacks."""
    view, names = session.current_view(), list(DIFFERENCES)
    at = names.index(view.differs)
    for name in names[at + 1 :] + names[:at]:
        try:
            DIFFERENCES[name].other(view, context)
        except PairError:
            continue
        session.change(differs=name)
        return


def _picture(context: PageContext, found: Pair) -> None:
    view = context.view
    if view.compared == "patching":
        draw_patching(context, found)
        return
    number = _number(view)
    lecture.add_key(lecture.FURTHEST, "the head where both differ most", partial(side_by_side.furthest, found), quiet=True)
    kinds = [grid.kind for grid in distance.grids(found)]
    if len(kinds) > 1 and view.differs != "head":
        lecture.add_key(lecture.KIND, "the next kind of attention", partial(_next_kind, kinds), quiet=True)
    side_by_side.picture(context, found, list(PICTURES.values())[number - 1])
