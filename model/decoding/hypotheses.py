"""The results of decoding: hypotheses and their tree. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ..config import END
from ..io.files import brief_repr

Status = Literal["grown", "finished", "limit", "pruned"]


@dataclass(frozen=True, repr=False)
class Hypothesis:
    """One path: its tokens, including `</s>` if it is finished."""

    ids: tuple[int, ...]
    log_probs: tuple[float, ...]  # natural logarithm, one a token

    __repr__ = brief_repr

    @property
    def is_finished(self) -> bool:
        """True if the path ends with `</s>`; False if it reached the limit."""
        return bool(self.ids) and self.ids[-1] == END

    @property
    def score(self) -> float:
        """Summed log-probability in nats."""
        return sum(self.log_probs)

    def normalised_score(self, alpha: float) -> float:
        """Returns the score over the length penalty, by which beam search ranks."""
        return self.score / length_penalty(len(self.ids), alpha)


def length_penalty(length: int, alpha: float) -> float:
    """Returns ((5 + length) / 6)^alpha of Wu et al. 2016, equation 14; `</s>` counts. Alpha 0 ranks by the sum alone."""
    return float(((5 + length) / 6) ** alpha)


@dataclass(frozen=True)
class Node:
    """One token on one or more paths: the `step`th, from 1, after the node numbered `parent` (None at the root)."""

    parent: int | None
    step: int
    token: int
    log_prob: float
    score: float  # summed log-probability up to here
    status: Status  # grown: a path continues; finished, limit: a hypothesis ends; pruned: the beam dropped it
    path: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Tree:
    """All hypotheses of a decoding, best first, and the pruned paths."""

    hypotheses: tuple[Hypothesis, ...]
    pruned: tuple[Hypothesis, ...] = ()

    __repr__ = brief_repr

    def __len__(self) -> int:
        return len(self.hypotheses)

    def __iter__(self) -> Iterator[Hypothesis]:
        return iter(self.hypotheses)

    def __getitem__(self, number: int) -> Hypothesis:
        return self.hypotheses[number]

    def merge(self, other: Tree) -> Tree:
        """Returns both trees as one: the hypotheses of this tree, then the new ones of the other."""
        known = {h.ids for h in self.hypotheses}
        new = tuple(h for h in other.hypotheses if h.ids not in known)
        return Tree((*self.hypotheses, *new), (*self.pruned, *other.pruned))

    def find(self, path: tuple[int, ...]) -> Hypothesis | None:
        """Returns the path with these ids, else the best that starts with them, else None."""
        paths = (*self.hypotheses, *self.pruned)
        longer = (each for each in paths if each.ids[: len(path)] == path)
        return next((each for each in paths if each.ids == path), next(longer, None))

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every token of every path, each once: parents before children, better paths before worse ones."""
        numbers: dict[tuple[int, ...], int] = {}
        nodes: list[Node] = []
        inner = {h.ids[:n] for h in (*self.hypotheses, *self.pruned) for n in range(len(h.ids))}
        ends: dict[tuple[int, ...], Status] = {h.ids: "finished" if h.is_finished else "limit" for h in self.hypotheses}
        for each in (*self.hypotheses, *self.pruned):
            score = 0.0
            for n, (token, log_prob) in enumerate(zip(each.ids, each.log_probs, strict=True), 1):
                path, score = each.ids[:n], score + log_prob
                if path in numbers:
                    continue
                status: Status = ends.get(path) or ("grown" if path in inner else "pruned")
                parent = numbers[path[:-1]] if n > 1 else None
                numbers[path] = len(nodes)
                nodes.append(Node(parent, n, token, log_prob, score, status, path))
        return tuple(nodes)


def first_difference(first: Sequence[int], second: Sequence[int]) -> int | None:
    """Returns the first position where two token sequences differ; None for equal ones."""
    for i, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return i
    return None if len(first) == len(second) else min(len(first), len(second))
