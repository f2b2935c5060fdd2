"""What a converter is given and what it makes: every kind of model that can be brought in has the same two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from model import foreign
from model.config import ModelConfig
from model.text.tokenizer import Tokenizer


class ConvertError(ValueError):
    """What cannot be brought in; the text says what was found and what was expected."""


@dataclass(frozen=True)
class Options:
    """What files do not say, and whoever converts them does.

    `fields` are those of `ModelConfig` that were given; `names` the tensors of parts that are not found by themselves (see
    `around.PARTS`); `controls` the strings of the tokens "pad", "start" and "end" in the vocabulary.
    """

    tokenizer: Path | None = None  # a tokenizer.json, a word list, ...; of both languages, or of the source
    target_tokenizer: Path | None = None
    config: Path | None = None  # a JSON file with `fields`
    fields: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    controls: Mapping[str, str] = field(default_factory=dict)
    languages: tuple[str, str] | None = None


@dataclass(frozen=True)
class Converted:
    """A model in this program's terms. `state` has at least the `named_parameters` of what `model.network.transformer.build`
    makes, by the same names."""

    config: ModelConfig
    state: dict[str, Tensor]
    source: Tokenizer
    target: Tokenizer  # the same object where both sides are cut by the same rules
    languages: tuple[str, str] = ("source", "target")
    notes: tuple[str, ...] = ()  # for the model card: sentences on what was done to it


@dataclass(frozen=True)
class Converter:
    """A kind of model that can be brought in; its name and how it is recognised stand in `model.foreign.FOREIGN`."""

    name: str
    convert: Callable[[Path, Options], Converted]  # of a folder or a file; ConvertError where the format cannot hold it

    @property
    def title(self) -> str:
        """As it stands behind "This is"."""
        return foreign.FOREIGN[self.name].title
