"""What Why shows first: the difference as a sum."""

from __future__ import annotations

from viz import computations, theme
from viz.page_context import PageContext
from viz.why import chosen_tokens


def ahead(context: PageContext, mode: theme.Mode) -> None:
    view = chosen_tokens.look(context.view.within(len(context.analysis.trace.step_axis)), context)
    computations.direct_logits(
        context.request, view.device, *chosen_tokens.asked(view, context), chosen_tokens.chosen(view, context)
    )
