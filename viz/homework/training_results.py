"""Tasks in which students train a small model: `training reverse reaches 95%`.

The result file holds the weights of the model, so the lecturer's lab decodes the held-out examples again. Weights are
float16, as in the model's checkpoint, in base64, in the order of the parameters of a model of these sizes.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from model.workshop.small.small_tasks import SIZES, TASKS
from viz.homework.assignment import AssignmentError, AssignmentTask
from viz.lessons.lesson_checks import Verdict
from viz.lessons.training_lessons import newest
from viz.state.result_cache import cached

if TYPE_CHECKING:
    from model.network.transformer import Transformer
    from model.workshop.small.small_training import SmallConfig

_CHECK = re.compile(r"training ([a-z]+) reaches (\d{1,3})%")
EXAMPLE = "training reverse reaches 95%"
MAX_SEED = 10_000


class _Goal(NamedTuple):
    """The task of a training by name, and the share of exact answers that it needs."""

    task: str
    share: float


def training_check_fault(line: str) -> str:
    """Returns why a line is no check of a training, as one sentence; empty for a check."""
    try:
        _read_check(line)
    except AssignmentError as fault:
        return str(fault)
    return ""


def _read_check(line: str) -> _Goal:
    match = _CHECK.fullmatch(line)
    if match is None:
        raise AssignmentError(f"“{line[:80]}” is no check of a training; expected one such as “{EXAMPLE}”.")
    if match[1] not in TASKS:
        raise AssignmentError(f"There is no small task “{match[1][:40]}”; expected one of {', '.join(TASKS)}.")
    if not 1 <= int(match[2]) <= 100:
        raise AssignmentError(f"A training cannot reach {match[2]}%; expected 1% to 100%.")
    return _Goal(match[1], int(match[2]) / 100)


def judge_live(task: AssignmentTask) -> tuple[Verdict, dict[str, Any] | None]:
    """Returns whether the newest training of this visit solves a task, and if so, the evidence for the result file."""
    try:
        goal = _read_check(task.check)
    except AssignmentError as fault:
        return Verdict(False, str(fault)), None
    training, title = newest(goal.task), TASKS[goal.task].title
    if training is None:
        return Verdict(False, f"Train “{title}” first."), None
    if training.accuracy < goal.share and (training.is_active or not training.is_saved):
        return _verdict(goal, training.accuracy, training.held_out), None
    if not training.is_saved:
        said = _verdict(goal, training.accuracy, training.held_out).said
        return Verdict(False, f"{said} It counts once the training has ended."), None
    config = {name: training.config[name] for name in ("task", *SIZES, "seed")}
    try:
        stamp = (training.folder / "model.safetensors").stat().st_mtime_ns
        evidence = _pack(
            training.name, stamp, str(training.folder), tuple(config.items()), int(training.reports[-1]["step"])
        )
    except (OSError, ValueError):  # it has just been deleted
        return Verdict(False, f"Train “{title}” first."), None
    verdict = _measured(training.name, stamp, task, evidence)
    return verdict, evidence if verdict.solved else None


@cached(16, ignore=("folder", "config", "steps"))
def _pack(name: str, stamp: int, folder: str, config: tuple[tuple[str, Any], ...], steps: int) -> dict[str, Any]:
    """Returns the configuration, the steps and the weights of a trained checkpoint."""
    from model.checkpoint import load

    parameters = [each.detach().numpy().ravel() for each in load(folder).model.parameters()]
    weights = np.concatenate(parameters).astype("<f2").tobytes()
    return {"config": dict(config), "steps": steps, "weights": base64.b64encode(weights).decode()}


@cached(16, ignore=("evidence",))
def _measured(name: str, stamp: int, task: AssignmentTask, evidence: dict[str, Any]) -> Verdict:
    return judge_evidence(task, evidence)


def judge_evidence(task: AssignmentTask, evidence: Mapping[str, Any] | None) -> Verdict:
    """Returns whether the weights of a result file solve a task: they decode the held-out examples of their training."""
    from model.workshop.small.small_training import held_out_pairs, share_right

    try:
        goal = _read_check(task.check)
        config = _read_config(evidence, goal)
        model = _read_model(config, evidence)
    except AssignmentError as fault:
        return Verdict(False, str(fault))
    pairs = held_out_pairs(config.task, config.seed)
    return _verdict(goal, share_right(model, pairs), len(pairs))


def _verdict(goal: _Goal, share: float, count: int) -> Verdict:
    said = f"{TASKS[goal.task].title}: {round(share * count)} of {count} new answers right, {share:.1%}."
    holds = share >= goal.share - 1e-9
    return Verdict(holds, said if holds else f"{said} Needed: {goal.share:.0%}.")


def _read_config(evidence: Any, goal: _Goal) -> SmallConfig:
    """Returns the sizes and the seed of a training with positions, mask and scaling. Raises AssignmentError."""
    from model.workshop.small.small_training import SmallConfig

    config = evidence.get("config") if isinstance(evidence, Mapping) else None
    if not isinstance(config, Mapping):
        raise AssignmentError("The file has no training for this task.")
    if config.get("task") != goal.task:
        raise AssignmentError(f"The training is of {ascii(config.get('task'))[:40]}; expected {goal.task!r}.")
    numbers = {name: config.get(name) for name in (*SIZES, "seed")}
    if wrong := next((name for name, value in numbers.items() if type(value) is not int), ""):
        raise AssignmentError(f"The training's {wrong} is no whole number.")
    if not 0 <= numbers["seed"] <= MAX_SEED:
        raise AssignmentError(f"The training's seed is not within 0 and {MAX_SEED:,}.")
    try:
        return SmallConfig(goal.task, **numbers)
    except ValueError as fault:
        raise AssignmentError(f"The training's {fault}.") from None


def _read_model(config: SmallConfig, evidence: Any) -> Transformer:
    """Returns the model with the weights of the evidence. Raises AssignmentError."""
    import torch

    from model.network.transformer import build

    model = build(config.model)
    count = sum(each.numel() for each in model.parameters())
    weights = evidence.get("weights")
    if not isinstance(weights, str) or len(weights) != 4 * -(-2 * count // 3):
        raise AssignmentError(f"The training's weights are not {count:,} numbers, which a model of these sizes has.")
    try:
        values = np.frombuffer(base64.b64decode(weights, validate=True), "<f2").astype(np.float32)
    except ValueError:
        raise AssignmentError("The training's weights are damaged.") from None
    if len(values) != count or not np.isfinite(values).all():
        raise AssignmentError("The training's weights are damaged.")
    torch.nn.utils.vector_to_parameters(torch.from_numpy(values), model.parameters())
    return model.eval().requires_grad_(False)
