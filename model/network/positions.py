"""How the model knows the order: sinusoidal, learned or rotary positions.

`positions` is a long tensor [T] of absolute positions from 0, so that decoding with a cache can start later; or [B,T], where
the rows of a batch have their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from model.config import SCHEMES, ModelConfig, Scheme

BASE = 10000.0  # of the wavelengths, in every network


def sinusoidal(positions: Tensor, d_model: int, base: float = BASE) -> Tensor:
    """PE(p, 2i) = sin(p / base^(2i/D)), PE(p, 2i+1) = cos(the same): [T] to [T,D], or [B,T] to [B,T,D].

    Vaswani et al. 2017, section 3.5; sines and cosines alternate, as in the paper.
    """
    angles = _angles(positions, d_model, base)  # [T,D/2]
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).float()  # [T,D]


def sinusoidal_halves(positions: Tensor, d_model: int, base: float = BASE) -> Tensor:
    """PE(p, i) = sin(p / base^(2i/D)), PE(p, D/2 + i) = cos(the same): [T] to [T,D], or [B,T] to [B,T,D].

    The numbers of `sinusoidal` in another order: all sines, then all cosines, as Marian and tensor2tensor have it.
    """
    angles = _angles(positions, d_model, base)  # [T,D/2]
    return torch.cat((angles.sin(), angles.cos()), dim=-1).float()  # [T,D]


def rotary(x: Tensor, positions: Tensor, base: float = BASE) -> Tensor:
    """Rotates each pair (2i, 2i+1) of x [B,H,T,K] by p / base^(2i/K); the shape stays.

    Su et al. 2021 (RoFormer), section 3.2.2, with neighbouring dimensions as pairs, as the paper has it (GPT-NeoX and
    Llama pair the two halves instead).
    """
    angles = _angles(positions, x.size(-1), base)  # [T,K/2], float64: rounded angles would shift with the position
    if positions.dim() == 2:
        angles = angles[:, None]  # [B,1,T,K/2]
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]  # [B,H,T,K/2]
    turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)  # [B,H,T,K/2,2]
    return turned.flatten(-2)  # [B,H,T,K]


def _angles(positions: Tensor, width: int, base: float) -> Tensor:
    exact = torch.float32 if positions.device.type == "mps" else torch.float64  # Apple's GPUs have no float64
    exponents = torch.arange(0, width, 2, device=positions.device, dtype=exact) / width
    return positions[..., None].to(exact) / base**exponents  # [T,width/2]


@dataclass(frozen=True)
class Formulas:
    """What a scheme of positions computes; None for what it does not do.

    `table` makes of positions [T] or [B,T], a width and a base the vectors that are added, [T,D] or [B,T,D]; `turn` turns
    queries and keys [B,H,T,K] to their positions, by a base; `shift` makes of vectors [N,D] those that lie k
    positions further on, for a base: the linear map that the formula promises.
    """

    table: Callable[[Tensor, int, float], Tensor] | None = None
    turn: Callable[[Tensor, Tensor, float], Tensor] | None = None
    shift: Callable[[Tensor, int, float], Tensor] | None = None
    wavelengths: Callable[[int, float], np.ndarray] | None = None  # of every pair of dimensions, in positions, [width/2]


def turned_back(vectors: Tensor, k: int, base: float) -> Tensor:
    """Sinusoidal positions [N,D], each k further on: every pair (sin, cos) turns by -k / base^(2i/D)."""
    back = torch.full((len(vectors),), -k)
    return rotary(vectors[None, None], back, base)[0, 0]


def halves_turned_back(vectors: Tensor, k: int, base: float) -> Tensor:
    """The same for positions whose sines and cosines lie in two halves, [N,D]."""
    alternating = turned_back(torch.stack(vectors.chunk(2, dim=-1), dim=-1).flatten(-2), k, base)
    return torch.cat((alternating[:, 0::2], alternating[:, 1::2]), dim=-1)


def wavelengths(width: int, base: float = BASE) -> np.ndarray:
    """Positions after which each pair of dimensions is where it was, 2 pi base^(2i/D): float64 [D/2]."""
    return 2 * math.pi * base ** (np.arange(0, width, 2) / width)


FORMULAS: dict[str, Formulas] = {  # for each of `SCHEMES`
    "sinusoidal": Formulas(table=sinusoidal, shift=turned_back, wavelengths=wavelengths),
    "learned": Formulas(),  # its vectors are parameters
    "rotary": Formulas(turn=rotary, wavelengths=wavelengths),
    "sinusoidal-halves": Formulas(table=sinusoidal_halves, shift=halves_turned_back, wavelengths=wavelengths),
}


def register(scheme: Scheme, formulas: Formulas) -> None:
    """Adds a scheme of positions: from here on configs may name it, and the pages show it."""
    SCHEMES[scheme.name], FORMULAS[scheme.name] = scheme, formulas


def formulas_of(scheme: str) -> Formulas:
    """The formulas of a scheme; ValueError for one that does not exist."""
    if scheme not in FORMULAS:
        raise ValueError(f"the scheme of positions is {scheme!r}; expected one of {', '.join(FORMULAS)}")
    return FORMULAS[scheme]


class PositionalEncoding(nn.Module):
    """Adds a scheme's vectors to embeddings; what turns queries and keys is applied inside attention instead."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.scheme, self.formulas = config.scheme, formulas_of(config.positions)
        self.d_model = config.d_model
        if self.scheme.trained:
            self.table = nn.Embedding(config.max_positions, config.d_model)

    def forward(self, x: Tensor, positions: Tensor, present: Tensor | None = None) -> Tensor:
        """x [B,T,D], positions [T] or [B,T] to [B,T,D]; `present` [B,1,1] is 0 for rows that get none.

        Raises ValueError for a position that a learned table does not have.
        """
        if not self.scheme.adds:
            return x
        added = self._encoding(positions).to(x)  # [T,D] or [B,T,D]
        return x + (added if present is None else present.to(x) * added)  # [B,T,D]

    def _encoding(self, positions: Tensor) -> Tensor:
        if self.formulas.table is not None:
            return self.formulas.table(positions, self.d_model, BASE)
        rows, last = self.table.num_embeddings, int(positions.max()) if positions.numel() else 0
        if last >= rows:
            raise ValueError(f"position {last} is asked for; this checkpoint has learned positions 0 to {rows - 1}")
        return self.table(positions)
