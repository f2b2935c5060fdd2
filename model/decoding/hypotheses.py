"""What decoding finds, as values: hypotheses, and the tree that they grow on. No torch here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ..config import END

Status = Literal["grown", "finished", "limit", "pruned"]


@dataclass(frozen=True)
class Hypothesis:
    """One path: the tokens chosen, `</s>` included where it ended by itself."""

    ids: tuple[int, ...]
    log_probs: tuple[float, ...]  # natural logarithm, one a token

    @property
    def finished(self) -> bool:
        """False where the limit of tokens was reached before `</s>`."""
        return bool(self.ids) and self.ids[-1] == END

    @property
    def score(self) -> float:
        """Summed log-probability in nats."""
        return sum(self.log_probs)

    def normalised(self, alpha: float) -> float:
        """What beam search ranks by: the score over the length penalty."""
        return self.score / length_penalty(len(self.ids), alpha)


def length_penalty(length: int, alpha: float) -> float:
    """((5 + length) / 6)^alpha of Wu et al. 2016, equation 14; `</s>` counts. An alpha of 0 ranks by the sum alone."""
    return ((5 + length) / 6) ** alpha


@dataclass(frozen=True)
class Node:
    """One token on one or more paths: the `step`th, from 1, after the node numbered `parent` (None at the root)."""

    parent: int | None
    step: int
    token: int
    log_prob: float
    score: float  # summed log-probability up to here
    status: Status  # grown: a path goes on; finished, limit: a hypothesis ends; pruned: the beam went on without it
    path: tuple[int, ...]


@dataclass(frozen=True)
class Tree:
    """All hypotheses of a decoding, the best first, and the paths that were given up on the way."""

    hypotheses: tuple[Hypothesis, ...]
    pruned: tuple[Hypothesis, ...] = ()

    def __len__(self) -> int:
        return len(self.hypotheses)

    def __iter__(self) -> Iterator[Hypothesis]:
        return iter(self.hypotheses)

    def __getitem__(self, number: int) -> Hypothesis:
        return self.hypotheses[number]

    def joined(self, other: Tree) -> Tree:
        """Both trees as one: this one's hypotheses first, then those of the other that are new."""
        known = {h.ids for h in self.hypotheses}
        more = tuple(h for h in other.hypotheses if h.ids not in known)
        return Tree((*self.hypotheses, *more), (*self.pruned, *other.pruned))

    def find(self, path: tuple[int, ...]) -> Hypothesis | None:
        """The path of some ids, else the best that begins with them; None where no path of the tree does."""
        paths = (*self.hypotheses, *self.pruned)
        begun = (each for each in paths if each.ids[: len(path)] == path)
        return next((each for each in paths if each.ids == path), next(begun, None))

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every token of every path, each once; a parent stands before its children, better paths before worse."""
        numbers: dict[tuple[int, ...], int] = {}
        found: list[Node] = []
        inner = {h.ids[:n] for h in (*self.hypotheses, *self.pruned) for n in range(len(h.ids))}
        ends = {h.ids: "finished" if h.finished else "limit" for h in self.hypotheses}
        for each in (*self.hypotheses, *self.pruned):
            score = 0.0
            for n, (token, log_prob) in enumerate(zip(each.ids, each.log_probs, strict=True), 1):
                path, score = each.ids[:n], score + log_prob
                if path in numbers:
                    continue
                status = ends.get(path) or ("grown" if path in inner else "pruned")
                parent = numbers[path[:-1]] if n > 1 else None
                numbers[path] = len(found)
                found.append(Node(parent, n, token, log_prob, score, status, path))
        return tuple(found)
