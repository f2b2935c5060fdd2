"""What is summed of a model that fills in: what fills the blanks, else the tokens of the text; no blank, and no end."""

from __future__ import annotations

import numpy as np
import pytest

from model.config import END, PAD, START
from model.edits.intervention import Intervention
from model.inference.analyse import analyse
from model.inference.reading import fillings
from model.inference.request import Request
from model.text.tokenizer import Tokenizer
from tests.support import tiny

READS = {"family": "encoder-only", "decoder_layers": 0, "source_start": True}
OFF = Intervention(scaling=False)
TEXTS = ("The red ___ sees a ___.", "The red fox takes a lamp.")


@pytest.fixture(scope="module")
def reader():
    return tiny.checkpoint(Tokenizer.train(tiny.SENTENCES, 400, blanks=True), **READS)


def edited(reader, text: str, edit: Intervention = OFF):
    return analyse(reader, Request(text, intervention=edit))


def summed(reader, text: str) -> tuple[float, float]:
    """The sum of what fills the blanks, or of what stands in the text, without the edit and under it; by hand."""
    base, after = (edited(reader, text, each).trace for each in (Intervention(), OFF))
    ids, mask = base.source.ids, reader.source_tokenizer.mask
    tokens = {place: ids[place] for place in range(1, len(ids) - 1)}
    if mask in ids:
        rows = base.log_probs.copy()
        rows[:, [PAD, START, END, mask]] = -np.inf
        tokens = {place: int(rows[place].argmax()) for place, token in enumerate(ids) if token == mask}
    return tuple(float(each.log_probs[list(tokens), list(tokens.values())].sum()) for each in (base, after))


def test_padding_is_counted_nowhere(reader):
    for text in TEXTS:
        alone, padded = (analyse(reader, Request(text, pad=pad)) for pad in (0, 3))
        assert padded.log_prob == pytest.approx(alone.log_prob, abs=1e-4)
        assert padded.trace.counted == alone.trace.counted


def test_the_change_follows_what_fills_a_blank(reader):
    now = edited(reader, TEXTS[0])
    told = fillings(now.baseline, reader)
    for each in told:
        place = each["place"] - 1
        token = now.baseline.trace.scored.ids[place]
        assert now.change.before[place] == pytest.approx(each["probability"], abs=1e-5)
        assert now.change.after[place] == pytest.approx(float(np.exp(now.trace.log_probs[place, token])))
    assert len(told) == 2 and "<mask>" not in now.change.labels
