"""The pages of the lab: name, title, question and group of each."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from model.io.package_names import module_name
from model.task import TRANSLATION, Task

_HERE = Path(__file__).resolve().parent
ROOT = _HERE if (_HERE / "app.py").is_file() else _HERE.parent
"""The folder of app.py and of the configuration of Streamlit: viz/ where installed, the folder above in the repository."""


@dataclass(frozen=True)
class Page:
    """A page. Its name is the last part of its address and names its folder, which holds `page.py`.

    `group` is its part of the navigation, which `viz/lab.css` names; a page without one is reached from another page.
    """

    name: str
    title: str
    question: str
    group: str = ""
    has_kind: bool = False  # shows one kind of attention
    has_head: bool = True  # shows one layer and head
    has_step: bool = True  # shows one step
    has_sentence: bool = True  # shows the visitor's sentence
    has_choice: bool = False  # asks about the choice of a token or label

    @property
    def file(self) -> str:
        """Returns the path of the page's file from `ROOT`."""
        return (_HERE / self._folder / "page.py").relative_to(ROOT).as_posix()

    @property
    def module(self) -> str:
        """Returns the name of the page's module."""
        return module_name(f"viz.{self._folder}.page")

    @property
    def _folder(self) -> str:
        return self.name.replace("-", "_")


PAGES = (  # in the order of the navigation
    Page("translate", TRANSLATION.title, TRANSLATION.question, "Look"),
    Page("heads", "Heads", "What does every head do here?", "Look", has_kind=True),
    Page("inside", "Inside", "How is one number made?", "Look", has_kind=True),
    Page("positions", "Positions", "How does it know the order?", "Look", has_head=False, has_step=False),
    Page("what-if", "What if", "What happens when I break it?", "Test", has_kind=True),
    Page("why", "Why", "Why this word, and not that one?", "Test", has_head=False, has_choice=True),
    Page("compare", "Compare", "What is different, and where?", "Test", has_kind=True),
    Page("lessons", "Lessons", "Where do I begin?", "Learn", has_head=False, has_step=False),
    Page("training", "Training", "How did it learn this?", "Learn", has_kind=True, has_step=False, has_sentence=False),
    Page("variants", "Variants", "What does each part buy?", has_head=False, has_step=False),
)


def address_of(page: Page) -> str:
    """Returns the path of a page's address; empty for the first page."""
    return "" if page.name == PAGES[0].name else page.name


def for_task(task: Task) -> tuple[Page, ...]:
    """Returns the pages with the titles and questions of a task."""
    first = dataclasses.replace(PAGES[0], title=task.title, question=task.question)
    if task is TRANSLATION:
        return (first, *PAGES[1:])
    why = f"Why this {'label' if task.is_classifier else task.token_noun}, and not that one?"
    return (first, *(dataclasses.replace(page, question=why) if page.has_choice else page for page in PAGES[1:]))


def find(name: str) -> Page:
    """Returns the page of a name. Raises ValueError for an unknown name."""
    for page in PAGES:
        if page.name == name:
            return page
    raise ValueError(f"There is no page {name!r}; expected one of {', '.join(page.name for page in PAGES)}.")


def unknown_address(name: str) -> str:
    """Returns the message for an unknown address."""
    titles = ", ".join(page.title for page in PAGES[:-1])
    return f"There is no page at /{name}. {PAGES[0].title} is shown. The pages are {titles} and {PAGES[-1].title}."
