"""Lecture mode: its keys, and what they bring about. What a page adds to them it says with `key`.

The keys that pages may take in a lecture, each with the one meaning that it has on every page.

What must be known of what is shown, in few lines: signs of doubt wait for the page itself.

Which of a page's large pictures is shown: its buttons in the bar, and the way to the next one.

A chart in lecture mode: drawn as on the page, and then enlarged as a whole, with what is pointed at. (Within what the
stylesheet zooms, Plotly would look for the pointer elsewhere than it is; a transform it knows.)"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz import pages
from viz.classroom import talk_navigation
from viz.classroom.talk import MAX_STOPS
from viz.kit import controls, mount, site_texts
from viz.kit.page_context import Shown
from viz.state import navigation, session
from viz.state.view import View

if TYPE_CHECKING:
    from viz.kit.page_context import Shown


@dataclass(frozen=True)
class Letter:
    """A key by the name that a browser gives it, and what it means wherever it is taken."""

    key: str
    means: str


PICTURE = Letter("v", "the next picture of the page")
INNER = Letter("y", "another picture within this one")
NEXT = Letter("n", "the next of what is walked through")
PREVIOUS = Letter("p", "the one before")
KIND = Letter("k", "the next kind, of attention or of positions")
CAUSAL = Letter("m", "the causal mask")
PADDING = Letter("M", "the padding mask")
PREDICT = Letter("g", "predict first")
MODE = Letter("d", "the given target, or decoding again")
CHOSEN_BY = Letter("c", "how tokens are chosen")
AGAIN = Letter("C", "draw the tokens again")
ROWS = Letter("r", "how the rows of tokens stand")
SENTENCE = Letter("s", "the next sentence of the text")
SHOWS = Letter("t", "weights or masks")
WORDS = Letter("w", "pieces of words, or whole words")
ORDER = Letter("o", "the order of the heads")
EXPERIMENT = Letter("e", "the next experiment")
EARLIER = Letter("E", "the experiment before")
ANSWER = Letter("a", "what the answer speaks of, or its counterpart")
REACH = Letter("z", "how far a click reaches")
DIFFERS = Letter("x", "what differs")
FURTHEST = Letter("h", "the head where both differ most")
PAIR = Letter("i", "the next pair of dimensions")
MORE = Letter("+", "shift by one more")
LESS = Letter("-", "shift by one less")
RIGHT = Letter("ArrowRight", "one further")
LEFT = Letter("ArrowLeft", "one back")
LET_GO = Letter("Backspace", "let go of what is looked for")

EVERY = tuple(value for value in list(globals().values()) if isinstance(value, Letter))
WALK = f"{NEXT.key}, {PREVIOUS.key}"  # as a page tells that a component takes both


CHANGED = "the last change"  # as it is called wherever it can be taken back
_COMPONENT = mount.Component(__file__, '<div class="lecture"></div>')
_FACTS, _FOUND = "lecture facts", "lecture keys found"  # session keys: what this run shows, and the keys it has found so far
_KEYS = (
    "lecture keys"  # session key: those of the last whole run, which the browser knows; its presses come in during the next
)
Key = tuple[str, str, Callable[[], None], bool]


def begin() -> None:
    """Forgets what another run has said."""
    session.keep(_FACTS, {})
    session.keep(_FOUND, [])


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
    return any(name == letter.key for name, *_ in session.kept(_FOUND) or [])


def picture(view: View, count: int) -> int:
    """Which of a page's large pictures is shown, from 1; the first where the link names one that there is not."""
    return view.large if view.large <= count else 1


def shown(shown: Shown, steps: int) -> None:
    """Says what there is to be chosen by key on the page of this run."""
    view, page, config = shown.view, pages.find(navigation.page()), shown.page_data.loaded.config
    facts: dict[str, Any] = {"step": view.step, "steps": steps if page.of_a_step else 0}
    if page.of_a_head:
        facts |= {"layers": shown.page_data.layers, "heads": config.heads, "layer": view.layer, "head": view.head}
    session.keep(_FACTS, facts)


def only(steps: Sequence[int], what: str) -> None:
    """Says which steps (from 1) the arrow keys go through, where the page has not each of them, and what they are called."""
    session.keep(_FACTS, session.kept(_FACTS) | {"only": list(steps), "what": what})


def mounted() -> None:
    """Mounts what takes the keys, on every page and once it is drawn: one of them begins a lecture."""
    view = session.current()
    session.keep(_KEYS, session.kept(_FOUND) or [])
    talk = talk_navigation.talk_of(view)
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
    data |= {"only": [], "what": "step", "layers": 0, "heads": 0, "layer": 1, "head": None, "of": navigation.page()}
    data["keys"] = [[name, does, quiet] for name, does, _, quiet in _own()]
    events: dict[str, mount.Event] = {
        "lecture": (mount.flag, lambda on: session.change(lecture=on)),
        "step": (mount.whole(1, 999), lambda step: session.change(step=step)),
        "choose": (_place, lambda layer, head: session.change(layer=layer, head=head, average=False)),
        "page": (mount.one_of((1, -1)), _turn),
        "go": (mount.whole(0, MAX_STOPS + 1), talk_navigation.reach),
        "undo": (mount.pressed, _undo),
        "key": (mount.one_of([name for name, *_ in _own()]), _call),
    }
    _COMPONENT.mount("lecture", data | (session.kept(_FACTS) or {}), events)


def _own() -> list[Key]:
    return session.kept(_KEYS) or []


def _add(made: Key) -> None:
    session.keep(_FOUND, [*(session.kept(_FOUND) or []), made])


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
    navigation.go_to(names[(names.index(navigation.page()) + by) % len(names)])


def _is_changed(view: View) -> bool:
    """Whether something was tried that can be taken back."""
    return bool(view.intervention or view.pad or view.branches)


def _undo() -> None:
    """Takes the last change back; where none is remembered, as after a link with edits, all edits and branches."""
    if session.next_step("undo"):
        session.step_back("undo")
    else:
        navigation.clear_edits()
        session.change(branches=())


def draw(shown: Shown) -> None:
    """Faults, what is to be known of the translation, and what is edited."""
    analysis, edits = shown.analysis, shown.analysis.request.intervention
    with shown.places.notes:
        site_texts.sentence_notes([note for note in analysis.notes if note not in analysis.cautions], shown.faults)
        if edits:
            told = edits.describe(analysis.labels)
            site_texts.note(f"Edited: {told}. Esc or u takes {CHANGED} back.")


def pick(names: Sequence[str], large: int) -> None:
    """The buttons; pictures count from 1."""
    st.segmented_control(
        "Picture",
        range(1, len(names) + 1),
        required=True,
        format_func=lambda n: names[n - 1],
        label_visibility="collapsed",
        **session.bind("large", "large", large),
    )


def turn(count: int) -> None:
    """To the next of so many pictures, after the last to the first; called from callbacks."""
    session.change(large=picture(session.current(), count) % count + 1)


WIDTH, HEIGHT = 1240, 666  # px at 720 lines: of the page below its bar
SCALES = {1.7: "17", 1.9: "19"}  # how many times as large a chart is drawn there, and how the stylesheet calls it


def place(scale: float) -> Any:
    """The place of charts that are enlarged so many times."""
    return st.container(key=f"hall_chart_{SCALES[scale]}")


def height(left: float, scale: float) -> int:
    """How high a chart is made to be, in its own pixels, where at 720 lines so many are left for it."""
    return round(left / scale)


def width(scale: float, beside: int = 1) -> int:
    """How wide it then is on a screen as wide as most are, `beside` one another."""
    return round(WIDTH / beside / scale)


def draw_chart(title: str, key: str, figure: Any, alt: str, **more: Any) -> None:
    """The chart; `more` goes to Streamlit."""
    st.plotly_chart(figure, theme=None, key=key, config=controls.picture(title) | {"displayModeBar": False}, alt=alt, **more)
