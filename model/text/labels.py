"""The labels of a classifier, numbered and shown as a tokenizer's tokens are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class Labels:
    """Names for what a classifier chooses from, in the order of its logits."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    @property
    def size(self) -> int:
        return len(self.names)

    def piece(self, label: int) -> str:
        return self.names[label]

    def pieces(self, labels: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.names[label] for label in labels)

    def segments(self, labels: Iterable[int]) -> list[str]:
        """The names as parts of a text."""
        return list(self.pieces(labels))
