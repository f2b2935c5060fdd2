"""Compare in lecture mode: what differs in the bar, and one large picture of the two sides, or of patching."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from viz import state
from viz.compare import choices, distance, large_patching, maps_part
from viz.compare.pair import DIFFERENCES, NotChosenError, Pair, PairError, pair
from viz.shared import controls, texts, wanted
from viz.shared.lecture import lecture, letters, notes
from viz.shared.shown import LecturePlaces, Shown

if TYPE_CHECKING:
    from viz import cache
    from viz.view import View

PICTURES = {
    "Maps": "maps",
    "Difference": "difference",
    "Heads": "heads",
}  # of both sides, in the order of the view's `large`
PATCHING = "Patching"


def draw(shown: Shown) -> None:
    """Both sides as one large picture, or one sentence that says why there is no second side."""
    places, view = shown.places, shown.view
    assert isinstance(places, LecturePlaces)
    notes.draw(shown)
    with places.notes:
        controls.given_target(view)
    found: Pair | None = None
    with places.body:
        try:
            found = pair(view, shown.page_data)
        except NotChosenError as missing:
            texts.note(str(missing))
            choices.way_out(shown)
        except ValueError as fault:
            texts.fault(str(fault))
    with places.bar:
        _controls(shown, found)
    lecture.key(letters.DIFFERS, "another thing differs", partial(_turn, shown.page_data), quiet=True)
    lecture.key(letters.PICTURE, ", ".join((*PICTURES, PATCHING)).lower(), _next_picture, quiet=True)
    if found is None:
        return
    with places.body:
        _picture(shown, found)


def _controls(shown: Shown, found: Pair | None) -> None:
    """What differs, with all that is chosen of it behind its name; and which picture."""
    view = shown.view
    name = f"{found.first.name} → {found.second.name}" if found else DIFFERENCES[view.differs].title
    with wanted.popover(controls.plain_label(name), "compare differs") as is_open:
        if is_open:
            with st.container(key="compare_choices"):
                choices.differs_pick(shown)
                choices.CHOICES[view.differs](shown)
    names = (*PICTURES, PATCHING)
    st.segmented_control(
        "Picture",
        names,
        required=True,
        label_visibility="collapsed",
        **state.bind("compare picture", "large", names[_number(view) - 1], lambda name: names.index(name) + 1, _show),
    )


def _number(view: View) -> int:
    """Which of the pictures is shown, from 1; patching is the last."""
    return len(PICTURES) + 1 if view.compared == "patching" else lecture.picture(view, len(PICTURES))


def _show(number: int) -> None:
    """Another picture; called from callbacks."""
    patching = number > len(PICTURES)
    state.change(compared="patching" if patching else "maps", large=1 if patching else number)


def _next_picture() -> None:
    """Another picture, patching after those of both sides; called from callbacks."""
    _show(_number(state.current()) % (len(PICTURES) + 1) + 1)


def _next_kind(kinds: list[str]) -> None:
    """Another kind of attention, of those that can be compared; called from callbacks."""
    kind = state.current().kind
    state.change(kind=kinds[(kinds.index(kind) + 1) % len(kinds)] if kind in kinds else kinds[0])


def _turn(page_data: cache.PageData) -> None:
    """The next thing that may differ of which there is a second side; called from callbacks."""
    view, names = state.current(), list(DIFFERENCES)
    at = names.index(view.differs)
    for name in names[at + 1 :] + names[:at]:
        try:
            DIFFERENCES[name].other(view, page_data)
        except PairError:
            continue
        state.change(differs=name)
        return


def _picture(shown: Shown, found: Pair) -> None:
    view = shown.view
    if view.compared == "patching":
        large_patching.draw_patching(shown, found)
        return
    number = _number(view)
    lecture.key(letters.FURTHEST, "the head where both differ most", partial(maps_part.furthest, found), quiet=True)
    kinds = [grid.kind for grid in distance.grids(found)]
    if len(kinds) > 1 and view.differs != "head":
        lecture.key(letters.KIND, "the next kind of attention", partial(_next_kind, kinds), quiet=True)
    maps_part.picture(shown, found, list(PICTURES.values())[number - 1])
