"""What models in Hugging Face's form have in common: config.json, names of activations, tensors that all have a place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from model.config import ModelConfig
from model.convert.parts import ConvertError
from model.files import MEGABYTE, FileError, read_json, shown

ACTIVATIONS = {  # their names and ours
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}
_REQUIRED = object()


def read_config(folder: Path) -> dict[str, Any]:
    """The value of config.json; ConvertError where there is none."""
    try:
        values = read_json(folder / "config.json", MEGABYTE)
    except FileNotFoundError:
        raise ConvertError(f"{folder / 'config.json'} is missing; expected the whole folder of the model") from None
    if not isinstance(values, dict):
        raise ConvertError(f"{folder / 'config.json'} is a {type(values).__name__}; expected an object")
    return values


def read_optional(path: Path) -> dict[str, Any]:
    """The value of a JSON file, or {} where there is none that is an object."""
    try:
        values = read_json(path, MEGABYTE)
    except (FileError, OSError):
        return {}
    return values if isinstance(values, dict) else {}


def entry(values: dict[str, Any], name: str, kind: type) -> Any:
    """An entry of config.json; ConvertError where it is missing or of another type."""
    found = values.get(name)
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        raise ConvertError(f"config.json: {name!r} is {shown(found)}; expected a value of the type {kind.__name__}")
    return found


def activation(values: dict[str, Any], name: str) -> str:
    """An activation by our name; ConvertError for one that the format does not have."""
    found = values.get(name)
    if not isinstance(found, str) or found not in ACTIVATIONS:
        raise ConvertError(f"config.json: {name!r} is {shown(found)}; expected one of {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[found]


def made_config(**fields: Any) -> ModelConfig:
    """A config whose faults are told as those of config.json."""
    try:
        return ModelConfig(**fields)
    except ValueError as fault:
        raise ConvertError(f"config.json: {fault}") from None


class Taken:
    """The tensors of a file, each of which must be asked for in the end: what nobody asks for has no place in the format."""

    def __init__(self, file: Path, state: dict[str, Tensor]) -> None:
        self.file, self._state, self._taken = file, state, set()

    def take(self, name: str, otherwise: Any = _REQUIRED) -> Any:
        """A tensor, or `otherwise`; ConvertError where it is missing and nothing else is given."""
        if name in self._state:
            self._taken.add(name)
            return self._state[name]
        if otherwise is _REQUIRED:
            raise ConvertError(f"{self.file}: {name!r} is missing; expected it by config.json")
        return otherwise

    def has(self, name: str) -> bool:
        return name in self._state

    def check_all_taken(self) -> None:
        """ConvertError that names a tensor which the format has no place for."""
        if rest := sorted(set(self._state) - self._taken):
            shape = tuple(self._state[rest[0]].shape)
            raise ConvertError(
                f"{self.file}: {rest[0]!r}, {shape}, has no place in the format; expected weights by config.json"
            )
