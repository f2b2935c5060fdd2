"""Every head over many sentences: the stored statistics follow from the maps, survive the file, and name no sentence."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from model.checkpoint_files import CheckpointError, read_head_statistics
from model.experiments import head_survey
from model.experiments.effects import head_effects
from model.experiments.head_survey import effect_of_head, is_within_limit, measure_heads
from model.inference.passes import teacher_force
from model.inference.request import Request
from model.readings.heads.head_similarity import classical_scaling, divergences, groups, nearest
from model.text.head_statistics import PLACES, HeadsOverCorpus
from model.trace import Site, Trace
from tests.support import tiny

TEXTS = ["The old fox sees the lamp.", "The red king takes the old boat.", "The fox sees the boat."]


@pytest.fixture(scope="module")
def measured(tokenizer):
    return measure_heads(tiny.checkpoint(tokenizer), TEXTS, effects=True, name="three")


def test_numbers_agree_with_each_other(measured):
    corpus = measured.statistics
    assert (corpus.summary.sentences, corpus.summary.left_out, corpus.summary.corpus) == (3, 0, "three")
    for head in corpus.heads:
        assert sum(head.places.values()) == pytest.approx(1)
        assert head.change.low <= head.change.value <= head.change.high
        for name, metric in head.metrics.items():
            low, high = corpus.ranges[name]
            assert low <= metric.mean.value <= high * (1 + 1e-6)
            values = measured.of_head(Site(head.site, head.layer), head.head, name)
            assert metric.sentences == (~np.isnan(values)).sum()
        assert all(pair.linked <= pair.possible for pair in (*head.read_pairs, *head.written_pairs))
        assert (head.written_pairs == ()) or head.site != "encoder"
    for kind in corpus.distances:
        matrix = corpus.distance_matrix(kind)
        assert (matrix == matrix.T).all() and (np.diag(matrix) == 0).all() and (matrix >= 0).all()


def test_a_head_on_the_previous_token_is_there_in_every_number(tokenizer, monkeypatch):
    monkeypatch.setattr(head_survey, "teacher_force", lambda *args: [looking_back(teacher_force(*args)[0])])
    result = measure_heads(tiny.checkpoint(tokenizer), TEXTS)
    head = result.statistics.head("encoder", 0, 1)
    others = [each for each in result.statistics.of_kind("encoder") if each is not head]
    assert head.metrics["previous_peak"].mean.value == 1
    assert head.places["previous"] > 0.8 > max(each.places["previous"] for each in others)
    listed = {(pair.query, pair.key): (pair.linked, pair.possible) for pair in head.read_pairs}
    assert listed["sees", "fox"] == (2, 2)  # of two sentences with both words
    best = result.strongest(Site("encoder", 0), 1, "previous", 3)
    assert [value for _, value in best] == sorted((value for _, value in best), reverse=True)


def looking_back(trace: Trace) -> Trace:
    """Returns a trace in which encoder 1.2 looks at the previous token, and every other head at the last one."""
    patterns = {site: np.zeros_like(pattern) for site, pattern in trace.patterns.items()}
    for site, pattern in patterns.items():
        pattern[:] = trace.masks[site] / trace.masks[site].sum(-1, keepdims=True)
        if site == Site("encoder", 0):
            pattern[1] = np.eye(len(pattern[1]), k=-1)
            pattern[1, 0, 0] = 1
    return dataclasses.replace(trace, patterns=patterns)


def test_the_effect_of_a_head_is_that_of_a_single_sentence(tokenizer, measured):
    lab = tiny.checkpoint(tokenizer)
    changes = effect_of_head(lab, measured, Site("cross", 1), 0)
    for text, change in zip(TEXTS, changes, strict=True):
        (effect,) = (each for each in head_effects(lab, Request(text)) if (*each.site, each.head) == ("cross", 1, 0))
        assert change == pytest.approx(effect.change, rel=1e-3, abs=1e-4)
    assert measured.statistics.head("cross", 1, 0).change.value == pytest.approx(changes.mean(), rel=1e-3, abs=1e-4)


def test_a_text_over_the_limit_is_left_out_and_counted(tokenizer):
    shares = []
    result = measure_heads(tiny.checkpoint(tokenizer), ["fox " * 400, TEXTS[0]], shares.append)
    assert (result.numbers, result.statistics.summary.left_out, shares) == ((2,), 1, [0.5, 1.0])
    assert all(head.change is None for head in result.statistics.heads)
    with pytest.raises(ValueError, match="No sentence is within the text limit of 128 tokens; expected at least one"):
        measure_heads(tiny.checkpoint(tokenizer), ["fox " * 400])


def test_one_text_instead_of_a_list_is_refused(tokenizer):
    with pytest.raises(ValueError, match=r"expected a list of texts, such as \[text\]\.$"):
        measure_heads(tiny.checkpoint(tokenizer), TEXTS[0])


def test_a_missing_head_is_counted_from_0(measured):
    with pytest.raises(ValueError, match="no head 6 in layer 9 of cross, counted from 0; expected"):
        measured.of_head(Site("cross", 9), 6, "largest")


def test_the_limit_is_checked_without_decoding(tokenizer, monkeypatch):
    lab = tiny.checkpoint(tokenizer)
    monkeypatch.setattr("model.experiments.effects.build_target_trees", None)
    assert [is_within_limit(lab, text) for text in ("fox " * 400, TEXTS[0])] == [False, True]


def test_the_file_gives_back_the_values_and_checks_them(tokenizer, measured, tmp_path):
    values, path = measured.statistics.to_dict(), tmp_path / "heads.json"
    config = tiny.checkpoint(tokenizer).config
    path.write_text(json.dumps(values))
    read = read_head_statistics(path, config)
    assert read is not None and read.to_dict() == values
    assert all(text not in path.read_text() for text in TEXTS)
    assert read_head_statistics(tmp_path / "absent" / "heads.json", config) is None
    for faulty in (
        values | {"schema": 2},
        values | {"sentences": 0},
        values | {"corpus": "x" * 300},
        values | {"heads": values["heads"][1:]},
        values | {"heads": [values["heads"][0] | {"places": dict.fromkeys(PLACES, "1")}, *values["heads"][1:]]},
        values | {"distances": {}},
    ):
        path.write_text(json.dumps(faulty))
        with pytest.raises(CheckpointError, match=r"report heads --data FILE --store"):
            read_head_statistics(path, config)


def test_a_language_model_is_measured_on_the_text_itself(tokenizer):
    lab = tiny.checkpoint(tokenizer, family="decoder-only", encoder_layers=0)
    result = measure_heads(lab, TEXTS)
    assert [target is not None and source is None for source, target in result.ids] == [True] * 3
    assert {head.site for head in result.statistics.heads} == {"decoder"}


def test_points_groups_and_neighbours_follow_the_divergences():
    patterns = np.array([np.eye(3), np.eye(3), np.eye(3)[::-1], np.full((3, 3), 1 / 3)])
    matrix = divergences(patterns) / 3
    assert matrix[0, 1] == 0 and matrix[0, 2] == pytest.approx(2 / 3)  # equal rows 0, rows without a common key 1
    points, kept = classical_scaling(matrix)
    assert np.allclose(points[0], points[1]) and 0 < kept <= 1 + 1e-9
    assert groups(matrix, 0.1) == [[0, 1], [2], [3]]
    assert nearest(matrix, 0, 1) == [(1, 0.0)]


def test_statistics_of_another_model_are_refused(measured):
    with pytest.raises(ValueError, match="expected 1"):
        HeadsOverCorpus.from_dict({})
    with pytest.raises(ValueError, match="no statistics of head 0 in layer 8 of encoder, counted from 0"):
        measured.statistics.head("encoder", 8, 0)
