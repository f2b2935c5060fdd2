"""Compare: what is different, and where does it travel?"""

from __future__ import annotations

from functools import partial

import streamlit as st

from viz import cache
from viz.classroom import lecture
from viz.compare import choices
from viz.compare.families_panel import FAMILY_MASKS
from viz.compare.pair import DIFFERENCES, PairError
from viz.compare.patching_panel import PATCHES
from viz.compare.sides_panel import SIDES
from viz.frame import show
from viz.kit import button_groups, controls, differences, lazy
from viz.kit.panel import Layout, NotChosenError
from viz.page_context import PageContext
from viz.state import session
from viz.state.page_fields import COMPARED

PARTS = dict(zip(COMPARED, ("Side by side", "Patching"), strict=True))


def _controls(context: PageContext) -> None:
    """Draws the choice of what differs and of the part, and that of the second side."""
    view, task = context.view, context.analysis.task
    differs = differences.choice(view, "compare")
    if view.differs == "family":
        button_groups.draw("compare.choices", [differs])
        return
    parts = {name: text for name, text in PARTS.items() if name in (COMPARED[0], view.compared) or not task.is_classifier}
    groups = [differs, button_groups.choice("Part", "compared", parts, view.compared)]
    button_groups.draw("compare.choices", groups)
    choices.CHOICES[view.differs](context)
    controls.target_note(view)
    choices.way_out(context)


def _bar(context: PageContext) -> None:
    """Draws what differs, with all its choices in a popover, and adds the key of the next difference."""
    view = context.view
    title = differences.titles(cache.task(view.checkpoint, view.device))[view.differs]
    with lazy.popover(controls.plain_label(title), "compare differs") as is_open:
        if is_open:
            with st.container(key="compare_choices"):
                button_groups.draw("compare.differs", [differences.choice(view, "compare")])
                choices.CHOICES[view.differs](context)
                choices.way_out(context)
    lecture.add_key(lecture.DIFFERS, "another thing differs", partial(_next_difference, context), quiet=True)


def _next_difference(context: PageContext) -> None:
    """Shows the next difference that has a second side. For callbacks."""
    view, names = session.current_view(), list(DIFFERENCES)
    number = names.index(view.differs)
    for name in names[number + 1 :] + names[:number]:
        try:
            DIFFERENCES[name](view, context)
        except (PairError, NotChosenError):
            continue
        session.change(differs=name)
        return


LAYOUT = Layout(((SIDES,), (PATCHES,), (FAMILY_MASKS,)), _controls, bar=_bar)

if __name__ == "__main__":
    show.show("compare")
