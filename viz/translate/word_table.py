"""Which words decide the label: every reading a row, every word a column, and each reading's rank correlation with what
hiding the words really does. A row is coloured up to its own largest number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from model import format
from model.readings.label_readings import LABEL_READINGS
from viz import theme
from viz.shared import mount

if TYPE_CHECKING:
    from collections.abc import Callable

    from model.experiments.label_test import LabelTest
    from model.inference.analysis import Analysis

OCCLUSION = "What the logit of the label minus that of its rival loses, in nats, where this word alone is hidden."
HEAD = "The attention weights of the layer and head that are chosen, pooled as the classifier pools."


def payload(analysis: Analysis, found: LabelTest, head: tuple[str, np.ndarray], mode: theme.Mode) -> dict[str, Any]:
    """All that the browser needs, as JSON values; `head` is the name of the layer and head that are chosen, and how the
    classifier looks at each token by way of it, [S]."""
    classes, words = analysis.trace.classes, found.words
    label, rival = classes[found.label], classes[found.rival]
    rows = [_row(found, "Occlusion", OCCLUSION, found.occlusion, True, None)]
    rows += [
        _row(found, LABEL_READINGS[name].label, LABEL_READINGS[name].meaning, values, LABEL_READINGS[name].signed, name)
        for name, values in found.importance.items()
    ]
    rows.insert(1, _row(found, head[0], HEAD, words.sums(head[1]), False, "head"))
    places = [-1] * len(analysis.trace.places)
    for number, own in enumerate(words.places):
        for place in own:
            places[place] = number
    return {
        "step": 1,
        "words": list(words.labels),
        "places": places,
        "rows": rows,
        "label": label,
        "rival": rival,
        "before": _rounded(np.exp(found.before[:, found.label])),
        "after": _rounded(np.exp(found.after[:, found.label])),
        "turns": [classes[int(row.argmax())] for row in found.after],
        "tints": list(theme.tints("encoder", mode)),
        "diverging": list(theme.diverging(mode)),
        "verdict": verdict(found, label),
        "care": care(found, label, rival),
    }


def _rounded(values: np.ndarray) -> list[float]:
    return [round(float(value), 5) for value in values]


def _row(
    found: LabelTest, name: str, meaning: str, values: np.ndarray, signed: bool, compared: str | None
) -> dict[str, Any]:
    """A reading; `compared` with occlusion, unless it is that itself."""
    correlation = None if compared is None else found.correlation(values, signed)
    undefined = "" if correlation is None else found.undefined(values) if math.isnan(correlation) else ""
    return {
        "name": name,
        "meaning": meaning,
        "values": _rounded(values),
        "signed": signed,
        "is": compared or "occlusion",
        "rho": "" if correlation is None or undefined else format.signed(correlation, 2),
        "undefined": undefined,
    }


def verdict(found: LabelTest, label: str) -> str:
    """Which word the label rests on most, and what hiding it does: a sentence."""
    if not len(found.words):
        return "There is no word to hide."
    most = int(found.occlusion.argmax())
    word, lost = found.words.labels[most], float(found.occlusion[most])
    if lost < 0.005:
        return f"No word speaks for “{label}”: hiding any of them makes it no less likely."
    before, after = (float(np.exp(rows[most, found.label])) for rows in (found.before, found.after))
    turned = int(found.after[most].argmax()) != found.label
    what = "the label turns" if turned else "the label stays"
    return f"“{word}” speaks most for “{label}”: hidden, {before:.3f} becomes {after:.3f}, and {what}."


def care(found: LabelTest, label: str, rival: str) -> str:
    """What is measured, and how the readings are held against it: sentences."""
    count = len(found.words)
    return (
        "Occlusion hides a word: no token may look at it, and it is not pooled; the others keep their places, and the model "
        f"runs again. The numbers: the logit of “{label}” minus that of “{rival}”, in nats. ρ is Spearman’s rank "
        f"correlation with occlusion over the {count} {'word' if count == 1 else 'words'} of this text; weights have no "
        "sign, so they are held against its size. Each row is coloured up to its own largest number."
    )


COMPONENT = mount.Component(__file__, '<div class="word-table"></div>', picture="Which words decide")


def word_table(
    data: dict[str, Any], follow: dict[str, Any], on_step: Callable[[int], None], key: str = "word table"
) -> None:
    """Mounts the component; before the next run `on_step` is called with the place (from 1) of a word that was clicked."""
    COMPONENT.mount(key, data, {"step": (mount.whole(1, len(data["places"])), on_step)}, beside=follow)
