from __future__ import annotations

import pytest
import torch

from model.config import END, MAX_TOKENS
from model.decoding import search
from model.decoding.hypotheses import Hypothesis
from model.decoding.search import beam, greedy, sample
from model.decoding.strategy import Decoding
from model.evaluation import scoring
from model.evaluation.measures import measure
from model.evaluation.scoring import score, translate

SENTENCES = ["The old boat finds a fox.", "boat", "The king.", "A red lamp sees the old king.", ""]


def test_translations_come_in_the_order_given(exact_checkpoint):
    model, tokenizer = exact_checkpoint.model, exact_checkpoint.source_tokenizer
    alone = [greedy(model, torch.tensor([[*tokenizer.encode(s), END]]))[0] for s in SENTENCES]
    assert len({h.ids for h in alone}) > 2
    for size in (1, 2, 64):
        done: list[int] = []
        found = translate(model, tokenizer, SENTENCES, batch_size=size, progress=done.append)
        assert [h.ids for h in found] == [h.ids for h in alone]
        assert sum(done) == len(SENTENCES)
        assert max(done) <= size


def test_a_sentence_over_the_limit_is_cut(exact_checkpoint, monkeypatch):
    shapes = []
    cut = lambda model, source, *_, **__: shapes.append(source) or [Hypothesis((END,), (0.0,))]  # noqa: E731
    monkeypatch.setattr(search, "greedy", cut)
    translate(exact_checkpoint.model, exact_checkpoint.source_tokenizer, ["q" * 500])
    assert shapes[0].shape == (1, MAX_TOKENS)
    assert shapes[0][0, -1] == END


def test_beam_search_takes_the_best_path(exact_checkpoint):
    model, tokenizer = exact_checkpoint.model, exact_checkpoint.source_tokenizer
    asked = Decoding("beam", limit=10, width=3, alpha=0.5)
    found = translate(model, tokenizer, SENTENCES, batch_size=2, decoding=asked)
    alone = [beam(model, torch.tensor([[*tokenizer.encode(s), END]]), 3, 0.5, limit=10)[0] for s in SENTENCES]
    assert [h.ids for h in found] == [paths[0].ids for paths in alone]
    assert any(len(paths) == 3 for paths in alone)


def test_sampling_in_a_batch_equals_sampling_alone(exact_checkpoint):
    model, tokenizer = exact_checkpoint.model, exact_checkpoint.source_tokenizer
    asked = Decoding("sample", limit=10, temperature=1.5, top_k=9, top_p=0.95, seed=3)
    found = [h.ids for h in translate(model, tokenizer, SENTENCES, batch_size=2, decoding=asked)]
    alone = [sample(model, torch.tensor([[*tokenizer.encode(s), END]]), 3, 1.5, 9, 0.95, limit=10)[0] for s in SENTENCES]
    assert found == [h.ids for h in alone]
    assert found != [h.ids for h in translate(model, tokenizer, SENTENCES, decoding=Decoding(limit=10))]


def test_any_of_several_references_counts():
    references = [["Lo roda prenda una nefa.", "Una nefa prenda lo roda."], ["Lo varun mira."]]
    scores = score(["Una nefa prenda lo roda.", "Lo varun mira."], references)
    assert scores["bleu"] == 100.0
    assert "nrefs:var" in scores["sacrebleu_signature"]


PAIRS = [("a", "Lo varun mira una lumel."), ("b", "Lo roda pinte."), ("a", "Una lumel mira lo varun."), ("c", "Lo nefa.")]


@pytest.fixture
def said(exact_checkpoint, monkeypatch):
    """Makes the model say what is asked for; the sentences that it was given come back."""
    asked, tokenizer = [], exact_checkpoint.target_tokenizer

    def say(*texts: str, finished: bool = True) -> list[str]:
        def answer(model, source_tokenizer, sentences, **_):
            assert not model.training
            asked.extend(sentences)
            ids = [(*tokenizer.encode(t), *[END] * finished) for t in texts]
            return [Hypothesis(row, (0.0,) * len(row)) for row in ids]

        monkeypatch.setattr(scoring, "translate", answer)
        return asked

    return say


def run(checkpoint, **options):
    return measure(checkpoint, PAIRS, **options)


def test_sentences_are_scored_by_their_first_reference(exact_checkpoint, said):
    asked = said("Lo varun mira una lumel.", "Lo roda pinte.", "Lo nefa.")
    scores = run(exact_checkpoint)
    assert asked == ["a", "b", "c"]
    assert scores["sentences"] == 3
    assert scores["bleu"] == scores["chrf"] == 100.0
    assert scores["unfinished"] == 0
    assert set(scores) == {"bleu", "chrf", "sentences", "unfinished", "seconds", "sacrebleu_signature", "references"}


def test_all_references_can_count(exact_checkpoint, said):
    said("Una lumel mira lo varun.", "Lo roda pinte.", "Lo nefa.")
    assert run(exact_checkpoint)["bleu"] < 80
    assert run(exact_checkpoint, references="all")["bleu"] == 100.0


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_of_the_model_comes_back(exact_checkpoint, said, training):
    said("x", "y", "z")
    exact_checkpoint.model.train(training)
    try:
        run(exact_checkpoint)
        assert exact_checkpoint.model.training == training
    finally:
        exact_checkpoint.model.eval()
