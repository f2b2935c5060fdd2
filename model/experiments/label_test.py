"""Tests which words decide the label of a text: hides each word in turn, and compares other readings with the result.

No token may attend to a hidden word, and the pooler ignores it. The other words keep their positions. (Deleting the word
from the text would move them.) The measure is the difference of two logits: of the label and of its rival. With two labels
that is the log odds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch

from ..checkpoint import Checkpoint
from ..config import PAD
from ..inference.analysis import Analysis
from ..inference.source_reading import build_edits
from ..network.context import Pass, teacher_forced_states
from ..network.transformer import EncoderOnly
from ..readings.heads.head_maps import rank_correlation
from ..readings.logits.direct_logits import label_logits
from ..readings.tokens.token_attribution import label_gradient, value_norms
from ..readings.tokens.word_readings import LABEL_READINGS, MIN_WORDS, Words, pooling_weights

TOKENS = 8192  # of a batch: bounds memory


@dataclass(frozen=True)
class LabelTest:
    """Effect of hiding each of W words on the label of a text, and the other readings of the words.

    `before` and `after` [W,C] are log-probabilities of all labels: of the unedited text in the same batch, and with the word
    hidden.
    """

    words: Words
    label: int
    rival: int
    before: np.ndarray = field(repr=False)
    after: np.ndarray = field(repr=False)
    importance: dict[str, np.ndarray] = field(repr=False)  # [W] each, by the name of the reading

    @cached_property
    def occlusion(self) -> np.ndarray:
        """Returns the fall of the logit difference when each word is hidden, [W], in nats. Above 0, the word supports the
        label."""
        one, two = (rows[:, self.label] - rows[:, self.rival] for rows in (self.before, self.after))
        return one - two

    @cached_property
    def correlations(self) -> dict[str, float]:
        """Returns Spearman's rank correlation of each reading with occlusion over the words. A reading without a sign is
        compared with the absolute occlusion. The value is nan where it is undefined: see `explain_undefined`."""
        return {name: self.correlation(values, LABEL_READINGS[name].signed) for name, values in self.importance.items()}

    def correlation(self, values: np.ndarray, signed: bool) -> float:
        """Returns the rank correlation of values [W] with occlusion; nan where it is undefined."""
        if len(self.words) < MIN_WORDS:
            return float("nan")
        against = self.occlusion if signed else np.abs(self.occlusion)
        return rank_correlation(values, against, np.ones(len(values), dtype=bool))

    def explain_undefined(self, values: np.ndarray, signed: bool = True) -> str:
        """Returns the reason why the rank correlation of values [W] is undefined; empty where it is defined."""
        if (count := len(self.words)) < MIN_WORDS:
            return f"undefined: {count} {'word' if count == 1 else 'words'}"
        if not np.ptp(values):
            return "undefined: equal for all words"
        if np.ptp(self.occlusion if signed else np.abs(self.occlusion)):
            return ""
        return "undefined: hiding changes nothing" if not self.occlusion.any() else "undefined: equal effect of all words"


def label_test(checkpoint: Checkpoint, analysis: Analysis, label: int, rival: int) -> LabelTest:
    """Hides every word in turn under the intervention of the analysis, and computes the other readings.

    Raises ValueError for a model without labels, for two numbers that are not two of its labels, and where the padding mask
    is off: then hidden words would still be seen.
    """
    trace = analysis.full_pass
    if not trace.classes:
        raise ValueError("this model has no labels; expected a classifier")
    if not analysis.request.intervention.padding_mask:
        raise ValueError("The padding mask is off, so hidden words would still be seen. Switch it on.")
    words = Words.of(trace.step_axis)
    material = _LabelMaterial(checkpoint, analysis, words, label, rival)
    importance = {name: reading.read(material) for name, reading in LABEL_READINGS.items()}
    return LabelTest(words, label, rival, *hide_each_word(checkpoint, analysis, words), importance)


class _LabelMaterial:
    """Inputs of the readings; see `word_readings.LabelMaterial`."""

    def __init__(self, checkpoint: Checkpoint, analysis: Analysis, words: Words, label: int, rival: int) -> None:
        self.words, self.trace = words, analysis.full_pass
        self.norms = value_norms(checkpoint, analysis)
        self.pooling = pooling_weights(checkpoint.config, analysis.full_pass.step_axis.ids)
        self._arguments = checkpoint, analysis, label, rival

    def gradient(self) -> np.ndarray:
        return label_gradient(*self._arguments)

    def split(self) -> np.ndarray:
        return label_logits(*self._arguments).by_kind["encoder"]


@torch.inference_mode()
def hide_each_word(checkpoint: Checkpoint, analysis: Analysis, words: Words) -> tuple[np.ndarray, np.ndarray]:
    """Returns log-probabilities [W,C] of all labels: of the unedited text, which is row 0 of every batch, and with each word
    hidden."""
    model, ids = checkpoint.model, analysis.full_pass.step_axis.ids
    assert isinstance(model, EncoderOnly)
    context = Pass(build_edits(checkpoint, ids, [analysis.request.intervention]))
    each, classes = max(1, TOKENS // len(ids) - 1), len(checkpoint.config.classes)
    before, after = np.empty((len(words), classes)), np.empty((len(words), classes))
    for first in range(0, len(words), each):
        chosen = words.places[first : first + each]
        source = torch.tensor([ids] * (1 + len(chosen)), device=checkpoint.device)  # [1+N,S]
        seen = source.clone()
        for row, own in enumerate(chosen, 1):
            seen[row, list(own)] = PAD
        states = teacher_forced_states(model, source, None, context, mask_source=seen)  # [1+N,S,D]
        log_probs = model.label_logits(states, seen).double().log_softmax(-1).cpu().numpy()  # [1+N,C]
        before[first : first + each], after[first : first + each] = log_probs[0], log_probs[1:]
    return before, after
