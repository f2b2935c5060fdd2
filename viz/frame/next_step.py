"""The next step of each page: one button that does it, until the visitor dismisses it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from viz import cache
from viz.kit import mount
from viz.state import navigation, session

if TYPE_CHECKING:
    from model.task import Task


class NextStep(NamedTuple):
    """The text of the button behind "Next: ", and what it does."""

    text: str
    take: Callable[[], None]


def _without_causal_mask() -> None:
    now = session.current_view().intervention
    session.change(show="mask", intervention=dataclasses.replace(now, causal_mask=False))


def _go(page: str, **changes: Any) -> None:
    session.change(**changes)
    navigation.go_to(page)


def _without_positions(side: str) -> None:
    code, now = f"{side}-positions_off", session.current_view().intervention
    if all(each != code for each, _ in now.codes_and_texts()):
        navigation.toggle_edit(code)
    navigation.go_to("what-if")


STEPS = {
    "heads": NextStep("see how one weight is made", partial(_go, "inside", part="stages")),
    "inside": NextStep("see how the {} order gets in", partial(_go, "positions")),
    "what-if": NextStep("ask why the model chose this", partial(_go, "why")),
    "why": NextStep("change a {} and compare", partial(_go, "compare")),
    "compare": NextStep("see how the model learned this", partial(_go, "training")),
    "training": NextStep("take a lesson", partial(_go, "lessons")),
    "lessons": NextStep("try your own {1}", partial(_go, "translate")),
    "variants": NextStep("compare two checkpoints on your {1}", partial(_go, "compare", differs="checkpoint")),
}


def next_step(page: str, task: Task, has_causal_mask: bool = True) -> NextStep | None:
    """Returns the next step of a page, or None."""
    if page == "translate":
        if task.has_decoder and has_causal_mask:
            return NextStep("switch the causal mask off", _without_causal_mask)
        return NextStep("see every head", partial(_go, "heads"))
    if page == "positions":
        side = "source" if task.has_encoder else "target"
        return NextStep("switch the positions off", partial(_without_positions, side))
    step = STEPS.get(page)
    return step if step is None else step._replace(text=step.text.format(task.token_noun, task.input_noun))


def describe() -> tuple[dict[str, Any], dict[str, mount.Event]]:
    """Returns data and event of the button. In lecture mode there is none."""
    view, page = session.current_view(), navigation.current_page()
    step = next_step(page, cache.task(view.checkpoint, view.device), view.intervention.causal_mask)
    if step is None or view.lecture:
        return {"nextPage": page, "nextStep": ""}, {}
    return {"nextPage": page, "nextStep": step.text}, {"next": (mount.pressed, step.take)}
