"""Which words decide the label of a text? Each is hidden in turn, and other readings are held against what that does.

A hidden word is one that no token may look at, and that the pooler does not read; the others keep their places. (To delete
it from the text would move them.) What is measured is the difference of two logits: of the label and of its rival. With two
labels that is the logarithm of the odds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch

from model.checkpoint import Checkpoint
from model.config import PAD
from model.inference.analysis import Analysis
from model.inference.source_reading import edits_of
from model.network.context import Pass, forced
from model.network.transformer import EncoderOnly
from model.readings.heads.patterns import rank_correlation
from model.readings.logits.choice_logits import label_logits
from model.readings.tokens.label_readings import FEWEST, LABEL_READINGS, pooling_weights
from model.readings.tokens.token_attribution import label_gradient, value_norms
from model.readings.tokens.word_readings import Words

TOKENS = 8192  # of a batch: what is computed at once stays bounded


@dataclass(frozen=True)
class LabelTest:
    """What hiding each of W words does to the label of a text, and what other readings say of the words.

    `before` and `after` [W,C] are log-probabilities of all labels: of the unedited text, in the batch in which the word was
    hidden, and with the word hidden.
    """

    words: Words
    label: int
    rival: int
    before: np.ndarray = field(repr=False)
    after: np.ndarray = field(repr=False)
    importance: dict[str, np.ndarray] = field(repr=False)  # [W] each, by the name of the reading

    @cached_property
    def occlusion(self) -> np.ndarray:
        """What the difference of the two logits loses where each word is hidden, [W], in nats: above 0, the word speaks for
        the label."""
        one, two = (rows[:, self.label] - rows[:, self.rival] for rows in (self.before, self.after))
        return one - two

    @cached_property
    def correlations(self) -> dict[str, float]:
        """Spearman's rank correlation of each reading with occlusion over the words; of one without a sign with the size of
        what occlusion does. nan where it is undefined: see `undefined`."""
        return {name: self.correlation(values, LABEL_READINGS[name].signed) for name, values in self.importance.items()}

    def correlation(self, values: np.ndarray, signed: bool) -> float:
        """The same of any numbers [W]."""
        if len(self.words) < FEWEST:
            return float("nan")
        against = self.occlusion if signed else np.abs(self.occlusion)
        return rank_correlation(values, against, np.ones(len(values), dtype=bool))

    def undefined(self, values: np.ndarray, signed: bool = True) -> str:
        """Why a rank correlation of numbers [W] with occlusion is undefined, in a few words; empty where it is not."""
        if (count := len(self.words)) < FEWEST:
            return f"undefined: {count} {'word' if count == 1 else 'words'}"
        if not np.ptp(values):
            return "undefined: equal for all words"
        if np.ptp(self.occlusion if signed else np.abs(self.occlusion)):
            return ""
        return "undefined: hiding changes nothing" if not self.occlusion.any() else "undefined: hiding changes all the same"


def label_test(checkpoint: Checkpoint, analysis: Analysis, label: int, rival: int) -> LabelTest:
    """Hides every word in turn, under the intervention of the analysis, and reads the other readings.

    Raises ValueError for a model without labels, for two that are not two of them, and where the padding mask is off: then
    what is hidden would be seen all the same.
    """
    trace = analysis.whole
    if not trace.classes:
        raise ValueError("this model has no labels: no word decides one")
    if not analysis.request.intervention.padding_mask:
        raise ValueError("The padding mask is off, so words that are hidden would still be seen: switch it on.")
    words = Words.of(trace.places)
    material = _Material(checkpoint, analysis, words, label, rival)
    importance = {name: reading.read(material) for name, reading in LABEL_READINGS.items()}
    return LabelTest(words, label, rival, *hidden_words(checkpoint, analysis, words), importance)


class _Material:
    """What the readings read; see `label_readings.Material`."""

    def __init__(self, checkpoint: Checkpoint, analysis: Analysis, words: Words, label: int, rival: int) -> None:
        self.words, self.trace = words, analysis.whole
        self.norms = value_norms(checkpoint, analysis)
        self.pooling = pooling_weights(checkpoint.config, analysis.whole.places.ids)
        self._asked = checkpoint, analysis, label, rival

    def gradient(self) -> np.ndarray:
        return label_gradient(*self._asked)

    def split(self) -> np.ndarray:
        return label_logits(*self._asked).by_kind["encoder"]


@torch.inference_mode()
def hidden_words(checkpoint: Checkpoint, analysis: Analysis, words: Words) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities [W,C] of all labels: of the unedited text, which is the first row of every batch, and with each word
    hidden."""
    model, ids = checkpoint.model, analysis.whole.places.ids
    assert isinstance(model, EncoderOnly)
    at = Pass(edits_of(checkpoint, ids, [analysis.request.intervention]))
    each, classes = max(1, TOKENS // len(ids) - 1), len(checkpoint.config.classes)
    before, after = np.empty((len(words), classes)), np.empty((len(words), classes))
    for first in range(0, len(words), each):
        chosen = words.places[first : first + each]
        source = torch.tensor([ids] * (1 + len(chosen)), device=checkpoint.device)  # [1+N,S]
        seen = source.clone()
        for row, own in enumerate(chosen, 1):
            seen[row, list(own)] = PAD
        states = forced(model, source, None, at, masked_by=seen)  # [1+N,S,D]
        found = model.judged(states, seen).double().log_softmax(-1).cpu().numpy()  # [1+N,C]
        before[first : first + each], after[first : first + each] = found[0], found[1:]
    return before, after
