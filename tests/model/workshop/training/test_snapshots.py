"""The loss and the schedule of training, and snapshots of probe sentences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from model.config import END, PAD, START, TrainConfig
from model.network import masks
from model.network.context import Pass, shift_right
from model.text.tokenizer import Tokenizer
from model.trace import Probe
from model.workshop.corpus.corpus import Batch
from model.workshop.evaluation.probes import read_probes
from model.workshop.training import snapshots
from model.workshop.training.loss_and_validation import batch_loss, learning_rate, smoothed_loss
from model.workshop.training.recording import Recording
from model.workshop.training.snapshots import SnapshotRecorder
from tests.support import tiny


@pytest.fixture
def recorder(exact_checkpoint) -> SnapshotRecorder:
    """Three steps of a model that changes in between."""
    tokenizer = exact_checkpoint.source_tokenizer
    listed = [(str(n), s, [t, "another"]) for n, (s, t) in enumerate(tiny.PAIRS[:3])]
    made = SnapshotRecorder(snapshots.encode_probes(listed, tokenizer, tokenizer))
    for seed, step in enumerate((0, 1, 8)):
        made.record(step, tiny.checkpoint(tokenizer, seed).model)
    return made


@pytest.fixture(scope="module")
def blanked() -> Tokenizer:
    return Tokenizer.train(tiny.SENTENCES, 400, blanks=True)


def test_what_is_recorded_is_what_the_model_computes(recorder, exact_checkpoint):
    model = tiny.checkpoint(exact_checkpoint.source_tokenizer, 1).model
    recording = recorder.recording()
    for number, sentence in enumerate(recording.sentences):
        source, inputs = torch.tensor([sentence.source]), torch.tensor([[START, *sentence.target[:-1]]])
        assert sentence.source[-1] == sentence.target[-1] == END
        probe = Probe("maps")
        log_probs = model(source, inputs, masks.build(model.config, source, inputs), Pass(probe=probe))[0].log_softmax(-1)
        expected = log_probs[torch.arange(inputs.size(1)), list(sentence.target)].numpy()
        np.testing.assert_allclose(recording.log_probs(number)[1], expected, atol=1e-5)
        for site in probe.records:
            found = recording.patterns(number, site)[1]
            np.testing.assert_allclose(found, probe.array(site, "pattern"), atol=0.5 / 255 + 1e-6)
            assert found.dtype == np.float32
    assert recording.losses().shape == (3, 3)
    assert recording.losses()[1, 2] == pytest.approx(-recording.log_probs(2)[1].mean())


def test_loss_of_a_probe_counts_blanks_only(blanked):
    sentences = snapshots.encode_blanks(
        [("one", "The red [fox] sees a lamp."), ("two", "The [red fox] sees.")], blanked, True
    )
    for each in sentences:
        assert each.has_blanks and each.scored_positions == tuple(
            n for n, id in enumerate(each.source) if id == blanked.mask
        )
    rows = [np.log(np.linspace(0.1, 0.9, each.score_count, dtype=np.float32))[None] for each in sentences]
    recording = Recording(tuple(sentences), (0,), {f"log_probs/{n}": row for n, row in enumerate(rows)})
    expected = [-np.mean([row[0, n] for n in each.scored_positions]) for row, each in zip(rows, sentences, strict=True)]
    np.testing.assert_allclose(recording.losses(), [expected], rtol=1e-6)
    plain = snapshots.encode_probes([("plain", "The red fox.", ["The red fox."])], blanked, blanked)[0]
    assert not plain.has_blanks and plain.scored_positions == tuple(range(len(plain.target)))


def test_a_file_gives_back_what_was_saved(recorder, tmp_path):
    one = recorder.recording()
    one.save(tmp_path / "probes.npz")
    two = Recording.load(tmp_path / "probes.npz")
    assert (two.sentences, two.steps) == (one.sentences, one.steps)
    assert {k: v.tobytes() for k, v in two.arrays.items()} == {k: v.tobytes() for k, v in one.arrays.items()}
    assert [p.name for p in tmp_path.iterdir()] == ["probes.npz"]


def test_shortest_probes_are_kept_in_file_order(tokenizer):
    listed = [(str(n), "boat " * (1 + n * 7 % 20), ["nefa"]) for n in range(20)]
    kept = SnapshotRecorder(snapshots.encode_probes(listed, tokenizer, tokenizer)).sentences
    assert len(kept) == 12
    assert [s.name for s in kept] == sorted((s.name for s in kept), key=int)
    assert max(s.source_text.count("boat") for s in kept) == 12
    texts = [(name, source) for name, source, _ in listed]  # of which one side is empty
    judged = snapshots.encode_labelled(texts, tokenizer, ("good", "bad"), start=True)
    for one_sided in (judged, snapshots.encode_texts(texts, tokenizer)):
        assert [s.name for s in SnapshotRecorder(one_sided).sentences] == [s.name for s in kept]
    wide = tiny.config(family="encoder-only", decoder_layers=0, encoder_layers=6, d_model=64, heads=64)
    few = SnapshotRecorder(judged, None, wide).sentences  # no room for all: the longest go
    assert 1 < len(few) < 12
    longest_kept = max(len(s.source) for s in few)
    assert all(len(s.source) >= longest_kept for s in judged if s not in few)


def test_braces_in_a_probe_are_choices(tmp_path):
    path = tmp_path / "probes.txt"
    lines = ("a\tb\tIl {est/était} {/très }tard.|Tard", "c\td\t{e} f/g {h | i}", "j\tk\t" + "|".join(map(str, range(2000))))
    path.write_text("\n".join(lines), encoding="utf-8")
    (*_, some), (*_, plain), (*_, many) = read_probes(path)
    assert some == ["Il est tard.", "Il est très tard.", "Il était tard.", "Il était très tard.", "Tard"]
    assert plain == ["{e} f/g {h", "i}"] and len(many) == 2000


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize(
    ("rows", "size", "dtype"),
    [(30, 17, torch.float32), (1, 301, torch.float32), (150, 301, torch.float32), (150, 301, torch.bfloat16)],
)
def test_the_loss_is_torchs_cross_entropy(rows, size, dtype, smoothing):
    draw = torch.Generator().manual_seed(rows)
    logits = (60 * torch.randn(rows, size, generator=draw)).to(dtype).requires_grad_()
    target = torch.randint(size, (rows,), generator=draw)
    expected = F.cross_entropy(logits.float(), target, reduction="sum", label_smoothing=smoothing)
    loss = smoothed_loss(logits, target, smoothing)
    torch.testing.assert_close(loss, expected, rtol=1e-5, atol=0)
    ours, theirs = (torch.autograd.grad(x / 7, logits)[0] for x in (loss, expected))
    assert ours.dtype == dtype
    torch.testing.assert_close(ours, theirs, rtol=1e-2 if dtype == torch.bfloat16 else 1e-4, atol=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_padding_has_no_part_in_the_loss(smoothing):
    model = tiny.model(dtype=torch.float32)
    outputs = tiny.padded([5, 2, 4], 5, seed=2)
    inputs, batch = shift_right(outputs), Batch(tiny.padded([4, 6, 1], 6), outputs)
    assert inputs[1].tolist() == [START, int(outputs[1, 0]), PAD, PAD, PAD]
    loss, tokens = batch_loss(model, batch, smoothing)
    logits = model(batch.source, inputs, masks.build(model.config, batch.source, inputs))
    expected = F.cross_entropy(
        logits.flatten(0, 1), outputs.flatten(), ignore_index=PAD, reduction="sum", label_smoothing=smoothing
    )
    assert tokens == 11
    torch.testing.assert_close(loss, expected, rtol=1e-5, atol=0)


@pytest.mark.parametrize(("step", "expected"), [(1, 0.1 / 10), (5, 0.05), (10, 0.1), (60, 0.05), (110, 0.0), (500, 0.0)])
def test_cosine_schedule_by_hand(step, expected):
    config = TrainConfig(learning_rate=0.1, warmup=10, schedule="cosine")
    assert learning_rate(config, step, total=110) == pytest.approx(expected, abs=1e-12)


def test_noam_is_the_formula_of_the_paper():
    peak = 512**-0.5 * 4000**-0.5
    config = TrainConfig(learning_rate=peak, warmup=4000, schedule="noam")
    for step in (1, 100, 4000, 4001, 100_000):
        expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
        assert learning_rate(config, step, total=100_000) == pytest.approx(expected, rel=1e-9)
