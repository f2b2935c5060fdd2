"""Links between words read off a head's weights, and how far they are off."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from model.config import END
from model.inference.analyse import analyse
from model.inference.request import Request
from model.readings.alignment import diagonal, error_rate, head_peaks, hits, peaks, word_weights
from model.text.aligned import ROWS
from model.trace import Axis, Site, Trace


def rate(found, sure, possible=()):
    told = hits(found, set(sure), set(possible))
    return float(error_rate(*map(np.array, (told.links, told.on_sure, told.on_possible, told.sure))))


def test_perfect_aligner_has_no_error():
    gold = {(0, 0), (2, 1), (1, 2)}
    weights = np.full((3, 4), 0.1)
    for source, target in gold:
        weights[target, source] = 0.7
    assert rate(peaks(weights, 3), gold) == 0
    assert rate(diagonal(3, 3), gold) == pytest.approx(2 / 3)
    assert rate(diagonal(3, 3), {(n, n) for n in range(3)}) == 0


def test_word_weights_sum_the_pieces():
    pattern = np.array([[0.3, 0.3, 0.4, 0.0], [0.1, 0.5, 0.4, 0.0], [0.1, 0.1, 0.2, 0.6]])
    weights = word_weights(pattern, [0, 1, 2], [0, 0, 1], [0, 0, 1, 9])
    np.testing.assert_allclose(weights, [[0.6, 0.4, 0.0], [0.2, 0.2, 0.6]])
    assert peaks(weights, 2).tolist() == [0, -1]
    assert peaks(np.zeros((1, 2)), 2).tolist() == [-1]


def test_peaks_of_a_trace_are_those_of_its_rows(tiny_checkpoint):
    trace = analyse(tiny_checkpoint, Request("The red fox takes a lamp.")).whole
    words = ["a", "b", "c"]
    source = Axis((5, 6, 7, END), (*words, "</s>"), (0, 1, 2, 3))
    outputs = Axis((8, 9, 10, END), ("B", "C", "A", "</s>"), (0, 1, 2, 3))
    order = [1, 2, 0]
    for rows, later in ROWS.items():
        pattern = np.zeros((1, 4, 4), dtype=np.float32)
        pattern[0, :, 3] = 0.25
        for t, s in enumerate(order):
            pattern[0, t + later, s] = 0.5
        made: Trace = dataclasses.replace(
            trace,
            source=source,
            outputs=outputs,
            inputs=Axis((1, 8, 9, 10), ("<s>", "B", "C", "A"), (0, 1, 2, 3)),
            patterns={Site("cross", 0): pattern},
            masks={Site("cross", 0): np.ones((4, 4), dtype=bool)},
        )
        (found,) = head_peaks(made, rows)
        assert found.peaks == (("B", "b", 0.5), ("C", "c", 0.5), ("A", "a", 0.5))
        assert (found.mutual, found.on_diagonal, found.rows) == (3, 0, rows)
        (other,) = head_peaks(made, "reads" if rows == "predicts" else "predicts")
        assert other.peaks != found.peaks
