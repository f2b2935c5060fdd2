"""What of a pair can be another: one entry a kind, by the setting that says how many such pairs are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from model.text.corpus import DataError
from model.text.names import Names
from model.text.numbers import Numbers
from model.text.rewritten import Kind, Rewritten

# Field of TrainConfig: what the kind is called, and how it is made of the pairs and a seed.
KINDS: dict[str, tuple[str, Callable[[Sequence[tuple[str, str]], int], Kind]]] = {
    "renamed_share": ("name", Names),
    "renumbered_share": ("number", lambda pairs, seed: Numbers()),
}


def rewritten_pairs(key: str, pairs: Sequence[tuple[str, str]], seed: int) -> Rewritten:
    """The pairs that allow the kind of a setting; DataError where none does."""
    name, kind = KINDS[key]
    found = Rewritten(pairs, kind(pairs, seed))
    if not found.allowed:
        raise DataError(
            f"--{key.replace('_', '-')}: no pair has a {name} that stands the same on both sides and could be another; "
            "leave the option out."
        )
    return found
