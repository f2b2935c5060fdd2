"""What callbacks do to the edits of the view, each as one step that can be undone."""

from __future__ import annotations

from typing import Any

from model.edits.intervention import BASELINE
from model.edits.kinds import EditError
from model.edits.kinds import parse as parse_edit
from model.edits.switches import switch_of
from model.inference.request import Request
from viz import state
from viz.view import View, with_intervention


def toggle_edit(code: str) -> None:
    """Takes an edit away where it is there, and makes it where it is not; called from callbacks.

    An edit that cannot be made is told at the next run, and changes nothing.
    """
    now = state.current().intervention
    has = any(code == each for each, _ in now.parts())
    try:
        if not has and (larger := now.covering(code)):
            state.tell(f"A larger edit ({larger}) has switched this off already: take that back first.")
            return
        after = now.without(code) if has else now.with_edit(code)
        state.change(**with_intervention(after), **({} if has else _where(code)))
    except EditError as fault:
        state.tell(str(fault))


def _where(code: str) -> dict[str, Any]:
    """The fields of the view at which a new edit has its place: what is shown follows what is edited."""
    place = None if switch_of(code) else getattr(parse_edit(code), "place", None)
    if place is None:
        return {}
    found: dict[str, Any] = {"kind": place.kind}
    if place.layer is not None:
        found["layer"] = place.layer + 1
        if place.head is not None:
            found["head"] = place.head + 1
    return found


def clear_edits() -> None:
    """Takes all edits away, padding with them, as one step that can be undone; called from callbacks."""
    state.change(**with_intervention(BASELINE), pad=0)


def show_request(request: Request, experiment: str, whose: View | None = None, typed: str = "") -> None:
    """Makes the view that of a ready experiment; called from callbacks. `whose`: the view whose text it was asked of, where
    it was not asked of a sentence alone; `typed`: a visitor's own text, which the link keeps while another is shown."""
    text = {"source": request.source}
    if whose is not None and request.source in whose.sentences:
        text = {name: getattr(whose, name) for name in ("source", "sentence", "split")}
    state.change(
        **with_intervention(request.intervention),
        **text,
        second=request.second,
        checkpoint=request.checkpoint,
        target=request.target,
        pad=request.pad,
        mode=request.mode,
        step=1,
        experiment=experiment,
        own_text=typed if typed != text["source"] else "",
    )
