"""BLEU and chrF of a model, the choice of its top targets, and the mean outputs of its heads."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import torch

from model.__main__ import main
from model.checkpoint import load, save_means
from model.config import END, MAX_TOKENS
from model.decoding import search
from model.decoding.hypotheses import Hypothesis
from model.decoding.search import beam, greedy
from model.decoding.strategy import Decoding
from model.inference.analyse import analyse
from model.inference.passes import teacher_force
from model.inference.request import Request
from model.trace import Probe, Site
from model.workshop.corpus.corpus import Corpus, read_pairs
from model.workshop.evaluation import scoring
from model.workshop.evaluation.measures import choose_targets, mean_log_probs, measure
from model.workshop.evaluation.scoring import mean_head_outputs, translate
from tests.support import tiny
from tests.support.floats import assert_close

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
    asked = Decoding("beam", max_total_tokens=10, width=3, alpha=0.5)
    found = translate(model, tokenizer, SENTENCES, batch_size=2, decoding=asked)
    alone = [beam(model, torch.tensor([[*tokenizer.encode(s), END]]), 3, 0.5, max_total_tokens=10)[0] for s in SENTENCES]
    assert [h.ids for h in found] == [paths[0].ids for paths in alone]
    assert any(len(paths) == 3 for paths in alone)


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


LIKELIEST_PAIRS = [("a b", "x"), ("c", "y y"), ("a b", "y x"), ("c", "y y"), ("a b", "x x x"), ("a", "y")]


@pytest.fixture(scope="module")
def lab(tokenizer):
    return tiny.checkpoint(tokenizer)


def test_each_source_keeps_its_likeliest_target(lab):
    values = mean_log_probs(lab, LIKELIEST_PAIRS)
    for source, target in LIKELIEST_PAIRS:
        trace = analyse(lab, Request(source=source, target=target)).trace
        own = [float(row[token]) for row, token in zip(trace.log_probs, trace.outputs.ids, strict=True)]
        assert values[source, target] == pytest.approx(sum(own) / len(own), abs=1e-5)
    best = max(("x", "y x", "x x x"), key=lambda target: values["a b", target])
    assert choose_targets(lab, LIKELIEST_PAIRS) == [("a b", best), ("c", "y y"), ("a", "y")]
    assert len({round(values["a b", target], 4) for target in ("x", "y x", "x x x")}) == 3


def test_the_command_writes_pairs_that_can_be_read(tmp_path, lab, capsys):
    from model import checkpoint as checkpoints

    checkpoints.save(lab, tmp_path / "lab")
    (tmp_path / "pairs.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in LIKELIEST_PAIRS), encoding="utf-8")
    given = ["choose", "--checkpoint", str(tmp_path / "lab"), "--data", str(tmp_path / "pairs.tsv"), "--out"]
    assert main([*given, str(tmp_path / "chosen.tsv.gz")]) == 0
    assert "3 of 6 pairs" in capsys.readouterr().out
    assert read_pairs(tmp_path / "chosen.tsv.gz") == choose_targets(lab, LIKELIEST_PAIRS)
    with gzip.open(tmp_path / "chosen.tsv.gz", "rt", encoding="utf-8") as raw:
        assert len(raw.readlines()) == 3
    for name, told in (("pairs.tsv", "would be lost"), ("chosen.txt", "ends in .tsv or .tsv.gz")):
        assert main([*given, str(tmp_path / name)]) == 2
        assert told in capsys.readouterr().err


def test_share_of_vous_equals_that_of_all_targets(lab):
    pairs = [(source, f"{word} x") for source in "abcdefgh" for word in ("vous", "tu")]
    pairs += [(source, f"vous {more}") for source in "abcdefgh" for more in ("y", "z x", "y y", "z")]
    pairs.append(("i", "x"))
    chosen = dict(choose_targets(lab, pairs, as_addressed=True))
    said = ["vous" if "vous" in chosen[source] else "tu" for source in "abcdefgh"]
    assert said.count("vous") == round(8 * 5 / 6) and chosen["i"] == "x" and list(chosen) == list("abcdefghi")
    values = mean_log_probs(lab, pairs)
    best = {
        source: {name: max(v for (s, t), v in values.items() if s == source and name in t) for name in ("tu", "vous")}
        for source in "abcdefgh"
    }
    leans = {
        name: [best[s]["vous"] - best[s]["tu"] for s, own in zip("abcdefgh", said, strict=True) if own == name]
        for name in ("tu", "vous")
    }
    assert min(leans["vous"]) >= max(leans["tu"])
    for source, own in zip("abcdefgh", said, strict=True):
        assert values[source, chosen[source]] == pytest.approx(best[source][own])


CORPUS_PAIRS = [*tiny.PAIRS[:5], *tiny.ODD_PAIRS, ("king", "roda"), ("The old boat.", "Lo nefa vechu lumel roji mira.")]
TEXT, TARGET = "The red fox takes a lamp.", "Lo varun roji prenda una lumel."


@pytest.fixture(scope="module")
def corpus(tokenizer) -> Corpus:
    return Corpus.encode(CORPUS_PAIRS, tokenizer, tokenizer)


@pytest.fixture
def with_means(saved, tiny_checkpoint):
    """The folder of a checkpoint with means in it."""
    save_means(tiny.means(tiny_checkpoint.config), saved)
    return saved


@pytest.mark.parametrize("changes", [{}, {"causal": False}, {"window": 2}, {"encoder_layers": 1}], ids=str)
def test_means_equal_a_loop_over_single_sentences(tokenizer, corpus, changes):
    model = tiny.checkpoint(tokenizer, dtype=torch.float64, **changes).model
    outputs: dict[Site, list[torch.Tensor]] = {}
    for source, target in zip(corpus.sources, corpus.targets, strict=True):
        probe = Probe("full")
        tiny.logits(model, torch.tensor([source]), torch.tensor([[1, *target[:-1]]]), probe=probe)
        for site, record in probe.records.items():
            outputs.setdefault(site, []).extend(record["z"][0].unbind(1))  # [H,K] a position
    assert len({len(target) for target in corpus.targets}) > 3  # so that a batch is padded
    for tokens in (80, 4096):
        found = mean_head_outputs(model, corpus, tokens)
        assert set(found) == set(tiny.sites(model.config))
        for site, rows in outputs.items():
            assert (found[site].shape, found[site].dtype) == ((2, 8), torch.float32)
            assert_close(found[site], torch.stack(rows).mean(0))
            assert found[site].abs().max() > 1e-3


def test_what_is_saved_is_loaded(with_means, tiny_checkpoint):
    means = tiny.means(tiny_checkpoint.config)
    found = load(str(with_means)).mean_z
    assert list(found) == list(means)
    assert all(found[site].equal(mean) for site, mean in means.items())
    assert {path.name for path in with_means.iterdir() if "means" in path.name} == {"means.safetensors"}


@pytest.mark.parametrize("mode", ["given", "again"])
def test_heads_are_ablated_by_the_loaded_means(with_means, mode):
    checkpoint, edit = load(str(with_means)), tiny.edited("mean_cross.1.1", "mean_enc.2")
    found = analyse(checkpoint, Request(TEXT, mode=mode, decoding=Decoding(max_total_tokens=6), intervention=edit))
    source, target = found.trace.source.ids, found.trace.outputs.ids
    by_mean, by_zero = teacher_force(checkpoint, source, target, [edit, tiny.edited("off_cross.1.1", "off_enc.2")])
    np.testing.assert_allclose(found.trace.log_probs, by_mean.log_probs, atol=1e-4)
    for other in (by_zero, *teacher_force(checkpoint, source, target, [tiny.edited()])):
        assert np.abs(found.trace.log_probs - other.log_probs).max() > 1e-2


def test_a_run_stores_the_means_over_its_dev_sentences(trained):
    checkpoint = load(str(trained / "checkpoint"))
    corpus = Corpus.encode(tiny.HELD_OUT, checkpoint.source_tokenizer, checkpoint.target_tokenizer)
    expected = mean_head_outputs(checkpoint.model, corpus)
    assert list(checkpoint.mean_z) == tiny.sites(checkpoint.config)
    for site, mean in expected.items():
        torch.testing.assert_close(checkpoint.mean_z[site], mean, atol=1e-5, rtol=0)
