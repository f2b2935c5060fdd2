"""What if in lecture mode: the controls in the bar, and the keys, which all large pictures share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from viz import theme
from viz.classroom import lecture
from viz.kit import button_groups, site_texts
from viz.kit.button_groups import ButtonGroup
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.view import SCOPES, View
from viz.what_if import edit_controls, ready_answers

if TYPE_CHECKING:
    from model.experiments.ready_questions import Answer, Experiment

SWITCHES = 3  # the number of the picture whose clicks have a scope


def answer_of(context: PageContext) -> Answer | None:
    """Returns the measured answer to the question of the view; None without one."""
    try:
        return ready_answers.measure(context.view)
    except ValueError:
        return None


def verdict(context: PageContext, result: Any) -> str:
    """Returns the effect of the edits as markup."""
    return f'<div class="lab-hall-words">{site_texts.verdict_line(context.analysis)}</div>'


def draw(context: PageContext) -> None:
    """Draws the choice of the mode, and the button that shows the edits of an answer or its counterpart; adds the keys."""
    _add_keys(context)
    groups, answer = [], answer_of(context)
    if context.analysis.task.has_decoder:
        groups.append(edit_controls.mode_choice(context.view))
    if answer is not None:
        buttons = ready_answers.buttons_of_answer(context.view, answer)
        groups.append(ButtonGroup("Answer", buttons, is_label_hidden=True, follows=True))
    if groups:
        button_groups.draw("what_if.bar", groups)


def _add_keys(context: PageContext) -> None:
    from model.experiments.ready_questions import EXPERIMENTS  # imports torch

    view, loaded, kinds = context.view, context.loaded, context.analysis.trace.kinds
    language, answer = loaded.languages[0], answer_of(context)
    if ready := [each for each in EXPERIMENTS if set(each.needs) <= set(kinds)]:
        following, earlier = (partial(_try, ready, language, by) for by in (1, -1))
        lecture.add_key(lecture.EXPERIMENT, "the next ready experiment", following, quiet=True)
        lecture.add_key(lecture.EARLIER, "the one before it", earlier, quiet=True)
    for button in (ready_answers.buttons_of_answer(view, answer) if answer else {}).values():
        lecture.add_key(lecture.ANSWER, button.title, button.press, quiet=True)
    if "decoder" in kinds:
        if loaded.config.causal or not view.intervention.causal_mask:  # else there is none to switch
            switch = partial(navigation.toggle_mask, "causal_mask")
            lecture.add_key(lecture.CAUSAL, "the causal mask on and off", switch, quiet=True)
        other = partial(session.change, mode="again" if view.mode == "given" else "given")
        lecture.add_key(lecture.MODE, "given target, or decode again", other, quiet=True)
    switch = partial(navigation.toggle_mask, "padding_mask")
    lecture.add_key(lecture.PADDING, "the padding mask on and off", switch, quiet=True)
    if view.large == SWITCHES:
        lecture.add_key(lecture.REACH, "scope of a click: all layers, one layer, one head", _next_scope, quiet=True)
    if len(kinds) > 1:
        names = ", ".join(theme.SITE_NAMES[kind].lower() for kind in kinds)
        lecture.add_key(lecture.KIND, f"the attention: {names}", partial(_next_kind, kinds), quiet=True)


def help_text() -> str:
    """Returns the first steps, by the keys that every run has."""
    return (
        f"{lecture.EXPERIMENT.key} tries the next ready experiment, {lecture.CAUSAL.key} and {lecture.PADDING.key} switch "
        f"the masks, {lecture.PICTURE.key} shows the maps and the switches."
    )


def _next_kind(kinds: Sequence[str]) -> None:
    """Shows the next kind of attention. For callbacks."""
    session.change(kind=kinds[(kinds.index(session.current_view().kind) + 1) % len(kinds)])


def _next_scope() -> None:
    """Chooses the next scope of a click. For callbacks."""
    view = session.current_view()
    names = [name for name in SCOPES if name != "head" or view.head is not None]
    session.change(scope=names[(names.index(edit_controls.scope_of(view)) + 1) % len(names)])


def _try(ready: list[Experiment], language: str, by: int) -> None:
    """Asks the next or previous question about its own sentence, and makes its edits. For callbacks."""
    view: View = session.current_view()
    names = [each.name for each in ready]
    number = names.index(view.experiment) + by if view.experiment in names else min(by, 0)
    known = ready[number % len(ready)]
    ready_answers.run(known, view, known.sentence_in(language))
