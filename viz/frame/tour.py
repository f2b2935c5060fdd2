"""The tour: five stops on the first page, offered once to new visitors and started by a button in the sidebar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from viz import cache, pages
from viz.kit import mount
from viz.state import navigation, session


@dataclass(frozen=True)
class TourStop:
    """A stop of the tour. It points at the first visible element of `at`, a list of CSS selectors."""

    title: str
    text: str
    selectors: tuple[str, ...]


STOPS = (  # in their order, all on the first page
    TourStop("Your sentence", "Type a sentence and press Enter, or choose an example.", (".st-key-input_row",)),
    TourStop(
        "One token at a time",
        "Press Play, or step with the arrow keys. The lines show the tokens that each step looks at.",
        (".st-key-translate-steps", ".st-key-fill-places"),
    ),
    TourStop(
        "Why this word?",
        "These are the top next tokens with their probabilities. Click one to force it.",
        (".st-key-translate-candidates", ".st-key-fill-candidates"),
    ),
    TourStop(
        "Inside the heads",
        "Each thumbnail is a head. Click one: in its large map, each row is one token looking at the others.",
        (".st-key-translate-heads", ".st-key-picks"),
    ),
    TourStop(
        "Break it",
        "On the other pages you switch heads and masks off and see what changes. Lessons show where to begin.",
        ('[data-testid="stSidebarNav"]', '[data-testid="stExpandSidebarButton"]'),
    ),
)
JUDGED = {  # replacements for a classifier
    1: TourStop(
        "The text and its label",
        "Step through the text with the arrow keys. The colour shows the attention to each token.",
        (".st-key-judge-text",),
    ),
    2: TourStop(
        "Which words decide?",
        "The model runs again with each word hidden. Below, other readings are compared with the result.",
        (".st-key-judge-words",),
    ),
}
INVITATION = '<span class="lab-invitation"></span>'  # place of the line that offers the tour once; `tour.js` fills it


def describe(on_lesson: Callable[[], None]) -> tuple[dict[str, Any], dict[str, mount.Event]]:
    """Returns data and events of the button that starts the tour; `on_lesson` is the callback of the last stop."""
    first, here = pages.PAGES[0].name, navigation.current_page()
    view = session.current_view()
    own = JUDGED if cache.task(view.checkpoint, view.device).is_classifier else {}
    stops = [own.get(n, stop) for n, stop in enumerate(STOPS)]
    data = {
        "tourStops": [{"title": each.title, "text": each.text, "at": each.selectors} for each in stops],
        "onFirstPage": here == first,
    }
    go = (mount.pressed, lambda: None if here == first else navigation.go_to(first))
    return data, {"tour": go, "lesson": (mount.pressed, on_lesson)}
