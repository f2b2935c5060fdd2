"""Position schemes: one class for each, with all its formulas.

A new scheme is a class in this file, registered with its description (`model.config.Scheme`). No other code of the network,
of decoding or of the readings distinguishes schemes. `positions` is a long tensor [T] of absolute positions from 0, or
[B,T] where rows differ.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn

from ..config import SCHEMES, ModelConfig, Scheme

BASE = 10000.0  # of the wavelengths, in every network


def sinusoidal(positions: Tensor, d_model: int, base: float = BASE) -> Tensor:
    """Returns PE(p, 2i) = sin(p / base^(2i/D)), PE(p, 2i+1) = cos(the same): [T] to [T,D], or [B,T] to [B,T,D].

    Vaswani et al. 2017, section 3.5. Sines and cosines alternate.
    """
    angles = _angles(positions, d_model, base)  # [T,D/2]
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).float()  # [T,D]


def sinusoidal_halves(positions: Tensor, d_model: int, base: float = BASE) -> Tensor:
    """Returns PE(p, i) = sin(p / base^(2i/D)), PE(p, D/2 + i) = cos(the same): [T] to [T,D], or [B,T] to [B,T,D].

    The values of `sinusoidal` in another order, all sines, then all cosines, as in Marian and tensor2tensor.
    """
    angles = _angles(positions, d_model, base)  # [T,D/2]
    return torch.cat((angles.sin(), angles.cos()), dim=-1).float()  # [T,D]


def rotary(x: Tensor, positions: Tensor, base: float = BASE) -> Tensor:
    """Rotates each pair (2i, 2i+1) of x [B,H,T,K] by p / base^(2i/K); the shape stays.

    Su et al. 2021 (RoFormer), section 3.2.2, with neighbouring dimensions as pairs. GPT-NeoX and Llama pair the two halves.
    """
    angles = _angles(positions, x.size(-1), base)  # [T,K/2], float64: rounded angles would shift with the position
    if positions.dim() == 2:
        angles = angles[:, None]  # [B,1,T,K/2]
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]  # [B,H,T,K/2]
    rotated = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)  # [B,H,T,K/2,2]
    return rotated.flatten(-2)  # [B,H,T,K]


def _angles(positions: Tensor, width: int, base: float) -> Tensor:
    dtype = torch.float32 if positions.device.type == "mps" else torch.float64  # Apple's GPUs have no float64
    exponents = torch.arange(0, width, 2, device=positions.device, dtype=dtype) / width
    return positions[..., None].to(dtype) / base**exponents  # [T,width/2]


class PositionScheme:
    """Base class of position schemes. A method that a scheme does not override has no effect.

    A scheme adds vectors to the embeddings (`encode`), rotates queries and keys (`rotate`) or adds a number to each score
    (`score_bias`). It may combine these.
    """

    @property
    def has_encoding(self) -> bool:
        """True where vectors are added to the embeddings."""
        return type(self).encode is not PositionScheme.encode

    @property
    def has_rotation(self) -> bool:
        """True where queries and keys are rotated."""
        return type(self).rotate is not PositionScheme.rotate

    @property
    def has_score_bias(self) -> bool:
        """True where a number is added to each score."""
        return type(self).score_bias is not PositionScheme.score_bias

    def make_table(self, config: ModelConfig) -> nn.Embedding | None:
        """Returns new learned parameters, [max_positions,D]; None for a formula."""
        return None

    def encode(self, positions: Tensor, width: int, base: float = BASE, table: nn.Embedding | None = None) -> Tensor | None:
        """Returns the vectors to add to the embeddings, [T,D] or [B,T,D]; `table` comes from `make_table`."""
        return None

    def rotate(self, x: Tensor, positions: Tensor, base: float = BASE) -> Tensor:
        """Rotates queries or keys [B,H,T,K] to their positions; the shape stays."""
        return x

    def score_bias(self, queries: Tensor, keys: Tensor, heads: int) -> Tensor | None:
        """Returns the numbers to add to the scaled scores, [1|H,T,S] or [B,1|H,T,S].

        `queries` [T] or [B,T] and `keys` [S] or [B,S] are positions.
        """
        return None

    def shift(self, vectors: Tensor, k: int, base: float = BASE) -> Tensor | None:
        """Returns vectors [N,D] moved by k positions with the formula's linear map; None without a formula."""
        return None

    def wavelengths(self, width: int, base: float = BASE) -> np.ndarray | None:
        """Returns the positions after which each pair of dimensions repeats, float64 [width/2]; None without waves."""
        return None


class Sinusoidal(PositionScheme):
    """Sines and cosines in alternation (Vaswani et al. 2017, section 3.5)."""

    def encode(self, positions: Tensor, width: int, base: float = BASE, table: nn.Embedding | None = None) -> Tensor | None:
        return sinusoidal(positions, width, base)  # [T,D]

    def shift(self, vectors: Tensor, k: int, base: float = BASE) -> Tensor | None:
        """Every pair (sin, cos) turns by -k / base^(2i/D)."""
        back = torch.full((len(vectors),), -k)
        return rotary(vectors[None, None], back, base)[0, 0]  # [N,D]

    def wavelengths(self, width: int, base: float = BASE) -> np.ndarray | None:
        return wavelengths(width, base)


class SinusoidalHalves(Sinusoidal):
    """All sines, then all cosines."""

    def encode(self, positions: Tensor, width: int, base: float = BASE, table: nn.Embedding | None = None) -> Tensor | None:
        return sinusoidal_halves(positions, width, base)  # [T,D]

    def shift(self, vectors: Tensor, k: int, base: float = BASE) -> Tensor | None:
        alternating = torch.stack(vectors.chunk(2, dim=-1), dim=-1).flatten(-2)  # [N,D]
        moved = super().shift(alternating, k, base)  # [N,D]
        return torch.cat((moved[:, 0::2], moved[:, 1::2]), dim=-1)  # [N,D]


class LearnedPositions(PositionScheme):
    """A learned table with one row for each position."""

    def make_table(self, config: ModelConfig) -> nn.Embedding | None:
        return nn.Embedding(config.max_positions, config.d_model)

    def encode(self, positions: Tensor, width: int, base: float = BASE, table: nn.Embedding | None = None) -> Tensor | None:
        """Raises ValueError without a table, and for a position outside the table."""
        if table is None:
            raise ValueError("learned positions have no formula; a checkpoint's table can be measured instead")
        rows, max_position = table.num_embeddings, int(positions.max()) if positions.numel() else 0
        if max_position >= rows:
            raise ValueError(f"position {max_position} is asked for; this checkpoint has learned positions 0 to {rows - 1}")
        return table(positions)  # [T,D]


class Rotary(PositionScheme):
    """Queries and keys are rotated (Su et al. 2021)."""

    def rotate(self, x: Tensor, positions: Tensor, base: float = BASE) -> Tensor:
        return rotary(x, positions, base)  # [B,H,T,K]

    def wavelengths(self, width: int, base: float = BASE) -> np.ndarray | None:
        return wavelengths(width, base)


def wavelengths(width: int, base: float = BASE) -> np.ndarray:
    """Returns the positions after which each pair of dimensions repeats, 2 pi base^(2i/D): float64 [D/2]."""
    return 2 * math.pi * base ** (np.arange(0, width, 2) / width)


NO_POSITIONS = PositionScheme()  # for cross-attention: positions of two sentences have no common order
POSITION_SCHEMES: dict[str, PositionScheme] = {  # for each of `SCHEMES`
    "sinusoidal": Sinusoidal(),
    "learned": LearnedPositions(),
    "rotary": Rotary(),
    "sinusoidal-halves": SinusoidalHalves(),
    "none": NO_POSITIONS,
}


def register(description: Scheme, scheme: PositionScheme) -> None:
    """Registers a position scheme. Configs can then name it, and the pages list it."""
    SCHEMES[description.name], POSITION_SCHEMES[description.name] = description, scheme


def position_scheme(name: str) -> PositionScheme:
    """Returns the scheme of a name. Raises ValueError for an unknown name."""
    if name not in POSITION_SCHEMES:
        raise ValueError(f"the scheme of positions is {name!r}; expected one of {', '.join(POSITION_SCHEMES)}")
    return POSITION_SCHEMES[name]


class PositionalEncoding(nn.Module):
    """Adds a scheme's vectors to embeddings; rotations and score biases act inside attention instead."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.scheme, self.d_model = position_scheme(config.positions), config.d_model
        if (table := self.scheme.make_table(config)) is not None:
            self.table = table

    def forward(self, x: Tensor, positions: Tensor, position_factors: Tensor | None = None) -> Tensor:
        """Returns [B,T,D] for x [B,T,D] and positions [T] or [B,T].

        `position_factors` [B,1,1] is 0 for rows without positions.

        Raises ValueError for a position outside a learned table.
        """
        encoding = self.scheme.encode(positions, self.d_model, table=getattr(self, "table", None))  # [T,D] or [B,T,D]
        if encoding is None:
            return x
        added = encoding.to(x)  # [T,D] or [B,T,D]
        return x + (added if position_factors is None else position_factors.to(x) * added)  # [B,T,D]
