"""Models of other programs, as far as they can be told from the outside: what a folder or a file is that is no checkpoint of
ours. No torch here, and nothing of a file but a small config.json is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .files import (
    MEGABYTE,
    FileError,
    read_json,
    shown,
)

WEIGHTS = (".pt", ".pth", ".bin", ".ckpt", ".safetensors")  # how files of weights end


@dataclass(frozen=True)
class Foreign:
    """A kind of model that `python -m model convert` reads; `model.workshop.convert.registry.CONVERTERS` has how."""

    name: str  # as --kind has it
    title: str  # as it stands behind "This is"
    is_one: Callable[[Path, dict[str, Any]], bool]  # by the path, and what its config.json says: {} where there is none


def _of_type(model_type: str) -> Callable[[Path, dict[str, Any]], bool]:
    """By the `model_type` that Hugging Face's config.json has."""
    return lambda path, config: config.get("model_type") == model_type


def _is_state_dict(path: Path, config: dict[str, Any]) -> bool:
    """A file of weights, or a folder with one and no config.json, or one that tells what a state dict does not."""
    if path.is_file():
        return path.suffix in WEIGHTS
    own = (path / "config.json").exists() or (path / "metrics.json").exists()  # perhaps half of a checkpoint of ours
    return ("heads" in config or not own) and _weights_in(path) is not None


FOREIGN: dict[str, Foreign] = {
    made.name: made
    for made in (
        Foreign("marian", "a Hugging Face Marian model", _of_type("marian")),
        Foreign("bert", "a Hugging Face BERT model", _of_type("bert")),
        Foreign("gpt2", "a Hugging Face GPT-2 model", _of_type("gpt2")),
        Foreign("torch", "a state dict of torch.nn.Transformer, or of a model around one", _is_state_dict),
    )
}


ROTARY_BASE = 10_000  # of `model.network.positions`, which needs torch
ALIBI = "ALiBi positions, added to the scores"
CANNOT = {  # what every model of one of Hugging Face's kinds has, and the format cannot hold
    **dict.fromkeys(("t5", "mt5", "umt5", "longt5"), "relative positions, added to the scores"),
    **dict.fromkeys(("bart", "mbart", "blenderbot-small"), "a norm after the embeddings of encoder and decoder"),
    "bloom": ALIBI,
    "m2m_100": "sinusoidal positions that begin at 2",
}


def obstacles(config: dict[str, Any]) -> list[str]:
    """What the format cannot hold of a model of Hugging Face's, by its config.json; [] where that names nothing."""
    found = [CANNOT[config["model_type"]]] if config.get("model_type") in CANNOT else []
    rotary = {"rope_theta": config.get("rope_theta")}
    for name in ("rope_scaling", "rope_parameters"):  # the second holds both, in newer files
        rotary |= each if isinstance(each := config.get(name), dict) else {}
    attention = each if isinstance(each := config.get("attn_config"), dict) else config
    heads, width = _count(config, "num_attention_heads", "num_heads"), _count(config, "hidden_size", "d_model")
    keys, head_dim = _count(config, "num_key_value_heads"), _count(config, "head_dim", "d_kv")
    if attention.get("alibi") is True:
        found.append(ALIBI)
    if heads and keys and keys != heads:
        found.append(f"{keys} heads of keys for {heads} of queries")
    if heads and width and head_dim and head_dim * heads != width:
        found.append(f"{heads} heads of width {head_dim} for states of width {width}")
    if (base := rotary["rope_theta"]) not in (None, ROTARY_BASE):
        found.append(f"rotary positions with the base {shown(base)}")
    if (scaling := rotary.get("rope_type", rotary.get("type"))) not in (None, "default"):
        found.append(f"rotary positions with the scaling {shown(scaling)}")
    return found


def _count(values: dict[str, Any], *names: str) -> int | None:
    """The entry of a config under the first of some names that it has; None for one that is no whole number."""
    found = next((values[name] for name in names if name in values), None)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def config_of(path: Path) -> dict[str, Any]:
    """What a folder's config.json says, or {} where there is none that could be read."""
    try:
        values = read_json(path / "config.json", MEGABYTE)
    except (FileError, OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def _weights_in(folder: Path) -> Path | None:
    """The only file of weights in a folder; None where there are several, or none."""
    try:
        found = [folder / name for name in sorted(os.listdir(folder)) if name.endswith(WEIGHTS)]
    except (OSError, ValueError):  # longer than a path can be, or with a zero byte in it
        return None
    return found[0] if len(found) == 1 else None


def kind_of(path: Path) -> str | None:
    """Which of `FOREIGN` lies there; None where it is none of them."""
    config = config_of(path)
    if "schema" in config:
        return None
    try:
        return next((made.name for made in FOREIGN.values() if made.is_one(path, config)), None)
    except (OSError, ValueError):  # longer than a path can be, or with a zero byte in it
        return None


def told(path: Path) -> str | None:
    """What lies there and what to do with it, in a sentence or two; None where nothing is known of it."""
    kind = kind_of(path)
    if kind is not None:
        return f"{path} is {FOREIGN[kind].title}. Convert it: {command(path, kind)}"
    other = config_of(path).get("model_type")
    if isinstance(other, str) and other:
        found = " and ".join(obstacles(config_of(path)))
        has = f"which has {found}: the format cannot hold that" if found else "for which there is no converter"
        return f"{path} is a Hugging Face model of the kind {shown(other)}, {has}; {expected()}"
    return None


def expected() -> str:
    """Which kinds can be converted, as the end of a sentence."""
    return f"what can be converted is {', '.join(FOREIGN)}"


def command(path: Path, kind: str) -> str:
    """The line that converts it."""
    target = path.with_name(f"{path.stem if path.is_file() else path.name}-lab")
    return f"python -m model convert {quoted(path)} --kind {kind} --to {quoted(target)}"


def quoted(path: Path) -> str:
    """A path as a shell reads it."""
    import shlex

    return shlex.quote(str(path))
