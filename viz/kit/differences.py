"""The choice "What differs" of the pages Compare and Variants, which look like one page."""

from __future__ import annotations

from functools import partial

from model.task import Task
from viz import cache
from viz.kit.button_groups import Button, ButtonGroup
from viz.state import navigation, session
from viz.state.page_fields import DIFFERS
from viz.state.view import View

NAMES = ("A {0}", "{1}", "Checkpoint", "Edits", "Head", "Hypothesis", "Step", "Family")


def titles(task: Task) -> dict[str, str]:
    """Returns the name of each difference for the models of a task."""
    nouns = task.part_noun, task.input_noun.capitalize()
    return {name: title.format(*nouns) for name, title in zip(DIFFERS, NAMES, strict=True)}


def _lacking(task: Task) -> tuple[str, ...]:
    """Returns what a model has only one of: a classifier has one step, and a model without a decoder one hypothesis."""
    if task.is_classifier:
        return ("hypothesis", "step")
    return () if task.has_decoder else ("hypothesis",)


def offered(view: View) -> list[str]:
    """Returns what may differ, and what a link asks for."""
    lacks = _lacking(cache.task(view.checkpoint, view.device))
    return [name for name in DIFFERS if name not in lacks or name == view.differs]


def choice(view: View, page: str) -> ButtonGroup:
    """Returns the choice of what differs on one of the two pages. The design of the model has the page Variants."""
    names = titles(cache.task(view.checkpoint, view.device))
    buttons = {
        f"differs {name}": Button(names[name], partial(_show, name), is_on=page == "compare" and name == view.differs)
        for name in offered(view)
    }
    design = Button("Design", partial(navigation.go_to, "variants"), is_on=page == "variants")
    return ButtonGroup("What differs", {**buttons, "differs design": design}, "list")


def _show(name: str) -> None:
    """Shows a difference, on the page Compare. For callbacks."""
    session.change(differs=name)
    if navigation.current_page() != "compare":
        navigation.go_to("compare")
