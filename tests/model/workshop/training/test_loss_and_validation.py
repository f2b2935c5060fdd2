"""The loss and the schedule of training."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from model.config import PAD, START, TrainConfig
from model.network import masks
from model.network.context import shift_right
from model.workshop.corpus.corpus import Batch
from model.workshop.training.loss_and_validation import batch_loss, learning_rate, smoothed_loss
from tests.support import tiny


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
