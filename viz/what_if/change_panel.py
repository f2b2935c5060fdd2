"""The panel of the effect: the verdict, both translations, and the probability of each token before and after."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from model.export.csv_tables import Table
from viz.kit import mount, site_texts
from viz.kit.panel import FileOptions, Panel, Picture
from viz.page_context import PageContext
from viz.save.number_tables import change_table
from viz.state import session
from viz.what_if import change_list, lecture_controls, ready_answers, what_if_texts

if TYPE_CHECKING:
    from model.export.code import Code
    from viz.kit.mount import Event


def _payload(context: PageContext, result: None) -> dict[str, Any]:
    return change_list.change_data(context.analysis, context.loaded.output_vocabulary)


def _follow(context: PageContext, result: None) -> dict[str, Any]:
    """Returns the chosen step, or the label that a classifier gives the text without edits."""
    base, is_classifier = context.analysis.baseline or context.analysis, context.analysis.task.is_classifier
    chosen = base.trace.predicted_axis.ids[0] if is_classifier else context.view.step
    return {"step": chosen + 1}


def _events(context: PageContext, result: None) -> dict[str, Event]:
    base = context.analysis.baseline or context.analysis
    steps = 0 if base.task.is_classifier else len(base.trace.predicted_axis)
    return {"step": (mount.from_one(steps), lambda step: session.change(step=step))}


def _tables(context: PageContext, result: None) -> tuple[Table, ...]:
    return () if context.analysis.trace.outputs is None else (change_table(context.analysis),)


def _code(code: Code, context: PageContext, result: None) -> None:
    analysis = context.analysis
    code.add(f"baseline = analysis{'.baseline' if analysis.baseline is not None else ''}")
    if analysis.trace.outputs is not None:
        code.add("before = baseline.trace.probabilities")
        code.add("after = np.exp(analysis.baseline_token_log_probs)", "up to where the translations part", numpy=("np",))
    code.add("print(baseline.translation, analysis.translation, sep='\\n')")


def _large_text(context: PageContext, result: None) -> str:
    """Returns the question, the verdict, both translations and the measured answer."""
    view, answer = context.view, lecture_controls.answer_of(context)
    text = what_if_texts.summary(context)
    if answer is not None and (known := ready_answers.find(view)):
        text = f'<h2 class="lab-hall-question">{html.escape(known.question)}</h2>{text}'
        text += f'<p class="lab-hall-answer" role="status">{html.escape(answer.text)}</p>'
    elif context.analysis.baseline is None:
        text += f'<p class="lab-hall-answer">{lecture_controls.help_text()}</p>'
    return f'<div class="lab-hall-words">{text}</div>'


CHANGE = Panel(
    "what_if.change",
    "Probability of each token before and after",
    change_list.COMPONENT,
    _payload,
    _events,
    tables=_tables,
    code=_code,
    pictures=(Picture("Words", data=lambda context, result: {"large": True}, text=_large_text, number=1),),
    reads=(),
    follow=_follow,
    file=FileOptions(
        text=lambda context, result: site_texts.verdict_line(context.analysis), remote_fields=lambda context: {"step": ()}
    ),
)
