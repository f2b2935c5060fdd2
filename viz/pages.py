"""The pages of the lab, each declared once: its name, its title, and the question that it answers."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from model.task import TRANSLATES, Task

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Page:
    """A page. Its name is the last part of its address; its folder is called the same, and holds its `page.py`."""

    name: str
    title: str
    question: str
    of_a_kind: bool = False  # what it shows belongs to one kind of attention
    of_a_head: bool = True  # to one layer and head
    of_a_step: bool = True
    of_a_sentence: bool = True  # of the visitor's; else the page has things of its own to show
    of_a_choice: bool = False  # it asks of a token that was chosen over another: of a text that is judged, of its label

    @property
    def file(self) -> str:
        """The file that draws the page, as it is found from the folder of app.py."""
        return f"viz/{self.name.replace('-', '_')}/page.py"


PAGES = (  # in the order of the navigation; a visitor arrives at the first
    Page("translate", TRANSLATES.title, TRANSLATES.question),
    Page("heads", "Heads", "What does every head do on this sentence?", of_a_kind=True),
    Page("inside", "Inside", "How is one number made?", of_a_kind=True),
    Page("positions", "Positions", "How does it know the order?", of_a_head=False, of_a_step=False),
    Page("what-if", "What if", "What happens when I break it?", of_a_kind=True),
    Page("why", "Why", "Why this word, and not that one?", of_a_head=False, of_a_choice=True),
    Page("compare", "Compare", "What is different, and where does it travel?", of_a_kind=True),
    Page("training", "Training", "How did it learn this?", of_a_kind=True, of_a_step=False, of_a_sentence=False),
    Page("variants", "Variants", "What does each part buy?", of_a_head=False, of_a_step=False),
    Page("lessons", "Lessons", "Where do I begin?", of_a_head=False, of_a_step=False),
)


def place(page: Page) -> str:
    """Where a page stands in the lab: the first at its root."""
    return "" if page.name == PAGES[0].name else page.name


def of(task: Task) -> tuple[Page, ...]:
    """The pages as they are called for a task: the first after what the checkpoint does."""
    first = dataclasses.replace(PAGES[0], title=task.title, question=task.question)
    if not task.judges:
        return (first, *PAGES[1:])
    why = "Why this label, and not that one?"
    return (first, *(dataclasses.replace(page, question=why) if page.of_a_choice else page for page in PAGES[1:]))


def find(name: str) -> Page:
    """The page of a name; ValueError where there is none."""
    for page in PAGES:
        if page.name == name:
            return page
    raise ValueError(f"There is no page {name!r}; expected one of {', '.join(page.name for page in PAGES)}.")


def unknown_address(name: str) -> str:
    """One sentence for a visitor who came to an address at which no page stands."""
    titles = ", ".join(page.title for page in PAGES[:-1])
    return f"There is no page at /{name}; {PAGES[0].title} is shown. The pages are {titles} and {PAGES[-1].title}."
