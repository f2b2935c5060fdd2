"""The list of probabilities before and after the edits, with what changes at each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from model.inference.predictions import kl_divergence, largest_shifts, top_token_changes
from viz.kit import mount

if TYPE_CHECKING:
    from model.inference.analysis import Analysis
    from model.text.sentences import ClassLabels
    from model.text.tokenizer import Tokenizer

MIN_SHIFT = 0.0005  # probability
COMPONENT = mount.Component(__file__, '<div class="change"></div>', term_names=("KL", "nats"))


def change_data(analysis: Analysis, tokenizer: Tokenizer | ClassLabels) -> dict[str, Any]:
    """Returns the probabilities before and after the edits. A classifier has labels in place of tokens."""
    change, base = analysis.probability_change, analysis.baseline or analysis
    task, before, after = (
        analysis.task,
        *(np.round(each.astype(float), 5).tolist() for each in (change.before, change.after)),
    )
    place = "label" if task.is_classifier else "step" if task.has_decoder else "place"
    whose = "the baseline’s token" if task.has_decoder else "the token at each place"
    if base.trace.blank_positions:
        whose += ", in a blank the one filled in"
    return {
        "labels": list(change.labels),
        "before": before,
        "after": after,
        "edited": analysis.baseline is not None,
        "title": f"Probability of {'each label' if task.is_classifier else whose}",
        "place": place,
        "parted": f"The two {task.output_noun}s differ before this {place}, so nothing is compared.",
        "moves": [_moves(analysis, step, tokenizer) for step in range(len(base.trace.log_probs))],
        "most": _largest_step(analysis),
        "large": False,
    }


def _moves(analysis: Analysis, step: int, tokenizer: Tokenizer | ClassLabels) -> dict[str, Any]:
    """Returns what changes at a step: KL(baseline || edited), and the tokens that gain and lose the most."""
    base = analysis.baseline
    trace = (base or analysis).trace
    label = trace.predicted_axis.labels[step]
    title = label if trace.inputs is None else f"{trace.inputs.labels[step]} → {label}"
    if base is None or step >= analysis.comparable_steps:
        return {"title": title, "kl": None, "columns": [], "notes": []}
    before, after = base.trace.log_probs[step], analysis.trace.log_probs[step]
    columns = [
        [
            name,
            hue,
            [
                [tokenizer.piece(each.id), round(each.before, 5), round(each.after, 5)]
                for each in rows
                if abs(each.after - each.before) >= MIN_SHIFT
            ],
        ]
        for name, hue, rows in zip(("Gains", "Losses"), ("gain", "loss"), largest_shifts(before, after), strict=True)
    ]
    changes = top_token_changes(before[None], after[None])
    return {
        "title": title,
        "kl": round(float(kl_divergence(before[None], after[None])[0]), 5),
        "columns": columns,
        "notes": [f"The top token is another one: {each.describe(tokenizer.piece)}." for each in changes],
    }


def _largest_step(analysis: Analysis) -> int | None:
    """Returns the step, from 1, at which the edits change the predictions most; None if they change none."""
    base = analysis.baseline
    if base is None or analysis.comparable_steps < 2:
        return None
    steps = slice(analysis.comparable_steps)
    moved = kl_divergence(base.trace.log_probs[steps], analysis.trace.log_probs[steps])  # [comparable]
    rows = base.trace.scorable_rows[: len(moved)]
    most = max(rows, key=moved.__getitem__, default=0)
    return most + 1 if moved[most] >= MIN_SHIFT else None
