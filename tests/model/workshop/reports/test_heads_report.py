"""The table of heads names the role of a head, with its number and the count of sentences behind it."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from model.config import END, START
from model.edits.intervention import BASELINE
from model.inference.passes import teacher_force
from model.trace import Site, Trace
from model.workshop.reports import constant_heads, heads_report
from model.workshop.reports.heads_summary import summarize, table_rows
from tests.support import tiny


def test_a_previous_token_head_has_its_role_number_and_count(tokenizer, monkeypatch):
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


def test_a_head_with_uniform_rows_is_constant(tokenizer):
    lab = tiny.checkpoint(tokenizer)
    planted = {"encoder": lab.model.encoder[1].self_attention, "cross": lab.model.decoder[0].cross_attention}
    with torch.no_grad():  # the queries of one head are 0, so all its scores are 0
        for attention in planted.values():
            attention.query.weight[lab.config.head_dim :] = 0.0
            attention.query.bias[lab.config.head_dim :] = 0.0
    rows = measured_rows(lab, tiny.PAIRS[:3])
    constant = {(row["site"], row["layer"], row["head"]): row for row in rows if row["constant"]}
    assert set(constant) == {("encoder", 2, 2), ("cross", 1, 2)}
    for row in rows:
        assert row["content_change_low"] <= row["content_change"] <= row["content_change_high"] <= 1
        assert row["content_change_sentences"] == 3
        assert row["constant"] == int(row["content_change_high"] < constant_heads.CONSTANT)
    assert summarize("tiny", rows)[-1].heads == ("encoder 2.2", "cross 1.2")
    (single, *_) = measured_rows(lab, tiny.PAIRS[:1])
    assert single["constant"] is None and single["content_change"] is not None
    assert "needs two sentences" in summarize("tiny", [single])[-1].sentence


def test_a_head_of_positions_alone_is_constant(tokenizer):
    lab = tiny.checkpoint(tokenizer)
    with torch.no_grad():  # the encoder reads positions alone
        lab.model.source_embedding.table.weight[:] = 0.0
    rows = measured_rows(lab, tiny.PAIRS[:3])
    assert {row["layer"] for row in rows if row["site"] == "encoder" and row["constant"]} == {1, 2}
    assert all(row["constant"] for row in rows if row["site"] == "encoder")


def test_a_sentence_of_one_token_cannot_show_a_constant_head(tokenizer):
    assert constant_heads.rotated([START, 7, END]) == [START, 7, END]
    assert constant_heads.rotated([START, 7, 8, 9, END]) == [START, 8, 9, 7, END]
    lab = tiny.checkpoint(tokenizer)
    (trace,) = teacher_force(lab, [7, END], [8, END], [BASELINE])
    _, counts = constant_heads.content_change(lab, [7, END], [8, END], trace)
    assert not counts.any()


def measured_rows(lab, pairs):
    lines = heads_report.distinct_lines(pairs)
    measured = np.stack([heads_report.measure_line(lab, line, True) for line in lines])
    return table_rows(*heads_report.table(lab, lines, measured))
