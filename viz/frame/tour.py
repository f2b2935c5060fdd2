"""The tour: five stops on the first page, offered once to who is new, and begun by the button in the sidebar at any time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from viz import cache, pages
from viz.kit import mount
from viz.state import navigation, session


@dataclass(frozen=True)
class Stop:
    """A stop: what is pointed at, by the first of some selectors that finds something in sight, and what is said of it."""

    title: str
    text: str
    at: tuple[str, ...]


STOPS = (  # in their order, all on the first page
    Stop(
        "Your sentence",
        "Type a sentence and press Enter, or take one of the examples. You watch the model work on it.",
        (".st-key-input_row",),
    ),
    Stop(
        "One token at a time",
        "Play, or step with the arrow keys: one token at a time. The lines show what it looks at meanwhile.",
        (".st-key-timeline",),
    ),
    Stop(
        "Why this word?",
        "What else it might have said there, with the probability of each. Click one to put it there.",
        (".st-key-candidates",),
    ),
    Stop(
        "Inside the heads",
        "Every layer and every head has a map of who looks at whom: choose one here. The maps are below.",
        (".st-key-picks",),
    ),
    Stop(
        "Break it",
        "The other pages take it apart: switch heads and masks off, and see what becomes of what it says. Lessons tell "
        "you where to begin.",
        ('[data-testid="stSidebarNav"]', '[data-testid="stExpandSidebarButton"]'),
    ),
)
JUDGED = {  # in the place of these, where a text is judged
    1: Stop(
        "The text and its label",
        "Step through the text with the arrow keys. The colour is how much of each token the model takes in.",
        (".st-key-judged",),
    ),
    2: Stop(
        "Which words decide?",
        "Each word is hidden in turn, and the model runs again. Below stand other readings, and how far they agree.",
        (".st-key-word-table",),
    ),
}
_TOUR = mount.Component(__file__, '<div class="tour"></div>')
_INVITATION = mount.Component(__file__, '<div class="tour-invitation"></div>', name="tour_invitation")


def tour(on_lesson: Callable[[], None], key: str = "tour") -> None:
    """Mounts the button that begins the tour, on whatever page; it leads to the first one. `on_lesson` is called, before the
    next run, where the first lesson is chosen at its end."""
    first, here = pages.PAGES[0].name, navigation.page()
    view = session.current()
    own = JUDGED if cache.task(view.checkpoint, view.device).judges else {}
    data = {"stops": [asdict(own.get(n, stop)) for n, stop in enumerate(STOPS)], "here": here == first}
    go = (mount.pressed, lambda: None if here == first else navigation.go_to(first))
    _TOUR.mount(key, data, {"go": go, "lesson": (mount.pressed, on_lesson)})


def invitation(key: str = "tour_invitation") -> None:
    """Mounts the one line that offers the tour; who has seen it once is not asked again."""
    _INVITATION.mount(key, {})
