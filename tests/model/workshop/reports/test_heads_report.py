"""The table of heads names the role of a head, with its number and the count of sentences behind it."""

from __future__ import annotations

import dataclasses

import numpy as np

from model.inference.passes import teacher_force
from model.trace import Site, Trace
from model.workshop.reports import heads_report
from tests.support import tiny


def test_a_head_that_looks_back_has_its_role_with_number_and_count(tokenizer, monkeypatch):
    lab = tiny.checkpoint(tokenizer)
    monkeypatch.setattr(heads_report, "teacher_force", lambda *args: [looking_back(teacher_force(*args)[0])])
    lines = heads_report.distinct_lines([tiny.PAIRS[0], tiny.PAIRS[1]])
    measured = np.stack([heads_report.measure_line(lab, line, True) for line in lines])
    columns, cells = heads_report.table(lab, lines, measured)
    rows = [dict(zip(columns, row, strict=True)) for row in cells]
    named = [row for row in rows if row["role"] == "previous-token head"]
    assert [(row["site"], row["layer"], row["head"]) for row in named] == [("encoder", 1, 2)]
    assert (named[0]["role_share"], named[0]["role_low"], named[0]["role_sentences"]) == (1, 1, 2)
    for row in rows:
        assert (row["role"] is None) == (row["role_share"] is None) == (row["role_sentences"] is None)


def looking_back(trace: Trace) -> Trace:
    """Returns a trace in which encoder 1.2 looks at the previous token, and no other head has a peak."""
    patterns = {site: np.full_like(pattern, 1 / pattern.shape[-1]) for site, pattern in trace.patterns.items()}
    for site, pattern in patterns.items():
        pattern[:, :, -1] += 0.1
        if site == Site("encoder", 0):
            pattern[1] = np.eye(len(pattern[1]), k=-1)
            pattern[1, 0, 0] = 1
    return dataclasses.replace(trace, patterns=patterns)
