"""What Why shows first: the difference as a sum."""

from __future__ import annotations

from viz import cache, computations, theme
from viz.why import chosen_tokens


def ahead(page_data: cache.PageData, mode: theme.Mode) -> None:
    view = chosen_tokens.look(page_data.view.within(len(page_data.analysis.trace.step_axis)), page_data)
    computations.direct_logits(
        page_data.request, view.device, *chosen_tokens.asked(view, page_data), chosen_tokens.chosen(view, page_data)
    )
