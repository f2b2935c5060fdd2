"""Finds checkpoints by name in the shipped folder and in the folders of CHECKPOINTS. No torch here."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .files import MEGABYTE, FileError, read_json
from .foreign_checkpoints import FOREIGN, kind_of
from .package_names import COMMAND, LIBRARY

_INSTALLED = LIBRARY / "checkpoints"
SHIPPED = _INSTALLED if _INSTALLED.is_dir() else LIBRARY.parent / "checkpoints"
"""The folder of the shipped checkpoints: inside an installed package, next to it in the project."""
MAX_NAME_LENGTH = 80  # characters of a name
NAME_RULE = f"1 to {MAX_NAME_LENGTH} printable characters, no slash or backslash, no dot before and no space around them"
CONFIG = "config.json"  # a folder with this file counts as a checkpoint
FILES = (  # files that a checkpoint folder may hold; others are not read
    CONFIG,
    "tokenizer.json",
    "tokenizer.source.json",
    "tokenizer.target.json",
    "model.safetensors",
    "means.safetensors",
    "metrics.json",
    "counts.json",
    "seen.json",
    "faithfulness.json",
    "routes.json",
    "heads.json",
    "findings.json",
    "probes.npz",
    "log.jsonl",
    "README.md",
)


@dataclass(frozen=True)
class UnusableFolder:
    """A folder of CHECKPOINTS, or one within it, that holds no checkpoint of the lab."""

    folder: Path
    reason: str  # the rest of a sentence that begins with the folder

    def __str__(self) -> str:
        return f"CHECKPOINTS: {self.folder} {self.reason}."

    def message(self) -> str:
        """Returns the sentence for a visitor, without the path of the folder."""
        return f"{self.folder.name or 'A folder'} {self.reason}."


@dataclass(frozen=True)
class CheckpointList:
    """All checkpoint folders by name, in alphabetical order, and the unusable folders."""

    folders: Mapping[str, Path]
    unusable: tuple[UnusableFolder, ...]


def configured_folders() -> tuple[Path, ...]:
    """Returns the folders in the environment variable CHECKPOINTS, separated as in PATH."""
    return tuple(Path(os.path.abspath(os.path.expanduser(text))) for text in _configured_paths())


def _configured_paths() -> list[str]:
    return [text.strip() for text in os.environ.get("CHECKPOINTS", "").split(os.pathsep) if text.strip()]


def search_folders(shipped: Path = SHIPPED) -> tuple[Path, ...]:
    """Returns the folders of CHECKPOINTS, then the folder of the shipped checkpoints."""
    return (*configured_folders(), shipped)


def read_model_entry(place: Path) -> dict[str, Any]:
    """Returns the unchecked `model` entry of a checkpoint's config.json; empty where it cannot be read.

    Loading the checkpoint reports the fault.
    """
    try:
        model = json.loads((place / CONFIG).read_text(encoding="utf-8"))["model"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return {}
    return model if isinstance(model, dict) else {}


def family_and_task(model: Mapping[str, Any]) -> object:
    """Returns the family of a model config, and whether it is a classifier."""
    return model.get("family", "encoder-decoder"), bool(model.get("classes"))


def list_checkpoints(shipped: Path = SHIPPED) -> CheckpointList:
    """Returns all checkpoints that can be chosen: the shipped ones and those of CHECKPOINTS.

    Each folder of CHECKPOINTS is a checkpoint or a folder of checkpoints. Where two share a name, the later one also gets
    the name of its folder: `en-fr (runs)`.
    """
    places, unusable = {path.name: path for path in _checkpoints_in(shipped)}, []
    known = {path.resolve() for path in places.values()}
    for place in configured_folders():
        checkpoints, reason = _scan(place)
        unusable += [UnusableFolder(place, reason)] if reason else []
        for path in checkpoints:
            if (resolved := path.resolve()) in known:
                continue
            known.add(resolved)
            places[_unused_name(path, places)] = path
            if reason := foreign_reason(path / CONFIG):
                unusable.append(UnusableFolder(path, reason))
    return CheckpointList(dict(sorted(places.items())), tuple(unusable))


def name_of(place: Path) -> str:
    """Returns the name of the checkpoint in a folder: the name in the list, else one that no other checkpoint has."""
    places, folder = list_checkpoints().folders, place.resolve()
    if listed_name := next((name for name, path in places.items() if path.resolve() == folder), ""):
        return listed_name
    return _unused_name(folder, places) if (own := own_name(folder)) in places else own


def _scan(place: Path) -> tuple[list[Path], str]:
    """Returns the checkpoints in a folder, which may be one itself, or the reason why there are none."""
    try:
        if (place / CONFIG).exists() and is_name(own_name(place)):
            return [place], ""
        if not place.exists():
            return [], "is not there"
        if not place.is_dir():
            return [], "is no folder"
        os.listdir(place)
        checkpoints = _checkpoints_in(place)
    except (OSError, ValueError) as fault:
        return [], f"cannot be read ({getattr(fault, 'strerror', None) or fault})"
    return checkpoints, "" if checkpoints else f"holds no checkpoint: expected a {CONFIG} in it, or in a folder within"


def _checkpoints_in(place: Path) -> list[Path]:
    """Returns the checkpoints in a folder: folders with a config.json and a valid name."""
    return sorted(path.parent for path in place.glob(f"*/{CONFIG}") if is_name(path.parent.name))


def own_name(path: Path) -> str:
    """Returns the name of a checkpoint by its folder; a training run names it by the folder above `checkpoint`."""
    return path.parent.name if path.name == "checkpoint" else path.name


def _unused_name(path: Path, used_names: Mapping[str, Path]) -> str:
    """Returns a name for a checkpoint that no other one has."""
    name = own_name(path)
    home = path.parent.parent if path.name == "checkpoint" else path.parent
    for suffix in ("", f" ({home.name})", *(f" ({home.name} {number})" for number in range(2, len(used_names) + 3))):
        if (free := name[: max(MAX_NAME_LENGTH - len(suffix), 1)].rstrip() + suffix) not in used_names and is_name(free):
            return free
    return f"{name[: MAX_NAME_LENGTH - 7]} ({len(used_names)})"  # the folder's own name is no valid part of a name


def foreign_reason(config: Path) -> str:
    """Returns the reason why a config.json is not the lab's own; empty where it is, or where loading reports the fault."""
    try:
        values = read_json(config, MEGABYTE)
    except (OSError, FileError):
        return ""
    if isinstance(values, dict) and "schema" in values:
        return ""
    if kind := kind_of(config.parent):
        return f"is {FOREIGN[kind].title}: {COMMAND} convert makes a checkpoint of it"
    return f"is no checkpoint of the lab's own: its {CONFIG} has no 'schema'"


def is_name(text: str) -> bool:
    """Returns True for a valid checkpoint name, as `NAME_RULE` says: printable, safe in links, no path."""
    plain = text.isprintable() and text == text.strip() and not set("/\\") & set(text)
    return plain and 0 < len(text) <= MAX_NAME_LENGTH and not text.startswith(".")


def checkpoint_names(places: Sequence[Path]) -> tuple[str, ...]:
    """Returns the names of the checkpoints in some folders, in alphabetical order."""
    return tuple(sorted({path.name for place in places for path in _checkpoints_in(place)}))
