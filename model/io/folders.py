"""Where checkpoints are looked for by name, and which names are offered. No torch here."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .files import MEGABYTE, FileError, read_json
from .foreign_checkpoints import FOREIGN, kind_of

_HERE = Path(__file__).resolve().parents[1]  # the package
_INSTALLED = _HERE / "checkpoints"
SHIPPED = _INSTALLED if _INSTALLED.is_dir() else _HERE.parent / "checkpoints"
"""The folder of the shipped checkpoints: in the package where it is installed, beside it in the project."""
LONGEST = 80  # characters of a name
NAME = f"1 to {LONGEST} printable characters, no slash or backslash, no dot before and no space around them"
CONFIG = "config.json"  # a folder with one is taken for a checkpoint
FILES = (  # what the folder of a checkpoint may hold, and is read of it
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
    "probes.npz",
    "log.jsonl",
    "README.md",
)


@dataclass(frozen=True)
class Unusable:
    """A folder that CHECKPOINTS names, or one within it, in which no checkpoint of the lab lies."""

    place: Path
    why: str  # the rest of a sentence that begins with the folder

    def __str__(self) -> str:
        return f"CHECKPOINTS: {self.place} {self.why}."

    def told(self) -> str:
        """The sentence for a visitor, who need not know where the folder lies."""
        return f"{self.place.name or 'A folder'} {self.why}."


@dataclass(frozen=True)
class Survey:
    """The folder of each checkpoint by its name, in alphabetical order, and what cannot be used."""

    places: Mapping[str, Path]
    unusable: tuple[Unusable, ...]


def named() -> tuple[Path, ...]:
    """The folders that the environment names as CHECKPOINTS, with the sign between them that the system puts into PATH."""
    return tuple(Path(os.path.abspath(os.path.expanduser(text))) for text in _texts())


def _texts() -> list[str]:
    return [text.strip() for text in os.environ.get("CHECKPOINTS", "").split(os.pathsep) if text.strip()]


def homes(shipped: Path = SHIPPED) -> tuple[Path, ...]:
    """The folders that CHECKPOINTS names, then that of the shipped checkpoints."""
    return (*named(), shipped)


def described(place: Path) -> dict[str, Any]:
    """The model that the config.json of a checkpoint tells of, unchecked; empty where it cannot be read, which loading the
    checkpoint would tell."""
    try:
        found = json.loads((place / CONFIG).read_text(encoding="utf-8"))["model"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


def family(model: Mapping[str, Any]) -> object:
    """The family of a model that is `described`."""
    return model.get("family", "encoder-decoder"), bool(model.get("classes"))


def survey(shipped: Path = SHIPPED) -> Survey:
    """All checkpoints that can be chosen: the shipped ones by their names, and those in the folders that CHECKPOINTS names,
    each of which is a checkpoint or a folder of checkpoints.

    Where a name is taken already, the later one is told apart by the folder that it lies in: `en-fr (runs)`.
    """
    found, unusable = {path.name: path for path in _inside(shipped)}, []
    known = {path.resolve() for path in found.values()}
    for place in named():
        lying, why = _looked_into(place)
        unusable += [Unusable(place, why)] if why else []
        for path in lying:
            if (resolved := path.resolve()) in known:
                continue
            known.add(resolved)
            found[_free(path, found)] = path
            if why := foreign(path / CONFIG):
                unusable.append(Unusable(path, why))
    return Survey(dict(sorted(found.items())), tuple(unusable))


def name_of(place: Path) -> str:
    """The name of the checkpoint in a folder: the one that it is offered by, else one that no other checkpoint has."""
    places, folder = survey().places, place.resolve()
    if offered := next((name for name, path in places.items() if path.resolve() == folder), ""):
        return offered
    return _free(folder, places) if (own := own_name(folder)) in places else own


def _looked_into(place: Path) -> tuple[list[Path], str]:
    """The checkpoints in a folder, which may be one itself; and why there are none."""
    try:
        if (place / CONFIG).exists() and is_name(own_name(place)):
            return [place], ""
        if not place.exists():
            return [], "is not there"
        if not place.is_dir():
            return [], "is no folder"
        os.listdir(place)
        lying = _inside(place)
    except (OSError, ValueError) as fault:
        return [], f"cannot be read ({getattr(fault, 'strerror', None) or fault})"
    return lying, "" if lying else f"holds no checkpoint: expected a {CONFIG} in it, or in a folder within"


def _inside(place: Path) -> list[Path]:
    """The checkpoints in a folder: folders with a config.json, of a fit name."""
    return sorted(path.parent for path in place.glob(f"*/{CONFIG}") if is_name(path.parent.name))


def own_name(path: Path) -> str:
    """What a checkpoint is called after its folder: a run keeps it in one of that very name, and its own name tells more."""
    return path.parent.name if path.name == "checkpoint" else path.name


def _free(path: Path, taken: Mapping[str, Path]) -> str:
    """A name for a checkpoint that no other one has."""
    name = own_name(path)
    home = path.parent.parent if path.name == "checkpoint" else path.parent
    for more in ("", f" ({home.name})", *(f" ({home.name} {number})" for number in range(2, len(taken) + 3))):
        if (free := name[: max(LONGEST - len(more), 1)].rstrip() + more) not in taken and is_name(free):
            return free
    return f"{name[: LONGEST - 7]} ({len(taken)})"  # where the folder's own name cannot stand in one


def foreign(config: Path) -> str:
    """Why a config.json is none of the lab's own; empty for one that says that it is, and for what its reading will tell."""
    try:
        values = read_json(config, MEGABYTE)
    except (OSError, FileError):
        return ""
    if isinstance(values, dict) and "schema" in values:
        return ""
    if kind := kind_of(config.parent):
        return f"is {FOREIGN[kind].title}: python -m model convert makes a checkpoint of it"
    return f"is no checkpoint of the lab's own: its {CONFIG} has no 'schema'"


def is_name(text: str) -> bool:
    """True for what a checkpoint may be called, as `NAME` says: it can be shown and linked to, and leads nowhere else."""
    plain = text.isprintable() and text == text.strip() and not set("/\\") & set(text)
    return plain and 0 < len(text) <= LONGEST and not text.startswith(".")


def offered(places: Sequence[Path]) -> tuple[str, ...]:
    """The checkpoints that lie in some folders, in alphabetical order: folders with a config.json, of a fit name."""
    return tuple(sorted({path.name for place in places for path in _inside(place)}))
