"""What Translate shows first, and what its masks would do."""

from __future__ import annotations

from viz import cache, computations, theme
from viz.decoding_steps import steps
from viz.judge import label_view
from viz.state.view import without_edits


def ahead(page_data: cache.PageData, mode: theme.Mode) -> None:
    view, request = page_data.view, page_data.request
    if page_data.analysis.task.has_decoder:
        head = None if view.head is None else view.head - 1
        data = steps.timeline_data(request, view.device, view.layer - 1, head, mode)
        steps.candidate_rows(request, view.device, view.controls, data["trace"])
    elif page_data.analysis.task.is_classifier:
        label_view.ahead(page_data, mode)
    computations.target_padding(request, view.device)
    computations.mask_effects(without_edits(request), view.device)
