"""Options and results of converters, and the weights of other programs. Pickled code is never executed."""

from __future__ import annotations

import pickle
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from ...config import ModelConfig
from ...io import foreign_checkpoints
from ...io.files import MAX_WEIGHTS, open_file, short_repr
from ...io.foreign_checkpoints import WEIGHTS
from ...text.tokenizer import Tokenizer


class ConvertError(ValueError):
    """A model cannot be converted. The message names the fault and the expectation."""


@dataclass(frozen=True)
class ConversionOptions:
    """Settings that the files lack.

    `fields`: fields of `ModelConfig`; `names`: tensors of parts that are not detected (see `torch_transformer.PARTS`);
    `controls`: the strings of the tokens "pad", "start" and "end" in the vocabulary.
    """

    tokenizer: Path | None = None  # a tokenizer.json, a word list, ...; of both languages, or of the source
    target_tokenizer: Path | None = None
    config: Path | None = None  # a JSON file with `fields`
    fields: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    controls: Mapping[str, str] = field(default_factory=dict)
    languages: tuple[str, str] | None = None


@dataclass(frozen=True)
class ConvertedModel:
    """A converted model. `state` has at least the `named_parameters` of `model.network.transformer.build`."""

    config: ModelConfig
    state: dict[str, Tensor]
    source: Tokenizer
    target: Tokenizer  # the source's object where both share one
    languages: tuple[str, str] = ("source", "target")
    notes: tuple[str, ...] = ()  # for the model card: sentences on the conversion


@dataclass(frozen=True)
class Converter:
    """A format that can be converted. `FOREIGN` has its title and its detection."""

    name: str
    convert: Callable[
        [Path, ConversionOptions], ConvertedModel
    ]  # of a folder or a file; ConvertError where the format cannot hold it

    @property
    def title(self) -> str:
        """Title of the format, to follow "This is"."""
        return foreign_checkpoints.FOREIGN[self.name].title


MAX_BYTES = 8 * MAX_WEIGHTS + (1 << 26)  # bytes of a file: the largest model in float64
WRAPPERS = ("state_dict", "model_state_dict", "model", "weights")  # keys under which training scripts keep a state dict
NAMES = ("model.safetensors", "pytorch_model.bin")  # as Hugging Face calls them


def find_weights(path: Path) -> Path:
    """Returns the file of weights of a path: the path itself, or the one in the folder.

    Raises ConvertError unless there is exactly one.
    """
    if not path.is_dir():
        return path
    for name in NAMES:
        if (path / name).is_file():
            return path / name
    files = sorted(each for each in path.iterdir() if each.suffix in WEIGHTS)
    if len(files) != 1:
        several = f"has several: {', '.join(each.name for each in files[:4])}; name one" if files else "has none"
        raise ConvertError(f"{path} {several}; expected one file of weights ({', '.join(WEIGHTS)})")
    return files[0]


def read_state_dict(path: Path) -> dict[str, Tensor]:
    """Returns floating-point tensors by name, as float32 (float64 stays), on the CPU.

    Raises ConvertError where the file is damaged, is no state dict, or needs execution; FileError where it is too large or
    no regular file.
    """
    open_file(path, MAX_BYTES).close()
    try:
        values = load_file(path) if path.suffix == ".safetensors" else _unpickled(path)
    except pickle.UnpicklingError as fault:
        named = re.search(r"GLOBAL ([\w.]{1,80})", str(fault))
        content = named[1] if named else "no state dict of torch"
        raise ConvertError(
            f"{path} holds more than weights ({content}): reading it would execute code. Save a state dict instead: "
            "torch.save(model.state_dict(), ...)"
        ) from None
    except (SafetensorError, RuntimeError, EOFError, OSError, ValueError, LookupError, TypeError, AttributeError) as fault:
        raise ConvertError(f"{path} is truncated or damaged ({' '.join(str(fault).split())[:160]}); copy it again") from None
    return _tensors(path, values)


def _unpickled(path: Path) -> Any:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as packed:
            size = sum(each.file_size for each in packed.infolist())
        if size > MAX_BYTES:
            raise ValueError(f"it would unpack to {size:,} bytes; expected at most {MAX_BYTES:,}")
    return torch.load(path, map_location="cpu", weights_only=True)


def _tensors(path: Path, values: Any) -> dict[str, Tensor]:
    for name in WRAPPERS:
        if isinstance(values, dict) and isinstance(values.get(name), dict):
            values = values[name]
    if not isinstance(values, dict):
        raise ConvertError(f"{path} holds a {type(values).__name__}; expected a state dict: names and tensors")
    tensors = {str(name).removeprefix("module."): each for name, each in values.items() if isinstance(each, Tensor)}
    if not tensors:
        raise ConvertError(f"{path} holds no tensors, but {short_repr(list(values)[:3])}; expected a state dict")
    if sum(each.numel() for each in tensors.values()) > 2 * MAX_WEIGHTS:
        raise ConvertError(f"{path} holds more than {2 * MAX_WEIGHTS:,} numbers; expected at most {MAX_WEIGHTS:,} weights")
    floating = {name: each for name, each in tensors.items() if each.is_floating_point()}
    return {name: each if each.dtype == torch.float64 else each.float() for name, each in floating.items()}
