"""The numbers that several pages offer: files of the whole analysis, what the edits changed, the lines of checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from model.export.tables import Table
from viz import cache

if TYPE_CHECKING:
    from model.inference.analysis import Analysis
    from viz.shared.frame import Shown


def analysis_file(shown: Shown, end: str) -> bytes:
    """The whole analysis as a file that ends in `.npz` or `.json`; ValueError where it is too large for it."""
    from model.export import files

    return files.FORMATS[end](cache.exported(shown.analysis.request, shown.view.device))


def change_table(analysis: Analysis) -> Table:
    """The probability of each of the baseline's tokens before the edits and after them; blank from where the translations
    part. Without edits both are the same."""
    base = analysis.baseline or analysis
    after = np.exp(analysis.baseline_token_log_probs)
    rows = [
        (step + 1, label, before, after[step] if step < len(after) else None)
        for step, (label, before) in enumerate(zip(base.trace.predicted.labels, base.trace.probabilities, strict=True))
    ]
    return Table("change", ("step", "token", "before", "after"), tuple(rows))
