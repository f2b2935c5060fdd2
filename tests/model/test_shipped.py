"""The published checkpoint: its laws, its scores and the recording of its training."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from model.config import END
from model.decoding.strategy import Decoding
from model.inference.analyse import analyse
from model.inference.request import Request
from model.trace import ATTENTION_KINDS, Site
from model.workshop.evaluation.probes import read_probes
from model.workshop.training import snapshots


def test_it_is_whole(shipped):
    assert shipped.name == "en-fr"
    assert shipped.languages == ("English", "French")
    assert shipped.metrics["parameters"] == shipped.model.parameter_count
    assert shipped.metrics["dev"]["bleu"] > 30
    for side, tokenizer in (("source", shipped.source_tokenizer), ("target", shipped.target_tokenizer)):
        assert len(shipped.token_counts[side]) == tokenizer.size
        assert shipped.token_counts[side][END] == max(shipped.token_counts[side])


def test_plain_sentence_is_translated_without_a_note(shipped):
    found = analyse(shipped, Request("The cat is black."))
    assert "chat" in found.translation and found.hypothesis.is_finished and found.notes == ()


ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "checkpoints" / "en-fr"
LISTED = read_probes(ROOT / "checkpoints" / "probes.txt")


@pytest.mark.parametrize(("strategy", "right"), [("beam", 19), ("greedy", 17)])
def test_most_of_the_twenty_probes_are_right(shipped, strategy, right):
    said = {source: analyse(shipped, Request(source, decoding=Decoding(strategy))).translation for _, source, _ in LISTED}
    wrong = [said[source] for _, source, accepted in LISTED if said[source] not in accepted]
    assert len(LISTED) - len(wrong) >= right, wrong


def test_the_recording_of_its_training_is_shipped(shipped):
    recording = snapshots.Recording.load(FOLDER / "probes.npz")
    assert (FOLDER / "probes.npz").stat().st_size < 4e6
    assert len(recording.steps) >= 40
    assert recording.steps[0] == 0
    assert len(recording.sentences) == 12
    assert {s.source_text for s in recording.sentences} < {source for _, source, _ in LISTED}
    losses = recording.losses().mean(axis=1)
    assert losses[0] > 8 > 2 > losses[-1]
    for number, sentence in enumerate(recording.sentences):
        assert list(sentence.source[:-1]) == shipped.source_tokenizer.encode(sentence.source_text)
        for kind in ATTENTION_KINDS:
            found = recording.patterns(number, Site(kind, 3))
            rows = len(sentence.source if kind == "encoder" else sentence.target)
            assert found.shape[:3] == (len(recording.steps), 8, rows)
            np.testing.assert_allclose(found.sum(-1), 1, atol=0.05)


def test_the_folder_is_small_and_its_scores_are_at_the_goal():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 30e6
    metrics = json.loads((FOLDER / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["parameters"] <= 12e6
    assert metrics["test"]["beam"] == 4
    assert (metrics["test_all_references"]["bleu"], metrics["test_all_references"]["chrf"]) >= (55, 70)
    assert metrics["test_joined"]["bleu"] >= 45 and metrics["test_joined"]["chrf"] >= 62
    for part in ("test", "test_joined", "dev_beam"):
        assert metrics[part]["unfinished"] <= metrics[part]["sentences"] / 1000
    said, asked = (metrics["test_all_references"]["address"][who] for who in ("said", "all"))
    assert all(2 / 3 <= said[word] / asked[word] <= 4 / 3 for word in ("tu", "vous"))


def test_all_of_its_training_is_logged(shipped):
    lines = [json.loads(line) for line in (FOLDER / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    steps = [line["step"] for line in lines]
    assert steps == sorted(steps) and steps[0] <= 100
    assert steps[-1] == snapshots.Recording.load(FOLDER / "probes.npz").steps[-1]
    logged = [line for line in lines if "loss" in line]
    assert max(b["step"] - a["step"] for a, b in itertools.pairwise(logged)) <= 100
    assert {"learning_rate", "gradient_norm", "gradient_norm_clipped"} <= logged[0].keys()
