"""What if: what happens when I break it?"""

from __future__ import annotations

from viz.frame import show
from viz.kit import button_groups, controls, site_texts
from viz.kit.panel import Layout
from viz.page_context import PageContext
from viz.what_if import edit_controls, ready_answers, switchboard, what_if_texts
from viz.what_if.change_panel import CHANGE, MAPS
from viz.what_if.switchboard import BOARD, LEAKS


def _controls(context: PageContext) -> None:
    """Draws edits and questions, the verdict, the editor and both translations."""
    view, loaded = context.view, context.loaded
    groups, fault = [*edit_controls.edits(context)], ""
    try:
        groups.append(ready_answers.answer(view))
    except ValueError as reason:
        fault = str(reason)
    groups.append(switchboard.verdict(context))
    button_groups.draw("what_if.edits", groups)
    if fault:
        site_texts.fault(fault)
    edit_controls.draw_editor(context.analysis, loaded)
    controls.target_note(view)
    text = what_if_texts.notes_of_sentence(context) + what_if_texts.summary(context) + what_if_texts.notes(context)
    if text:
        site_texts.write(text)


LAYOUT = Layout(
    ((BOARD, CHANGE), (MAPS,), (LEAKS,)),
    _controls,
    lambda context: None,  # in the summary: an element that comes and goes would take the focus from those below
    edit_controls.draw,
    steps_of=lambda analysis: (analysis.baseline or analysis).trace,
)

if __name__ == "__main__":
    show.show("what-if")
