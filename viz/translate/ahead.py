"""What Translate shows first, and what its masks would do."""

from __future__ import annotations

from viz import computations, theme
from viz.decoding_steps import steps
from viz.judge import label_view
from viz.page_context import PageContext
from viz.state.view import without_edits


def ahead(context: PageContext, mode: theme.Mode) -> None:
    view, request = context.view, context.request
    if context.analysis.task.has_decoder:
        head = view.head
        data = steps.timeline_data(request, view.device, view.layer, head, mode)
        steps.candidate_rows(request, view.device, view.controls, data["trace"])
    elif context.analysis.task.is_classifier:
        label_view.ahead(context, mode)
    computations.target_padding(request, view.device)
    computations.mask_effects(without_edits(request), view.device)
