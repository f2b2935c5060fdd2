"""Contrasts: the right translation against the wrong one, the written words, and the effect of hiding a noun."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from model.__main__ import main
from model.experiments.faithfulness import Occlusion
from model.inference.analyse import analyse
from model.inference.request import Request
from model.io.numbers import wilson_interval
from model.workshop.corpus.corpus import DataError
from model.workshop.evaluation import contrast, translation_card
from model.workshop.evaluation.contrast import (
    ContrastResult,
    ContrastRow,
    contrast_preferences,
    likelier_shares,
    measure_contrast,
    read_contrast,
    token_positions,
)
from tests.support.command_line_helpers import fails

HEADER = "english\tright\twrong\tnoun\tother\tsplit"
ROWS = [
    ContrastRow("The old fox sees a lamp.", "Lo varun vechu mira una lumel.", "Lo varun mira.", "fox", "lamp", "seen"),
    ContrastRow("The fox finds the king, a fox.", "Lo varun truva lo roda.", "Lo nefa pinte.", "fox", "king", "unseen"),
    ContrastRow("A boat.", "Una nefa.", "Una lumel, una lumel, una lumel.", "boat", "A", "seen"),
]
IL = ContrastRow("x y", "Le chien est là parce qu'il est fatigué.", "Le chien est là parce qu'elle est fatiguée.", "x", "y")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.tsv"
    lines = ["\t".join((row.english, row.right, row.wrong, row.noun, row.other, row.split)) for row in ROWS]
    path.write_text("\n".join([HEADER, *lines, ""]), encoding="utf-8")
    return path


def test_shares_of_a_training_are_those_of_the_measure(tiny_checkpoint):
    tokenizers = (tiny_checkpoint.source_tokenizer, tiny_checkpoint.target_tokenizer)
    splits = measure_contrast(tiny_checkpoint, ROWS).summary()["splits"]
    shares = likelier_shares(tiny_checkpoint.model, *tokenizers, ROWS)
    assert shares == {f"contrast_{name}": part["likelier"] for name, part in splits.items()}


def test_file_is_read_by_the_names_of_its_columns(file, tmp_path):
    assert read_contrast(file) == ROWS
    other = tmp_path / "other.tsv"
    other.write_text("Wrong\tx\tnoun\tenglish\tother\tright\nb\t\tdog\tA dog, a cat.\tcat\ta\n", encoding="utf-8")
    assert read_contrast(other) == [ContrastRow("A dog, a cat.", "a", "b", "dog", "cat")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no row; expected a first line with the columns english, right, wrong, noun, other"),
        (HEADER, "no row"),
        ("english\tright\tnoun\tother\nA dog.\tUn chien.\tdog\tA\n", "there is no column wrong; expected a first line"),
        (f"{HEADER}\nA dog.\tUn chien.\t\tdog\tA\tx", "line 2: the column wrong is empty"),
        (f"{HEADER}\nA dog.\tUn chien.", "line 2: the column wrong is empty"),
        (f"{HEADER}\nA dog.\tUn chien.\tUN CHIEN !\tdog\tA\tx", "line 2: right and wrong have the same words"),
        (f"{HEADER}\nA dog.\ta\tb\tcat\tA\tx", "line 2: the noun 'cat' is no word of 'A dog.'"),
        (f"{HEADER}\nA dog.\ta\tb\tdo\tA\tx", "line 2: the noun 'do' is no word"),
        (f"{HEADER}\nA dog.\ta\tb\tdog\tcat\tx", "line 2: the other 'cat' is no word"),
        (f"{HEADER}\nA dog.\ta\tb\tdog\tDog\tx", "line 2: noun and other are both 'dog'; expected two words"),
        (f"{HEADER}\nA dog.\ta\tb\tdog\tA", "line 2: the column split is empty"),
    ],
)
def test_bad_file_is_one_sentence(tmp_path, capsys, text, message):
    path = tmp_path / "bad.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_contrast(path)
    assert message in str(caught.value) and str(caught.value).startswith(str(path))
    assert message in fails(capsys, "evaluate", "--contrast", str(path), "--checkpoint", "en-fr-peek")


def test_written_compares_only_the_words_that_differ():
    assert IL.is_written("LE CHAT dort parce qu’il est fatigué")
    assert not IL.is_written("Le chien est là parce qu'il est fatiguée.")
    assert not IL.is_written("Le chien est là parce qu'il est épuisé.")
    assert not IL.is_written("Il est fatigué, elle aussi.")
    twice = ContrastRow("x y", "La clé, je la vois.", "La clé, je le vois.", "x", "y")
    assert twice.is_written("la clé, oui, je la vois") and not twice.is_written("La clé, je vois.")


def test_wilson_interval_equals_published_values():
    assert wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)  # Newcombe 1998, table I
    assert wilson_interval(0, 10)[0] == 0 and wilson_interval(10, 10)[1] == 1
    with pytest.raises(ValueError, match="total is 0"):
        wilson_interval(0, 0)


def test_preferences_equal_those_of_single_passes(exact_checkpoint, monkeypatch):
    model, tokenizers = exact_checkpoint.model, (exact_checkpoint.source_tokenizer, exact_checkpoint.target_tokenizer)
    for hidden in (None, "noun", "other"):
        expected = []
        for row in ROWS:
            one, two = (single_log_prob(exact_checkpoint, row, target, hidden) for target in (row.right, row.wrong))
            expected.append(one - two)
        for tokens in (1, 2048):
            monkeypatch.setattr(contrast, "BATCH_TOKENS", tokens)
            assert contrast_preferences(model, *tokenizers, ROWS, hidden) == pytest.approx(expected, abs=1e-5)


def single_log_prob(checkpoint, row, target, hidden):
    """Returns the total log-probability of a target, with a noun hidden as in the test of faithfulness."""
    analysis = analyse(checkpoint, Request(row.english, target=target))
    test = Occlusion(checkpoint, analysis)
    places = set(token_positions(checkpoint.source_tokenizer, row, hidden)) if hidden else set()
    away = frozenset(n for n, own in enumerate(test.words.places) if places & set(own))
    assert {place for n in away for place in test.words.places[n]} == places
    test.compute({step: [away] for step in test.steps})
    return sum(test[away, step] for step in test.steps)


def test_every_occurrence_of_a_noun_is_hidden(tokenizer):
    positions = token_positions(tokenizer, ROWS[1], "noun")
    pieces = tokenizer.pieces(tokenizer.encode(ROWS[1].english))
    assert "".join(pieces[n] for n in positions) == "foxfox"
    accent = ContrastRow("A cafe\u0301's king.", "a", "b", "café", "king")
    ids = tokenizer.encode(accent.english)
    raw = b"".join(tokenizer.bytes_of(ids)[n] for n in token_positions(tokenizer, accent, "noun"))
    assert raw.decode().strip() == "café"


def test_result_counts_by_split_and_in_total():
    losses = np.array([[2.0, -1.0], [0.5, -1.0], [-3.0, 1.0]])
    result = ContrastResult(("a", "b", "a"), np.array([1.0, -1.0, 0.0]), losses, np.array([True, True, False]))
    values = result.summary()
    assert list(values["splits"]) == ["a", "b"]
    total = values["total"]
    assert (total["rows"], total["likelier"], total["written"], total["causal"]) == (3, 0.3333, 0.6667, 0.6667)
    assert values["splits"]["a"]["causal"] == 1.0 and values["splits"]["b"]["causal"] == 0.0
    assert total["noun_loss"] == pytest.approx(-0.1667) and total["likelier_interval"] == [0.0615, 0.7923]
    alone = ContrastResult(("", ""), np.array([1.0, 2.0])).summary()
    assert set(alone) == {"total"} and "causal" not in alone["total"] and "written" not in alone["total"]


def test_mode_of_the_model_is_restored(tiny_checkpoint):
    model, tokenizers = tiny_checkpoint.model, (tiny_checkpoint.source_tokenizer, tiny_checkpoint.target_tokenizer)
    model.train()
    try:
        contrast_preferences(model, *tokenizers, ROWS)
        assert model.training
    finally:
        model.eval()
    with torch.inference_mode():
        assert measure_contrast(tiny_checkpoint, ROWS).preferences.shape == (3,)


def test_long_text_is_refused(tiny_checkpoint):
    row = ContrastRow("A fox. " * 100, "a", "b", "fox", "A")
    with pytest.raises(ValueError, match="is too long; expected at most 128 tokens"):
        measure_contrast(tiny_checkpoint, [row])


def test_command_prints_and_records_the_shares(saved, file, capsys):
    args = ["evaluate", "--checkpoint", str(saved), "--contrast", str(file)]
    assert main([*args, "--json", "--record", "contrast"]) == 0
    out, err = capsys.readouterr()
    values = json.loads(out)["contrast"]
    assert err == "" and (values["total"]["rows"], values["data"], values["beam"]) == (3, "mine", 1)
    assert list(values["splits"]) == ["seen", "unseen"]
    assert json.loads((saved / "metrics.json").read_text(encoding="utf-8"))["contrast"] == values
    card = (saved / "README.md").read_text(encoding="utf-8")
    assert main(args) == 0
    table = capsys.readouterr().out
    assert table.strip() in card and "| split | likelier | written | causal | rows |" in table
    assert table.splitlines()[-1].startswith("| total | ") and table.splitlines()[-1].endswith(" | 3 |")


def test_card_ignores_a_damaged_entry():
    for entry in (None, {}, {"total": {"rows": 3}}, {"total": {"rows": 3, "likelier": 2}}, {"splits": [], "total": {}}):
        assert translation_card.measures({"contrast": entry}) == ""
