"""What Translate shows first, and what its masks would do."""

from __future__ import annotations

from viz import cache, experiments, theme
from viz.translate import judge, steps
from viz.view import unedited


def ahead(page_data: cache.PageData, mode: theme.Mode) -> None:
    view, request = page_data.view, page_data.request
    if page_data.analysis.task.writes:
        head = None if view.head is None else view.head - 1
        data = steps.timeline_data(request, view.device, view.layer - 1, head, mode)
        steps.candidate_rows(request, view.device, view.controls, data["trace"])
    elif page_data.analysis.task.judges:
        judge.ahead(page_data, mode)
    experiments.target_padding(request, view.device)
    experiments.mask_effects(unedited(request), view.device)
