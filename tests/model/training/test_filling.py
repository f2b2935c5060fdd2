"""--task mlm: a tiny run learns to fill in, goes on where it was stopped, and leaves a checkpoint that the lab reads."""

from __future__ import annotations

import json

import pytest
import torch
from torch.nn import functional as F

from model import checkpoint as checkpoints
from model.__main__ import main
from model.config import PAD
from model.device import has_bfloat16
from model.inference.analyse import analyse
from model.inference.request import Request
from model.network.context import forced
from model.text.masking import Masking
from model.text.sentence_pairs import FOLLOWS, NOTHING, Books
from model.text.tokenizer import Tokenizer
from model.training.filling import filled_loss, losses, rows
from model.training.recording import Recording
from tests.support import tiny

SIZES = {"d_model": 32, "heads": 2, "encoder_layers": 2, "d_ff": 64, "dropout": 0.0}
BRIEF = {"vocab_size": 400, "batch_tokens": 200, "warmup": 20, "learning_rate": 1e-2, "masked": 0.2}
BRIEF |= {"validate_every": 100, "average": 1, "log_every": 50}


@pytest.fixture(scope="module")
def books(tmp_path_factory):
    """Two books in which the same sentences follow one another, in the same order."""
    folder = tmp_path_factory.mktemp("books")
    lines = ["The fox sees me. A lamp takes you. My boat paints him. Our king finds them."] * 24
    for name, own in (("one", lines), ("two", lines), ("dev", lines[:12])):
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in own), encoding="utf-8")
    return folder


def words(folder, out, *more, **changes):
    files = ["--data", str(folder / "one.txt"), str(folder / "two.txt"), "--dev", str(folder / "dev.txt"), "--out", str(out)]
    return ["train", "--task", "mlm", *files, "--device", "cpu", *tiny.options(**(SIZES | BRIEF | changes)), *more]


def test_run_learns_to_fill_in_blanks(books, tmp_path):
    assert main(words(books, tmp_path / "run", epochs=26)) == 0
    lab = checkpoints.load(str(tmp_path / "run" / "checkpoint"))
    first, last = (lab.metrics["validations"][n] for n in (0, -1))
    assert last["blanks_right"] > 0.8 and last["pairs_right"] > 0.8 and last["blank_loss"] < first["blank_loss"]
    near = (
        5e-3 if has_bfloat16(torch.device("cpu")) else 2e-4
    )  # the loss is measured as the run trains, its parts in float32
    assert last["dev_loss"] == pytest.approx(last["blank_loss"] + last["pair_loss"], abs=near)
    assert {"pairs_right", "pair_loss"} <= set(last)
    assert (lab.config.segments, lab.config.pooler, lab.config.follows, lab.source_tokenizer.mask) == (2, True, True, 3)
    assert set(lab.means) == set(tiny.sites(lab.config))
    watched = Recording.load(tmp_path / "run" / "checkpoint" / "probes.npz")  # sentences of the project's own
    for sentence in watched.sentences:
        blanks = [n for n, token in enumerate(sentence.source) if token == lab.source_tokenizer.mask]
        other = [n for n, (read, told) in enumerate(zip(sentence.source, sentence.target, strict=True)) if read != told]
        assert blanks and other == blanks
    found = analyse(lab, Request("The fox ___ me.")).trace
    place = found.source.ids.index(3)
    assert found.source.labels[place - 1] == "fox"  # the blank has taken the space before it
    assert lab.source_tokenizer.piece(int(found.log_probs[place].argmax())) == "·sees"
    log = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert any("blank_loss" in entry and "pair_loss" in entry for entry in log)
    card = (tmp_path / "run" / "checkpoint" / "README.md").read_text(encoding="utf-8")
    assert f"Kept: step {lab.metrics['dev']['step']:,}" in card and "Trained from scratch" in card


def test_a_stopped_run_ends_as_one_that_was_not(books, tmp_path):
    whole, halved = tmp_path / "whole", tmp_path / "halved"
    assert main(words(books, whole, epochs=2)) == 0
    assert main(words(books, halved, "--max-minutes", "0", epochs=2)) == 0
    assert main(words(books, halved, epochs=2)) == 0
    one, other = (checkpoints.load(str(folder / "checkpoint")).model.state_dict() for folder in (whole, halved))
    assert all(one[name].equal(value) for name, value in other.items())


def test_losses_of_blanks_and_pairs_are_added(books):
    tokenizer = Tokenizer.train(tiny.SENTENCES, 300, blanks=True)
    pairs = rows(Books.encode([tiny.SENTENCES], tokenizer), Masking(tokenizer, 0.15), "key", True)
    batch = pairs.batch(range(12))
    sizes = {"source_vocab": 300, "target_vocab": 300, "family": "encoder-only", "decoder_layers": 0, "source_start": True}
    model = tiny.model(**sizes, segments=2, pooler=True, follows=True)
    model.requires_grad_(False)
    each = pairs.blanks_a_pair
    total, count = filled_loss(model, batch, 0.0, each)
    assert count == pairs.tokens(range(12)) == int((batch.outputs != PAD).sum())
    hidden = forced(model, batch.source, None)
    real, judged = batch.outputs != PAD, batch.labels != NOTHING
    assert judged.any() and not judged.all()
    blanks = F.cross_entropy(model.project(hidden)[real], batch.outputs[real], reduction="sum")
    following = F.cross_entropy(model.following(hidden, batch.source)[judged], batch.labels[judged], reduction="sum")
    assert float(total) == pytest.approx(float(blanks + each * following), rel=1e-6)
    shares = [filled_loss(model, pairs.batch(rows), 0.0, each) for rows in (range(0, 12, 2), range(1, 12, 2))]
    assert float(sum(loss for loss, _ in shares)) == pytest.approx(float(total), rel=1e-6)  # however many processes
    all_of_it, judging = range(len(pairs)), sum(row.label != NOTHING for row in pairs.rows)
    assert each == pytest.approx(pairs.tokens(all_of_it) / judging)
    batch.labels[:] = NOTHING
    assert float(losses(model, batch)[3]) == 0 and FOLLOWS == 0
