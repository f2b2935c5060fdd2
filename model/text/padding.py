"""Rows of token ids as one tensor."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..config import PAD


def pad(rows: Sequence[Sequence[int]]) -> Tensor:
    """Returns rows of ids, padded with `<pad>` to one length: [B,S]."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows], dtype=torch.long)
