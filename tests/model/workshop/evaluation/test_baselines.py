"""Count-based baselines for blanks, pairs and labels."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from model import checkpoint as checkpoints
from model.__main__ import main
from model.config import END, START
from model.network.context import teacher_forced_states
from model.text.tokenizer import Tokenizer
from model.workshop.evaluation.neighbour_baseline import (
    BlankVocabulary,
    NeighbourBaseline,
    NeighbourCounts,
    sample_blanks,
    score,
)
from tests.support import tiny

READS = {"family": "encoder-only", "decoder_layers": 0, "source_start": True, "segments": 2, "pooler": True, "follows": True}
NOUNS, VERBS = ("fox", "lamp", "boat", "king"), ("sees", "takes", "paints", "finds")
TEXTS = [f"The {one} {verb} {one} the {two}." for one, verb in zip(NOUNS, VERBS, strict=True) for two in NOUNS]


@pytest.fixture(scope="module")
def vocabulary() -> Tokenizer:
    return Tokenizer.train(TEXTS * 9, 400, blanks=True)


@pytest.fixture(scope="module")
def encoded(vocabulary) -> list[list[int]]:
    return [vocabulary.encode(text) for text in TEXTS * 3]


def test_blanks_are_whole_words_of_one_token(vocabulary, encoded):
    choices = BlankVocabulary(vocabulary)
    asked = sample_blanks(encoded, vocabulary, choices)
    assert {blank.sentence for blank in asked} == set(range(len(encoded)))
    for blank in asked:
        ids = encoded[blank.sentence]
        assert ids[blank.place] == blank.token and vocabulary.token_bytes(blank.token).strip().isalpha()
        word, at = vocabulary.words_with_positions(ids)[blank.word]
        assert at == (blank.place,) and vocabulary.token_bytes(blank.token).decode().strip() == word
        assert choices.is_sentence_initial(blank.token) == (blank.place == 0)
        assert choices.tokens[blank.place == 0][choices.number[blank.token]] == blank.token


def test_counting_predicts_words_between_neighbours(vocabulary, encoded):
    choices = BlankVocabulary(vocabulary)
    dev, asked = sample_blanks(encoded[:30], vocabulary, choices, "dev"), sample_blanks(encoded, vocabulary, choices)
    counted = NeighbourCounts(vocabulary, choices, encoded, [(encoded, blank) for blank in (*dev, *asked)])
    made = NeighbourBaseline(counted, encoded, dev)
    told = made.score(encoded, asked)
    assert told.right.mean() > 0.85 and told.log_probs.mean() > -0.5
    for blank, log_prob in list(zip(asked, told.log_probs, strict=True))[:20]:
        row = made.distribution(encoded, blank)
        assert row.sum() == pytest.approx(1, abs=1e-12) and row.min() > 0
        assert np.log(row[choices.number[blank.token]]) == log_prob
    verb = next(blank for blank in asked if vocabulary.token_bytes(blank.token) == b" sees")
    assert [own.most_common(1)[0][0] for own in counted.counts(encoded, verb)[5:]] == [choices.number[verb.token]] * 4
    nothing = NeighbourBaseline(
        NeighbourCounts(vocabulary, choices, encoded[:1], [(encoded, b) for b in (*dev, *asked)]), encoded, dev
    )
    assert nothing.score(encoded, asked).log_probs.mean() < told.log_probs.mean() - 1


def test_a_model_chooses_among_the_same_words(vocabulary, encoded):
    choices, lab = BlankVocabulary(vocabulary), tiny.checkpoint(vocabulary, **READS)
    asked = sample_blanks(encoded[:5], vocabulary, choices)
    told = score(lab.model, vocabulary, encoded, asked, choices)
    for n, blank in enumerate(asked):
        ids = [START, *encoded[blank.sentence], END]
        ids[1 + blank.place] = vocabulary.mask
        logits = lab.model.project(teacher_forced_states(lab.model, torch.tensor([ids]), None))[0, 1 + blank.place].double()
        among = logits[choices.tokens[choices.is_sentence_initial(blank.token)]]
        assert told.log_probs[n] == pytest.approx(float(logits[blank.token] - among.logsumexp(0)), abs=1e-5)
        assert told.right[n] == (float(among.max()) == float(logits[blank.token]))


def test_evaluate_prints_one_object(vocabulary, tmp_path, capsys):
    checkpoints.save(tiny.checkpoint(vocabulary, **READS), tmp_path / "lab")
    (tmp_path / "text.txt").write_text("".join(f"{text}\n" for text in TEXTS * 2), encoding="utf-8")
    text, lab = str(tmp_path / "text.txt"), str(tmp_path / "lab")
    words = ["evaluate", "--checkpoint", lab, "--data", text, text, "--baseline", text, "--dev", text, "--device", "cpu"]
    assert main([*words, "--record", "test", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for part, rival in (("words", "neighbours"), ("follows", "overlap")):
        low, high = found[part]["accuracy_interval"]
        assert 0 <= low <= found[part]["accuracy"] <= high <= 1 and found[part]["log_loss"] > 0
        gain = found[part]["accuracy"] - found[part][rival]["accuracy"]
        assert found[part]["gain"]["accuracy"] == pytest.approx(gain, abs=2e-4)
    assert found["words"]["neighbours"]["accuracy"] > 0.8 > found["words"]["accuracy"]
    assert checkpoints.load(lab).metrics["test"]["words"] == found["words"]
    card = (tmp_path / "lab" / "README.md").read_text(encoding="utf-8")
    assert card.count("## Scores") == 1 and f"| the model | {found['words']['accuracy']:.1%} |" in card
