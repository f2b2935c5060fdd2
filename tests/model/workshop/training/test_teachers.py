"""Training on the probabilities of teachers."""

from __future__ import annotations

import math

import pytest
import torch

from model import checkpoint as checkpoints
from model.__main__ import main
from model.config import PAD
from model.network.context import teacher_forced_states
from model.workshop.corpus.corpus import Batch
from model.workshop.training.loss_and_validation import smoothed_loss
from model.workshop.training.run_folder import TrainingError
from model.workshop.training.teachers import WEIGHT, DistillationLoss
from tests.support import tiny
from tests.support.training_helpers import make, state


@pytest.mark.parametrize("rows", [1, 150])
def test_the_target_is_a_mixture(rows):
    draw = torch.Generator().manual_seed(rows)
    logits, *others = (4 * torch.randn(rows, 301, generator=draw) for _ in range(3))
    logits.requires_grad_()
    target = torch.randint(301, (rows,), generator=draw)
    own = 0.9 * torch.nn.functional.one_hot(target, 301) + 0.1 / 301
    mixture = 0.3 * own + 0.7 * (others[0].softmax(-1) + others[1].softmax(-1)) / 2
    expected = -(mixture * logits.log_softmax(-1)).sum()
    loss = smoothed_loss(logits, target, 0.1, others, 0.7)
    torch.testing.assert_close(loss, expected, rtol=1e-5, atol=0)
    ours, theirs = (torch.autograd.grad(x / 7, logits)[0] for x in (loss, expected))
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)


def test_a_pupil_equal_to_its_teacher_learns_the_target_alone():
    model, teacher = tiny.model(dtype=torch.float32), tiny.model(dtype=torch.float32)
    batch = Batch(tiny.padded([4, 6, 1], 6), tiny.padded([5, 2, 4], 5, seed=2))
    loss, tokens = DistillationLoss([teacher])(model, batch, 0.0)
    real = batch.outputs != PAD
    logits = model.project(teacher_forced_states(model, batch.source, batch.outputs)[real])
    entropy = -(logits.softmax(-1) * logits.log_softmax(-1)).sum()
    plain = smoothed_loss(logits, batch.outputs[real], 0.0)
    assert tokens == 11
    torch.testing.assert_close(loss, (1 - WEIGHT) * plain + WEIGHT * entropy)
    loss.backward()
    assert all(each.grad is None and not each.requires_grad for each in teacher.parameters())


def test_a_run_comes_nearer_to_its_teacher(tmp_path, pair_files, trained):
    teacher = str(trained / "checkpoint")
    runs = [
        make(tmp_path / name, pair_files, {}, teacher, named, epochs=3)
        for name, named in (("plain", ()), ("taught", (teacher,)))
    ]
    before = {k: v.clone() for k, v in state(runs[0]).items()}
    assert all(run.train() for run in runs)
    far, near = (math.sqrt(sum(((state(run)[k] - v) ** 2).sum() for k, v in before.items())) for run in runs)
    assert near < far
    facts = [checkpoints.load(str(tmp_path / name / "checkpoint")).metrics["training"] for name in ("plain", "taught")]
    assert "teachers" not in facts[0]
    assert [facts[1]["init"]] == facts[1]["teachers"] == ["made-up"]
    card = (tmp_path / "taught" / "checkpoint" / "README.md").read_text(encoding="utf-8")
    assert "the mean of the probabilities of `made-up`" in card
    with pytest.raises(TrainingError, match="other settings"):
        make(tmp_path / "taught", pair_files, {}, teacher, epochs=3)


@pytest.mark.parametrize(
    ("name", "fault"),
    [("en-fr", "has another vocabulary"), ("gpt-mini", "is decoder-only"), ("bert-mini", "is encoder-only")],
)
def test_an_unfit_teacher_is_refused(tmp_path, pair_files, name, fault):
    with pytest.raises(TrainingError, match=f"the teacher {name} {fault}") as caught:
        make(tmp_path, pair_files, teachers=(name,))
    assert "\n" not in str(caught.value)


def test_other_tasks_have_no_teachers(tmp_path, pair_files, capsys):
    files = ["--data", str(pair_files[0]), "--dev", str(pair_files[1]), "--out", str(tmp_path)]
    assert main(["train", "--task", "lm", *files, "--teachers", "en-fr"]) == 2
    assert "--teachers" in capsys.readouterr().err
