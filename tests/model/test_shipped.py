"""Shipped checkpoints: laws, scores, recordings of the training, and model cards that state what metrics.json records."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest

from model.config import END
from model.decoding.strategy import Decoding
from model.inference.analyse import analyse
from model.inference.request import Request
from model.io.folders import CONFIG, SHIPPED
from model.trace import ATTENTION_KINDS, Site
from model.workshop.evaluation import model_card, reading_card, text_card, translation_card
from model.workshop.evaluation.model_card import UNKNOWN, describe_sources
from model.workshop.evaluation.probes import read_probes
from model.workshop.training import snapshots
from model.workshop.training.recording import Recording


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


@pytest.mark.parametrize(("strategy", "right"), [("beam", 17), ("greedy", 17)])
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


SCORES = {"encoder-decoder": translation_card.section, "decoder-only": text_card.scores, "encoder-only": reading_card.scores}
NAMES = sorted(path.parent.name for path in SHIPPED.glob(f"*/{CONFIG}"))


@pytest.mark.parametrize("name", NAMES)
def test_the_scores_of_the_card_are_those_that_were_recorded(name):
    metrics, told = read_metrics(name), read_card(name)
    family = json.loads((SHIPPED / name / CONFIG).read_text(encoding="utf-8"))["model"].get("family", "encoder-decoder")
    if "test" in metrics:
        found = metrics if family == "encoder-decoder" else metrics["test"]
        assert SCORES[family](found).strip() in told
    if "warnings" in metrics:
        assert model_card.table(metrics["warnings"]) in told and model_card.signs_table(metrics["warnings"]) in told
    count = metrics["parameters"]
    assert " parameters" not in told or any(f"{form} parameters" in told for form in (f"{count:,}", f"{count / 1e6:.1f} M"))


def read_card(name):
    return (SHIPPED / name / "README.md").read_text(encoding="utf-8")


def read_metrics(name):
    return json.loads((SHIPPED / name / "metrics.json").read_text(encoding="utf-8"))


def numbers_in(pattern, text):
    """Every number that a pattern finds; line breaks count as spaces."""
    return [int(found.replace(",", "")) for found in re.findall(pattern, " ".join(text.split()))]


@pytest.mark.parametrize("name", NAMES)
def test_card_names_source_author_and_licence(name):
    told, digests = read_card(name), read_metrics(name)["training"]["data_sha256"]
    if read_metrics(name)["training"].get("init") == "bert-mini":
        assert "`bert-mini`: six books in the public domain" in told
    if describe_sources(digests) in told:
        assert UNKNOWN not in told
    else:
        assert name.startswith("en-fr")
        assert all(text in told for text in ("Tatoeba", "https://www.manythings.org/anki/", "CC BY 2.0 FR"))


@pytest.mark.parametrize("name", NAMES)
def test_steps_and_sentences_of_a_card_are_those_of_its_files(name):
    folder, told, metrics = SHIPPED / name, read_card(name), read_metrics(name)
    run = metrics["training"]
    trained = re.findall(r"([\d,]+) steps, ([\d,]+) minutes", told)
    assert all((f"{run['steps']:,}", f"{run['minutes']:,}") == each for each in trained)
    scored = numbers_in(r"the first ([\d,]+) dev sentences, greedy", told)
    assert all(count == metrics["dev"]["sentences"] for count in scored)
    if (folder / "probes.npz").exists():
        steps = Recording.load(folder / "probes.npz").steps
        assert all(count == len(steps) for count in numbers_in(r"probe sentences at ([\d,]+) steps", told))
    if (folder / "log.jsonl").exists():
        lines = map(json.loads, (folder / "log.jsonl").read_text(encoding="utf-8").splitlines())
        logged = [line["step"] for line in lines if "loss" in line]
        assert all(count == logged[0] for count in numbers_in(r"every (\d+)th of its", told))
        last = numbers_in(r"every \d+th of its ([\d,]+) steps", told)
        assert all(logged[-1] <= count < logged[-1] + logged[0] for count in last)
        assert f"all its {logged[-1]:,} steps" not in " ".join(told.split())
    if (folder / "faithfulness.json").exists():
        count = json.loads((folder / "faithfulness.json").read_text(encoding="utf-8"))["sentences"]
        assert all(each == count for each in numbers_in(r"over the first ([\d,]+) dev sentences", told))


@pytest.mark.parametrize("name", ["en-fr", "en-fr-learned"])
def test_card_compares_tu_and_vous_with_all_references(name):
    address = read_metrics(name)["test"]["address"]["said"]
    told = " ".join(read_card(name).split())
    assert "about as frequent" not in told and f"{address['tu']:.1%}" in told and f"{address['vous']:.1%}" in told


def test_every_family_has_a_checkpoint_with_scores():
    configs = [json.loads((SHIPPED / name / CONFIG).read_text(encoding="utf-8"))["model"] for name in NAMES]
    assert {config.get("family", "encoder-decoder") for config in configs} == set(SCORES)
