"""How the model knows the order: sinusoidal, learned or rotary positions.

`positions` is a long tensor [T] of absolute positions from 0, so that decoding with a cache can start later; or [B,T], where
the rows of a batch have their own.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from model.config import ModelConfig


def sinusoidal(positions: Tensor, d_model: int, base: float = 10000.0) -> Tensor:
    """PE(p, 2i) = sin(p / base^(2i/D)), PE(p, 2i+1) = cos(the same): [T] to [T,D], or [B,T] to [B,T,D].

    Vaswani et al. 2017, section 3.5; sines and cosines alternate, as in the paper.
    """
    angles = _angles(positions, d_model, base)  # [T,D/2]
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).float()  # [T,D]


def rotary(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
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


class PositionalEncoding(nn.Module):
    """Adds sinusoidal or learned positions to embeddings; rotary ones are applied inside attention instead."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.kind = config.positions
        self.d_model = config.d_model
        if self.kind == "learned":
            self.table = nn.Embedding(config.max_positions, config.d_model)

    def forward(self, x: Tensor, positions: Tensor, present: Tensor | None = None) -> Tensor:
        """x [B,T,D], positions [T] or [B,T] to [B,T,D]; `present` [B,1,1] is 0 for rows that get none.

        Raises ValueError for a position that a learned table does not have.
        """
        if self.kind == "rotary":
            return x
        added = self._encoding(positions).to(x)  # [T,D] or [B,T,D]
        return x + (added if present is None else present.to(x) * added)  # [B,T,D]

    def _encoding(self, positions: Tensor) -> Tensor:
        if self.kind == "sinusoidal":
            return sinusoidal(positions, self.d_model)
        rows, last = self.table.num_embeddings, int(positions.max()) if positions.numel() else 0
        if last >= rows:
            raise ValueError(f"position {last} is asked for; this checkpoint has learned positions 0 to {rows - 1}")
        return self.table(positions)
