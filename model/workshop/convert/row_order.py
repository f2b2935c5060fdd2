"""Where the rows of an embedding go: this program's control tokens have the ids 0, 1 and 2 in every vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from model.config import CONTROL_TOKENS, PAD
from model.workshop.convert.conversion import ConvertError

SILENT = -100.0  # the output bias of a row that the model does not have: its probability is 0 in float32
KNOWN = {  # what control tokens are called elsewhere
    "pad": ("<pad>", "[PAD]", "<PAD>", "<blank>", "<|pad|>", "_PAD", "PAD"),
    "start": (
        "<s>",
        "<bos>",
        "<sos>",
        "[CLS]",
        "[BOS]",
        "[SOS]",
        "<BOS>",
        "<SOS>",
        "<start>",
        "<|startoftext|>",
        "BOS",
        "SOS",
    ),
    "end": ("</s>", "<eos>", "<end>", "[SEP]", "[EOS]", "<EOS>", "<|endoftext|>", "EOS"),
}


@dataclass(frozen=True)
class Rows:
    """For each row of the new table the row of the old one; None for one that the model did not have, which no probability
    goes to. An old row may stand twice: where a model starts with its `</s>`, or with its `<pad>`."""

    order: tuple[int | None, ...]
    silent: frozenset[int] = frozenset()  # new rows that are never predicted

    def __len__(self) -> int:
        return len(self.order)

    def of(self, table: Tensor, fill: float = 0.0) -> Tensor:
        """A table [V,...] with its rows in the new order."""
        picked = table[[row or 0 for row in self.order]].clone()
        picked[[n for n, row in enumerate(self.order) if row is None]] = fill
        return picked

    def bias(self, bias: Tensor | None) -> Tensor | None:
        """An output bias [V] in the new order; None where there was none and none is needed."""
        if bias is None and not self.silent:
            return None
        made = self.of(bias) if bias is not None else torch.zeros(len(self))
        made[sorted(self.silent)] = SILENT
        return made

    def tokens(self, tokens: Sequence[str]) -> list[str]:
        """The vocabulary in the new order, with this program's names of the control tokens."""
        others = [tokens[row] for row in self.order[len(CONTROL_TOKENS) :] if row is not None]
        return [*CONTROL_TOKENS, *(f"{each}'" if each in CONTROL_TOKENS else each for each in others)]

    def describe(self, tokens: Sequence[str], is_predicted: bool = True) -> str:
        """Where the rows of the control tokens come from, for the model card; of a vocabulary that `is_predicted` also which
        the output's bias silences."""
        parts = []
        for n, name in enumerate(CONTROL_TOKENS):
            row = self.order[n]
            origin = "a new row of zeros" if row is None else f"the model's `{tokens[row]}`"
            silenced = f", never predicted (bias {SILENT:g})" if is_predicted and n in self.silent else ""
            parts.append(f"`{name}` is {origin}{silenced}")
        return "; ".join(parts)


def control_notes(orders: Sequence[Rows], tokens: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Notes for the model card on the control tokens of the one vocabulary, or of the source's and the target's."""
    if len(orders) == 1:
        return (f"Control tokens: {orders[0].describe(tokens[0])}",)
    source, target = orders[0].describe(tokens[0], is_predicted=False), orders[1].describe(tokens[1])
    return (f"Control tokens of the source: {source}", f"Control tokens of the target: {target}")


def controls(tokens: Sequence[str], given: Mapping[str, str]) -> dict[str, int | None]:
    """The rows of the control tokens "pad", "start" and "end" in a vocabulary: as given, else by their usual names.

    Raises ConvertError for a given one that is not there, and where there is nothing that ends a sentence.
    """
    known, found = {token: n for n, token in enumerate(tokens)}, {}
    for role, names in KNOWN.items():
        name = given.get(role) or next((name for name in names if name in known), None)
        if name is not None and name not in known:
            raise ConvertError(f"the token {name[:40]!r}, given as --{role}-token, is not in the vocabulary")
        found[role] = None if name is None else known[name]
    if found["end"] is None:
        raise ConvertError(
            f"no token of the vocabulary ends a sentence (looked for {', '.join(KNOWN['end'])}); give --end-token"
        )
    return found


def rows(size: int, pad: int | None, start: int | None, end: int) -> Rows:
    """The order of a table of so many rows: `<pad>`, `<s>`, `</s>`, then all others as they were. What is None gets a row of
    zeros; one that stands in two places is predicted in the first place of an end, a start, a pad alone."""
    first = (pad, start, end)
    order = (*first, *(n for n in range(size) if n not in first))
    silent = {n for n, row in enumerate(first) if row is None}
    if start is not None and start in (end, pad):
        silent.add(1 if start == end else PAD)
    if pad is not None and pad == end:
        silent.add(PAD)
    return Rows(order, frozenset(silent))
