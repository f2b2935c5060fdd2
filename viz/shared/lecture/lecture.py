"""Lecture mode: its keys, and what they bring about. What a page adds to them it says with `key`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from viz import editing, pages, state, visit
from viz.shared import mount
from viz.shared.lecture.letters import NEXT, PREVIOUS, Letter
from viz.shared.talks import going
from viz.talks.talk import MAX_STOPS
from viz.view import View

if TYPE_CHECKING:
    from viz.shared.shown import Shown

CHANGED = "the last change"  # as it is called wherever it can be taken back
_COMPONENT = mount.Component(__file__, '<div class="lecture"></div>')
_FACTS, _FOUND = "lecture facts", "lecture keys found"  # session keys: what this run shows, and the keys it has found so far
_KEYS = (
    "lecture keys"  # session key: those of the last whole run, which the browser knows; its presses come in during the next
)
Key = tuple[str, str, Callable[[], None], bool]


def begin() -> None:
    """Forgets what another run has said."""
    state.keep(_FACTS, {})
    state.keep(_FOUND, [])


def key(letter: Letter, does: str, call: Callable[[], None], quiet: bool = False) -> None:
    """A key of this page in lecture mode, and what it does here, as the list of keys tells it; `call` is a callback of the
    session. `quiet`: what it does is seen, so that it is not said as well."""
    _add((letter.key, does, call, quiet))


def walk(after: str, before: str, call: Callable[[int], None]) -> None:
    """The two keys that walk through something: `call` gets 1 or -1."""
    key(NEXT, after, lambda: call(1), quiet=True)
    key(PREVIOUS, before, lambda: call(-1), quiet=True)


def tells(keys: str, does: str) -> None:
    """Keys that a component of this page takes by itself, for the list of keys; they stand there in place of what these
    mean elsewhere."""
    _add((keys, does, lambda: None, True))


def has(letter: Letter) -> bool:
    """Whether this run has a key so far."""
    return any(name == letter.key for name, *_ in state.kept(_FOUND) or [])


def picture(view: View, count: int) -> int:
    """Which of a page's large pictures is shown, from 1; the first where the link names one that there is not."""
    return view.large if view.large <= count else 1


def shown(shown: Shown, steps: int) -> None:
    """Says what there is to be chosen by key on the page of this run."""
    view, page, config = shown.view, pages.find(visit.page()), shown.page_data.loaded.config
    facts: dict[str, Any] = {"step": view.step, "steps": steps if page.of_a_step else 0}
    if page.of_a_head:
        facts |= {"layers": shown.page_data.layers, "heads": config.heads, "layer": view.layer, "head": view.head}
    state.keep(_FACTS, facts)


def only(steps: Sequence[int], what: str) -> None:
    """Says which steps (from 1) the arrow keys go through, where the page has not each of them, and what they are called."""
    state.keep(_FACTS, state.kept(_FACTS) | {"only": list(steps), "what": what})


def mounted() -> None:
    """Mounts what takes the keys, on every page and once it is drawn: one of them begins a lecture."""
    view = state.current()
    state.keep(_KEYS, state.kept(_FOUND) or [])
    talk = going.talk_of(view)
    stops = len(talk.stops) if talk else 0
    data = {
        "on": view.lecture,
        "talk": bool(view.talk),
        "stop": min(view.stop, stops),
        "stops": stops,
        "undo": _is_changed(view),
        "step": 1,
        "steps": 0,
    }
    data |= {"only": [], "what": "step", "layers": 0, "heads": 0, "layer": 1, "head": None, "of": visit.page()}
    data["keys"] = [[name, does, quiet] for name, does, _, quiet in _own()]
    events: dict[str, mount.Event] = {
        "lecture": (mount.flag, lambda on: state.change(lecture=on)),
        "step": (mount.whole(1, 999), lambda step: state.change(step=step)),
        "choose": (_place, lambda layer, head: state.change(layer=layer, head=head, average=False)),
        "page": (mount.one_of((1, -1)), _turn),
        "go": (mount.whole(0, MAX_STOPS + 1), going.reach),
        "undo": (mount.pressed, _undo),
        "key": (mount.one_of([name for name, *_ in _own()]), _call),
    }
    _COMPONENT.mount("lecture", data | (state.kept(_FACTS) or {}), events)


def _own() -> list[Key]:
    return state.kept(_KEYS) or []


def _add(made: Key) -> None:
    state.keep(_FOUND, [*(state.kept(_FOUND) or []), made])


def _call(name: str) -> None:
    """What a key of the page does that the browser shows; nothing for one that it has no more."""
    if call := next((call for own, _, call, _ in _own() if own == name), None):
        call()


def _place(told: Any) -> tuple[int, int | None] | None:
    """A layer, and a head or the mean over them."""
    layer, head = mount.whole(1, 999)(told["layer"]), told["head"]
    is_mean = head is None or (head == 0 and not isinstance(head, bool))
    number = None if is_mean else mount.whole(1, 999)(head)
    fits = layer is not None and (number is not None or is_mean)
    return (layer[0], None if number is None else number[0]) if fits else None


def _turn(by: int) -> None:
    """To the page beside this one, in the order of the navigation."""
    names = [page.name for page in pages.PAGES]
    visit.go_to(names[(names.index(visit.page()) + by) % len(names)])


def _is_changed(view: View) -> bool:
    """Whether something was tried that can be taken back."""
    return bool(view.intervention or view.pad or view.branches)


def _undo() -> None:
    """Takes the last change back; where none is remembered, as after a link with edits, all edits and branches."""
    if state.next_step("undo"):
        state.step_back("undo")
    else:
        editing.clear_edits()
        state.change(branches=())
