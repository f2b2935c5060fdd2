"""Two sentences: which of them a token belongs to changes what comes out, and a second that is not there changes nothing."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import torch

from model import checkpoint as checkpoints
from model import trace
from model.__main__ import main
from model.config import END, PAD, START
from model.inference.analyse import analyse, next_sentence_probabilities, swap_sentences
from model.inference.request import Request
from model.inference.source_reading import source_ids
from model.text.tokenizer import Tokenizer
from tests.support import tiny

ONE, TWO = "The red fox ___ a lamp.", "The old ___ takes it."
BOTH = Request(ONE, second=TWO)


@pytest.fixture(scope="module")
def lab():
    tokenizer = Tokenizer.train(tiny.SENTENCES, 400, blanks=True)
    reads = {"family": "encoder-only", "decoder_layers": 0, "source_start": True, "segments": 2, "pooler": True}
    made = tiny.checkpoint(tokenizer, dtype=torch.float64, **reads, follows=True)
    return dataclasses.replace(made, languages=("Danish", "Danish"), token_counts={})


def test_two_sentences_are_read_in_one_input(lab):
    first, second = source_ids(lab, ONE), source_ids(lab, TWO)
    ids = source_ids(lab, ONE, TWO)
    assert ids == [*first, *second[1:]] and ids[0] == START
    assert ids.count(END) == ids.count(lab.source_tokenizer.mask) == 2
    axis = analyse(lab, BOTH).trace.source
    assert axis.ids == tuple(ids) and axis.sentence_numbers == (0,) * len(first) + (1,) * (len(second) - 1)
    assert analyse(lab, Request(ONE)).trace.source.sentence_numbers == ()
    assert trace.END == END


def test_segments_matter_for_two_sentences_only(lab):
    both = analyse(lab, BOTH)
    segments = lab.model.source_embedding.segments.weight
    kept = segments.clone()
    try:
        with torch.no_grad():
            segments.copy_(kept.flip(0))
        swapped = analyse(lab, BOTH)
        assert abs(swapped.next_sentence_probability - both.next_sentence_probability) > 1e-6 and not np.allclose(
            swapped.trace.log_probs, both.trace.log_probs
        )
        with torch.no_grad():
            segments.copy_(torch.stack([kept[0], kept[1] + 9]))
        alone = analyse(lab, Request(ONE))
    finally:
        with torch.no_grad():
            segments.copy_(kept)
    assert np.array_equal(alone.trace.log_probs, analyse(lab, Request(ONE)).trace.log_probs)
    assert alone.next_sentence_probability is None and alone.swapped_probability is None


def test_follows_is_the_head_and_turned_its_reverse(lab):
    found, back = analyse(lab, BOTH), analyse(lab, Request(TWO, second=ONE))
    assert found.swapped_probability == pytest.approx(
        back.next_sentence_probability, abs=1e-12
    ) and back.swapped_probability == pytest.approx(found.next_sentence_probability, abs=1e-12)
    assert abs(found.next_sentence_probability - back.next_sentence_probability) > 1e-6
    ids = list(found.trace.source.ids)
    assert swap_sentences(swap_sentences(ids)) == ids and next_sentence_probabilities(lab, ids)[0] == pytest.approx(
        found.next_sentence_probability, abs=1e-12
    )
    assert next_sentence_probabilities(lab, [*ids, PAD, PAD])[0] == pytest.approx(found.next_sentence_probability, abs=1e-12)


def test_padding_of_two_sentences_changes_nothing(lab):
    plain, padded = analyse(lab, BOTH), analyse(lab, dataclasses.replace(BOTH, pad=3))
    real = len(plain.trace.source)
    assert padded.next_sentence_probability == pytest.approx(plain.next_sentence_probability, abs=1e-12)
    assert np.allclose(padded.trace.log_probs[:real], plain.trace.log_probs, atol=1e-6)
    edited = analyse(lab, dataclasses.replace(BOTH, intervention=tiny.edited("off_enc.1")))
    assert (
        edited.baseline.next_sentence_probability == pytest.approx(plain.next_sentence_probability, abs=1e-12)
        and abs(edited.next_sentence_probability - plain.next_sentence_probability) > 1e-9
    )
    given = analyse(lab, dataclasses.replace(BOTH, intervention=tiny.edited("patch_enc.1_all")))
    assert given.trace.source.ids == plain.trace.source.ids  # the other first sentence stands before the same second one


def test_the_command_line_tells_both(lab, tmp_path, monkeypatch, capsys):
    checkpoints.save(dataclasses.replace(lab, model=lab.model.float()), tmp_path / "two")
    lab.model.double()
    monkeypatch.setenv("CHECKPOINTS", str(tmp_path))
    assert main(["translate", ONE, "--second", TWO, "--checkpoint", "two"]) == 0
    one, two, told = capsys.readouterr().out.splitlines()
    assert one.startswith("The red fox") and two.startswith("The old")
    assert told.startswith("the second sentence follows the first: 0.")
    assert main(["translate", ONE, "--second", TWO, "--checkpoint", "two", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["second"] == TWO and 0 < found["follows"] < 1 and found["turned"] != found["follows"]
    assert found["filled"].splitlines() == [one, two] and "translation" not in found
    assert [found["source_tokens"][each["place"] - 1] for each in found["blanks"]] == ["<mask>"] * len(found["blanks"])
    assert all(each["word"] in found["filled"] and 0 < each["probability"] < 1 for each in found["blanks"])
    assert main(["translate", ONE, "--second", TWO]) == 2
    assert "reads one sentence" in capsys.readouterr().err
