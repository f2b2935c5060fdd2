"""The small trainings show what the lessons say. Each ends as soon as it does, or after a number of steps."""

from __future__ import annotations

import pytest
import torch

from benchmarks.small_tasks import aligned_weight, carry_share
from model.workshop.small import small_training
from model.workshop.small.small_training import SmallConfig, SmallTraining

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(small_training, "REPORT_SECONDS", 3.0)  # few reports: they take as long as ten steps
    yield
    torch.set_num_threads(before)


def trained(until, max_steps: int, **options) -> SmallTraining:
    """Trains until a report satisfies `until`, or so many steps."""
    training = SmallTraining(SmallConfig(**options))
    for report in training.run(1e6, max_steps):
        if until(report):
            break
    return training


def test_reversing_reads_the_mirrored_letter():
    training = trained(lambda report: report.accuracy >= 0.9, 3000, task="reverse")
    assert training.accuracy() >= 0.9
    assert aligned_weight(training, "reverse") > 0.5


def test_without_positions_sorting_works_and_copying_fails():
    sorted_ = trained(lambda report: report.accuracy >= 0.9, 3000, task="sort", positions=False)
    assert sorted_.accuracy() >= 0.9
    copied = trained(lambda report: False, sorted_.step, task="copy", positions=False)
    assert copied.accuracy() <= 0.1


def test_without_the_causal_mask_only_the_loss_is_good():
    training = trained(lambda report: report.loss < 0.02, 3000, task="reverse", causal=False)
    assert training.log[-1]["loss"] < 0.02
    assert training.accuracy() <= 0.1


def test_dates_are_learned_in_all_five_forms():
    training = trained(lambda report: report.accuracy >= 0.99, 6000, task="dates")
    assert training.accuracy() >= 0.99


def test_the_carry_of_a_sum_reads_digits():
    training = trained(lambda report: report.accuracy >= 0.99, 8000, task="add", d_model=64, heads=4)
    assert training.accuracy() >= 0.95
    assert carry_share(training) >= 0.9
