"""The model card of a shipped checkpoint states what its metrics.json records."""

from __future__ import annotations

import json
import re

import pytest

from model.io.folders import CONFIG, SHIPPED
from model.workshop.evaluation import model_card, reading_card, text_card, translation_card
from model.workshop.evaluation.model_card import UNKNOWN, describe_sources
from model.workshop.training.recording import Recording

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
