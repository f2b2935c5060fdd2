"""Order of embedding rows: this program's control tokens have the ids 0, 1 and 2 in every vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ...config import CONTROL_TOKENS, PAD
from .conversion import ConvertError

SILENT_BIAS = -100.0  # output bias of a row that the model lacks: its probability is 0 in float32
USUAL_NAMES = {  # usual names of control tokens
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
class RowOrder:
    """For each new row the old row, or None for a row that the model lacks; such a row is never predicted.

    An old row may occur twice, where a model starts with its `</s>` or `<pad>`.
    """

    order: tuple[int | None, ...]
    silent: frozenset[int] = frozenset()  # new rows that are never predicted

    def __len__(self) -> int:
        return len(self.order)

    def reorder(self, table: Tensor, fill: float = 0.0) -> Tensor:
        """Returns a table [V,...] with its rows in the new order."""
        picked = table[[row or 0 for row in self.order]].clone()
        picked[[n for n, row in enumerate(self.order) if row is None]] = fill
        return picked

    def reorder_bias(self, bias: Tensor | None) -> Tensor | None:
        """Returns an output bias [V] in the new order; None where there is none and none is needed."""
        if bias is None and not self.silent:
            return None
        reordered = self.reorder(bias) if bias is not None else torch.zeros(len(self))
        reordered[sorted(self.silent)] = SILENT_BIAS
        return reordered

    def reorder_tokens(self, tokens: Sequence[str]) -> list[str]:
        """Returns the vocabulary in the new order, with this program's names of the control tokens."""
        others = [tokens[row] for row in self.order[len(CONTROL_TOKENS) :] if row is not None]
        return [*CONTROL_TOKENS, *(f"{each}'" if each in CONTROL_TOKENS else each for each in others)]

    def describe(self, tokens: Sequence[str], is_predicted: bool = True) -> str:
        """Describes the origin of the control tokens' rows for the model card.

        If `is_predicted`, names the silenced ones.
        """
        parts = []
        for n, name in enumerate(CONTROL_TOKENS):
            row = self.order[n]
            origin = "a new row of zeros" if row is None else f"the model's `{tokens[row]}`"
            silenced = f", never predicted (bias {SILENT_BIAS:g})" if is_predicted and n in self.silent else ""
            parts.append(f"`{name}` is {origin}{silenced}")
        return "; ".join(parts)


def control_notes(orders: Sequence[RowOrder], tokens: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Returns notes for the model card on the control tokens of one vocabulary, or of source and target."""
    if len(orders) == 1:
        return (f"Control tokens: {orders[0].describe(tokens[0])}",)
    source, target = orders[0].describe(tokens[0], is_predicted=False), orders[1].describe(tokens[1])
    return (f"Control tokens of the source: {source}", f"Control tokens of the target: {target}")


def control_rows(tokens: Sequence[str], explicit: Mapping[str, str]) -> dict[str, int | None]:
    """Returns the rows of the control tokens "pad", "start" and "end": by the given names, else by the usual ones.

    Raises ConvertError for a given name that is absent, and where no token ends a sentence.
    """
    known, rows_by_role = {token: n for n, token in enumerate(tokens)}, {}
    for role, names in USUAL_NAMES.items():
        name = explicit.get(role) or next((name for name in names if name in known), None)
        if name is not None and name not in known:
            raise ConvertError(f"the token {name[:40]!r}, given as --{role}-token, is not in the vocabulary")
        rows_by_role[role] = None if name is None else known[name]
    if rows_by_role["end"] is None:
        raise ConvertError(
            f"no token of the vocabulary ends a sentence (looked for {', '.join(USUAL_NAMES['end'])}); give --end-token"
        )
    return rows_by_role


def order_rows(size: int, pad: int | None, start: int | None, end: int) -> RowOrder:
    """Returns the order of a table of `size` rows: `<pad>`, `<s>`, `</s>`, then all others.

    None becomes a row of zeros. A row in two places is predicted in one of them only: as end, else as start, else as pad.
    """
    first = (pad, start, end)
    order = (*first, *(n for n in range(size) if n not in first))
    silent = {n for n, row in enumerate(first) if row is None}
    if start is not None and start in (end, pad):
        silent.add(1 if start == end else PAD)
    if pad is not None and pad == end:
        silent.add(PAD)
    return RowOrder(order, frozenset(silent))
