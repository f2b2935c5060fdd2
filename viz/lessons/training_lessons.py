"""Lessons in which the visitor trains small models: their checks read the trainings of the visit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from viz.lessons.lesson_checks import Check, Seen, Verdict
from viz.state import trainings
from viz.state.trainings import Training
from viz.training.train_one import LEARNED

FAILED = 0.1  # share of exact answers up to which a model has not learned its task
MIRRORED = 0.5  # mean weight on the mirrored letter
NO_LOSS = 0.05  # nats a token


def newest(task: str, **parts: bool) -> Training | None:
    """Returns the newest training of this visit of a task and with these parts, once it has a report."""
    wanted = {"positions": True, "causal": True} | parts
    found = [
        each
        for each in trainings.of_session()
        if each.reports and not each.config.get("pairs") and (each.config["task"] == task)
        if all(each.config[name] == value for name, value in wanted.items())
    ]
    return found[-1] if found else None


def _unless(training: Training | None, missing: str, judge: Callable[[Training], Verdict]) -> Verdict:
    if training is None:
        return Verdict(False, missing)
    return judge(training)


def _share(training: Training) -> str:
    return f"{training.title}: {training.accuracy:.0%} of {training.held_out} new answers right"


def learns(task: str, title: str) -> Check:
    """Returns a check: a training of the task has learned it."""

    def judge(training: Training) -> Verdict:
        is_learned = training.accuracy >= LEARNED
        return Verdict(is_learned, f"{_share(training)}." + ("" if is_learned else f" Needed: {LEARNED:.0%}."))

    return lambda seen: _unless(newest(task), f"Train “{title}” first.", judge)


def mirrored_weight(training: Training) -> tuple[int, int, float]:
    """Returns layer and head, from 1, and the weight of the head with the largest mean weight on the mirrored letter."""
    layers, heads = training.config["layers"], training.config["heads"]
    total, rows = np.zeros((layers, heads)), 0
    for example, levels in zip(training.examples, training.maps, strict=True):
        shape = len(example["target_tokens"]), len(example["source_tokens"])
        maps, count = np.reshape(levels, (layers, heads, *shape)) / 255, shape[1] - 1  # letters without </s>
        total += sum(maps[:, :, row, count - 1 - row] for row in range(count))
        rows += count
    layer, head = np.unravel_index(int(total.argmax()), total.shape)
    return int(layer) + 1, int(head) + 1, float(total[layer, head] / rows)


def looks_back(seen: Seen) -> Verdict:
    """Checks that reversing was learned and that a head looks at the mirrored letter."""

    def judge(training: Training) -> Verdict:
        if training.accuracy < LEARNED:
            return Verdict(False, f"{_share(training)}. Needed: {LEARNED:.0%}.")
        layer, head, weight = mirrored_weight(training)
        said = f"{_share(training)}. Head cross {layer}.{head} puts {weight:.2f} of its weight on the mirrored letter"
        return Verdict(weight >= MIRRORED, f"{said}, the mean over three examples.")

    return _unless(newest("reverse"), "Train “Reverse” first.", judge)


def carry_weight(training: Training) -> float:
    """Returns the weight of the first row of cross-attention, the carry's, on digits: the mean over heads and examples."""
    shares = []
    for example, levels in zip(training.examples, training.maps, strict=True):
        source, rows = example["source_tokens"], len(example["target_tokens"])
        first = np.reshape(levels, (-1, rows, len(source)))[:, 0] / 255  # [L*H,S]
        shares.append(first[:, [token.isdigit() for token in source]].sum(1).mean())
    return float(np.mean(shares))


def reads_the_carry(seen: Seen) -> Verdict:
    """Checks that addition was learned and that the row of the carry looks at the digits below it."""

    def judge(training: Training) -> Verdict:
        if training.accuracy < LEARNED:
            return Verdict(False, f"{_share(training)}. Needed: {LEARNED:.0%}. Press “Go on”.")
        weight = carry_weight(training)
        said = f"{_share(training)}. The first row puts {weight:.2f} of its weight on the digits"
        return Verdict(weight > MIRRORED, f"{said}, the mean over heads and three examples.")

    return _unless(newest("add"), "Train “Add two numbers” first.", judge)


def order_is_needed(seen: Seen) -> Verdict:
    """Checks that without positions copying fails and sorting works."""
    copied, sorted_ = newest("copy", positions=False), newest("sort", positions=False)
    every: Sequence[tuple[Training | None, str]] = ((copied, "Copy"), (sorted_, "Sort digits"))
    if missing := [name for training, name in every if training is None]:
        known = "".join(f"{_share(training)}. " for training, _ in every if training is not None)
        return Verdict(False, f"{known}Train “{missing[0]}” with “No positions”.")
    assert copied is not None and sorted_ is not None
    said = f"{_share(copied)}. {_share(sorted_)}."
    return Verdict(copied.accuracy <= FAILED and sorted_.accuracy >= LEARNED, said)


def cheats(seen: Seen) -> Verdict:
    """Checks that without the causal mask the loss vanishes and decoding fails."""

    def judge(training: Training) -> Verdict:
        loss = training.reports[-1]["loss"]
        said = f"{_share(training)}, although the loss is {loss:.3f} nats a token."
        if loss >= NO_LOSS:
            return Verdict(
                False, f"{_share(training)}, loss {loss:.3f} nats a token. Let it train until it is below {NO_LOSS}."
            )
        return Verdict(training.accuracy <= FAILED, said)

    return _unless(newest("reverse", causal=False), "Train “Reverse” with “No causal mask” first.", judge)
