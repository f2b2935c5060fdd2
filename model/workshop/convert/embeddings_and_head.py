"""Parts of a model around a `torch.nn.Transformer`: embeddings, a projection, perhaps a table of positions.

They are detected by shapes and usual names, or named in the options.
"""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import Tensor

from ...config import SCHEMES, ModelConfig
from ...network.positions import POSITION_SCHEMES
from .conversion import ConversionOptions, ConvertError
from .row_order import RowOrder

PARTS = {  # parts of a model around the Transformer: usual substrings of their names
    "source_embedding": ("src", "source", "encoder", "input"),
    "target_embedding": ("tgt", "trg", "target", "decoder", "output"),
    "output": ("generator", "fc_out", "out", "proj", "head", "linear", "fc", "decoder"),
    "positions": ("pos", "pe"),
}


def unsupported_tensor(name: str, tensor: Tensor) -> ConvertError:
    """Returns the error for a tensor that the format cannot hold."""
    return ConvertError(
        f"there is a tensor {name!r} of the shape {tuple(tensor.shape)}, for which the format has no place; expected a "
        "torch.nn.Transformer with embeddings, positions and one projection"
    )


class EmbeddingsAndHead:
    """Tensors around the Transformer: embeddings, the projection, positions."""

    def __init__(self, tensors: dict[str, Tensor], options: ConversionOptions, width: int) -> None:
        self.tensors, self.options, self.width = tensors, options, width
        tables = {name: each for name, each in tensors.items() if each.dim() == 2 and each.size(1) == width}
        self.positions = self._positions(tensors)
        tables = {name: each for name, each in tables.items() if name not in self.positions}
        self.output = self._named("output", tables) or self._output(tables)
        embeddings = {name: each for name, each in tables.items() if name != self.output}
        self.source = self._named("source_embedding", tables) or self._side("source_embedding", embeddings)
        self.target = self._named("target_embedding", tables) or self._side("target_embedding", embeddings)
        if self.output is None:
            self.output = self.target
        bias = self.output.removesuffix("weight") + "bias"
        self.bias = tensors.get(bias) if bias != self.output else None
        used = {self.source, self.target, self.output, bias, *self.positions}
        if extra := sorted(set(tensors) - used - {name for name in tensors if tensors[name].dim() == 0}):
            raise unsupported_tensor(extra[0], tensors[extra[0]])

    @property
    def is_joint(self) -> bool:
        """True where one table embeds both languages."""
        return self.source == self.target or self.tensors[self.source].equal(self.tensors[self.target])

    @property
    def is_tied(self) -> bool:
        """True where the projection is the target's table."""
        return self.output == self.target or self.tensors[self.output].equal(self.tensors[self.target])

    def _named(self, part: str, tables: dict[str, Tensor]) -> str | None:
        name = self.options.names.get(part)
        if name is not None and name not in tables:
            raise ConvertError(
                f"--{part.replace('_', '-')} is {name!r}; expected the name of a tensor [V,{self.width}]: one of "
                f"{', '.join(sorted(tables)[:8]) or 'none'}"
            )
        return name

    def _output(self, tables: dict[str, Tensor]) -> str | None:
        """Returns a table with a bias, or one with a name of projections and without `emb`."""
        for name in tables:
            if name.endswith("weight") and name.removesuffix("weight") + "bias" in self.tensors:
                return name
        plain = [n for n in tables if "emb" not in n.lower() and any(word in n.lower() for word in PARTS["output"])]
        return plain[0] if len(plain) == 1 and len(tables) > 1 else None

    def _side(self, part: str, tables: dict[str, Tensor]) -> str:
        if len(tables) == 1:
            return next(iter(tables))
        fit = [name for name in tables if any(word in name.lower() for word in PARTS[part])]
        if len(fit) != 1:
            raise ConvertError(
                f"which tensor is the {part.replace('_', ' ')} is not clear (there are "
                f"{', '.join(sorted(tables)[:6]) or 'none'}); give --{part.replace('_', '-')} NAME"
            )
        return fit[0]

    def _positions(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Returns the tables of positions by name, [N,D] each."""
        chosen = self.options.names.get("positions")
        if chosen is not None and chosen not in tensors:
            raise ConvertError(f"--position-table is {chosen!r}; expected one of {', '.join(sorted(tensors)[:8])}")
        tables = {}
        for name, each in tensors.items():
            flat = each.squeeze() if each.dim() == 3 else each
            usual = any(part.startswith(PARTS["positions"]) for part in re.split(r"[._]", name.lower()))
            if (name == chosen or (chosen is None and usual)) and flat.dim() == 2 and flat.size(1) == self.width:
                tables[name] = flat
        return tables

    def scheme(self, settings: dict[str, Any]) -> str:
        """Returns the scheme of positions: the given one, or the one that the tables hold."""
        if not self.positions:
            if "positions" not in settings:
                raise ConvertError(
                    "the state dict has no table of positions; give --positions sinusoidal, or another scheme"
                )
            if settings["positions"] == "learned":
                raise ConvertError(
                    "positions is 'learned', and the state dict has no table of positions; expected one, or another scheme "
                    "(--position-table NAME says which tensor it is)"
                )
            return settings["positions"]
        schemes = {_detect_scheme(each) for each in self.positions.values()}
        if len(schemes) > 1 or (settings.get("positions") or next(iter(schemes))) not in schemes:
            expected = settings.get("positions", "one scheme")
            raise ConvertError(f"the positions in the state dict are {' and '.join(sorted(schemes))}; expected {expected}")
        return next(iter(schemes))

    def state(self, config: ModelConfig, rows: tuple[RowOrder, ...]) -> dict[str, Tensor]:
        """Returns the tensors under this program's names."""
        source, target, output = (self.tensors[name] for name in (self.source, self.target, self.output))
        tensors = {
            "source_embedding.table.weight": rows[0].reorder(source),
            "target_embedding.table.weight": rows[-1].reorder(target),
        }
        if config.joint_vocab:
            tensors["target_embedding.table.weight"] = tensors["source_embedding.table.weight"]
        tensors["projection.weight"] = (
            tensors["target_embedding.table.weight"] if config.tied_output else rows[-1].reorder(output)
        )
        if config.output_bias:
            tensors["projection.bias"] = rows[-1].reorder_bias(self.bias)
        if config.scheme.has_table:
            for side, words in (("source", PARTS["source_embedding"]), ("target", PARTS["target_embedding"])):
                fit = [n for n in self.positions if len(self.positions) == 1 or any(word in n.lower() for word in words)]
                if len(fit) != 1:
                    raise ConvertError(
                        f"which of {', '.join(self.positions)} the {side} has is not clear; expected one table"
                    )
                tensors[f"{side}_embedding.positional.table.weight"] = self.positions[fit[0]]
        return tensors


def _detect_scheme(table: Tensor) -> str:
    places = torch.arange(len(table))
    for name, scheme in POSITION_SCHEMES.items():
        encoding = None if SCHEMES[name].has_table else scheme.encode(places, table.size(1))
        if encoding is not None and torch.allclose(encoding.to(table), table, atol=2e-3):
            return name
    return "learned"
