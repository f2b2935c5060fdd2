"""What a warning is worth: how often it was right on sentences whose translations were compared with references."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from model.files import shown
from model.limits import is_count

ENOUGH = 100  # warnings: of fewer the share that is right is known too badly to be told in tenths


@dataclass(frozen=True)
class Worth:
    """Of `sentences`, `bad` came out badly; a warning stood at `warned` of them, and `right` of these came out badly."""

    sentences: int
    bad: int
    warned: int
    right: int

    @property
    def precision(self) -> float:
        """How many of the warnings are right, 0 to 1; nan without a warning."""
        return self.right / self.warned if self.warned else float("nan")

    @property
    def recall(self) -> float:
        """How many of the bad translations were warned of, 0 to 1; nan where none is bad."""
        return self.right / self.bad if self.bad else float("nan")

    @property
    def base(self) -> float:
        """The precision of warning always."""
        return self.bad / self.sentences

    def told(self) -> str:
        """`Such warnings are right 5 times of 10 (by chance 2).`; empty for too few warnings to say so."""
        if self.warned < ENOUGH:
            return ""
        return f"Such warnings are right {10 * self.precision:.0f} times of 10 (by chance {10 * self.base:.0f})."


def read(metrics: Mapping[str, Any]) -> dict[str, Worth]:
    """The worth of each kind of warning, where a checkpoint's metrics have it; ValueError that names what is wrong."""
    if "warnings" not in metrics:
        return {}
    values = metrics["warnings"]
    rules = values.get("rules") if isinstance(values, Mapping) else None
    if not isinstance(rules, Mapping):
        raise ValueError("'warnings' has no object 'rules', with the numbers of each kind of warning")
    found = {}
    for name, rule in rules.items():
        numbers = [rule.get(key) if isinstance(rule, Mapping) else None for key in ("warned", "right")]
        numbers = [values.get("sentences"), values.get("bad"), *numbers]
        whole = all(map(is_count, numbers))
        if not whole or not numbers[3] <= min(numbers[1:3]) or not 0 < max(numbers[1:3]) <= numbers[0]:
            told = f"{shown(name)} has sentences, bad, warned, right = {shown(numbers)}"
            raise ValueError(f"'warnings': {told}; expected counts that fit one another")
        found[str(name)] = Worth(*numbers)
    return found
