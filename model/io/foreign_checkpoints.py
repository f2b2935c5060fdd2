"""Recognises models of other programs by their files, without torch; reads nothing but a small config.json."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .files import MEGABYTE, FileError, read_json, short_repr
from .package_names import COMMAND

WEIGHTS = (".pt", ".pth", ".bin", ".ckpt", ".safetensors")  # suffixes of weight files


@dataclass(frozen=True)
class ForeignKind:
    """A kind of model that `python -m model convert` reads; `model.workshop.convert.registry.CONVERTERS` converts it."""

    name: str  # the value of --kind
    title: str  # follows "This is"
    matches: Callable[[Path, dict[str, Any]], bool]  # from the path and its config.json, {} without one


def _of_type(model_type: str) -> Callable[[Path, dict[str, Any]], bool]:
    """Returns a check of the `model_type` in a Hugging Face config.json."""
    return lambda path, config: config.get("model_type") == model_type


def _is_state_dict(path: Path, config: dict[str, Any]) -> bool:
    """Returns True for a weight file, or a folder with one and no config.json of its own."""
    if path.is_file():
        return path.suffix in WEIGHTS
    own = (path / "config.json").exists() or (path / "metrics.json").exists()  # perhaps half of a checkpoint of ours
    return ("heads" in config or not own) and _weights_in(path) is not None


FOREIGN: dict[str, ForeignKind] = {
    each.name: each
    for each in (
        ForeignKind("marian", "a Hugging Face Marian model", _of_type("marian")),
        ForeignKind("bert", "a Hugging Face BERT model", _of_type("bert")),
        ForeignKind("gpt2", "a Hugging Face GPT-2 model", _of_type("gpt2")),
        ForeignKind("torch", "a state dict of torch.nn.Transformer, or of a model around one", _is_state_dict),
    )
}


ROTARY_BASE = 10_000  # of `model.network.positions`, which needs torch
ALIBI = "ALiBi positions, added to the scores"
UNSUPPORTED_PARTS = {  # by Hugging Face's model type: a part that the format cannot hold
    **dict.fromkeys(("t5", "mt5", "umt5", "longt5"), "relative positions, added to the scores"),
    **dict.fromkeys(("bart", "mbart", "blenderbot-small"), "a norm after the embeddings of encoder and decoder"),
    "bloom": ALIBI,
    "m2m_100": "sinusoidal positions that begin at 2",
}


def obstacles(config: dict[str, Any]) -> list[str]:
    """Returns the parts of a Hugging Face model that the format cannot hold, by its config.json."""
    features = [UNSUPPORTED_PARTS[config["model_type"]]] if config.get("model_type") in UNSUPPORTED_PARTS else []
    rotary = {"rope_theta": config.get("rope_theta")}
    for name in ("rope_scaling", "rope_parameters"):  # the second holds both, in newer files
        rotary |= each if isinstance(each := config.get(name), dict) else {}
    attention = each if isinstance(each := config.get("attn_config"), dict) else config
    heads, width = _count(config, "num_attention_heads", "num_heads"), _count(config, "hidden_size", "d_model")
    keys, head_dim = _count(config, "num_key_value_heads"), _count(config, "head_dim", "d_kv")
    if attention.get("alibi") is True:
        features.append(ALIBI)
    if heads and keys and keys != heads:
        features.append(f"{keys} heads of keys for {heads} of queries")
    if heads and width and head_dim and head_dim * heads != width:
        features.append(f"{heads} heads of width {head_dim} for states of width {width}")
    if (base := rotary["rope_theta"]) not in (None, ROTARY_BASE):
        features.append(f"rotary positions with the base {short_repr(base)}")
    if (scaling := rotary.get("rope_type", rotary.get("type"))) not in (None, "default"):
        features.append(f"rotary positions with the scaling {short_repr(scaling)}")
    return features


def _count(values: dict[str, Any], *names: str) -> int | None:
    """Returns the whole number under the first of some config names; None for other values."""
    value = next((values[name] for name in names if name in values), None)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def config_of(path: Path) -> dict[str, Any]:
    """Returns the config.json of a folder, or {} where it cannot be read."""
    try:
        values = read_json(path / "config.json", MEGABYTE)
    except (FileError, OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def _weights_in(folder: Path) -> Path | None:
    """Returns the only weight file in a folder; None where there are none or several."""
    try:
        files = [folder / name for name in sorted(os.listdir(folder)) if name.endswith(WEIGHTS)]
    except (OSError, ValueError):  # longer than a path can be, or with a zero byte in it
        return None
    return files[0] if len(files) == 1 else None


def kind_of(path: Path) -> str | None:
    """Returns the name of the kind in `FOREIGN` that lies at a path, or None."""
    config = config_of(path)
    if "schema" in config:
        return None
    try:
        return next((each.name for each in FOREIGN.values() if each.matches(path, config)), None)
    except (OSError, ValueError):  # longer than a path can be, or with a zero byte in it
        return None


def describe_foreign(path: Path) -> str | None:
    """Returns one or two sentences on the foreign model at a path and how to convert it; None for anything else."""
    kind = kind_of(path)
    if kind is not None:
        return f"{path} is {FOREIGN[kind].title}. Convert it: {command(path, kind)}"
    model_type = config_of(path).get("model_type")
    if isinstance(model_type, str) and model_type:
        features = " and ".join(obstacles(config_of(path)))
        reason = f"which has {features}: the format cannot hold that" if features else "for which there is no converter"
        return f"{path} is a Hugging Face model of the kind {short_repr(model_type)}, {reason}; {convertible_kinds()}"
    return None


def convertible_kinds() -> str:
    """Returns the kinds that can be converted, as the end of a sentence."""
    return f"supported are {', '.join(FOREIGN)}"


def command(path: Path, kind: str) -> str:
    """Returns the command line that converts the model."""
    target = path.with_name(f"{path.stem if path.is_file() else path.name}-lab")
    return f"{COMMAND} convert {quote_path(path)} --kind {kind} --to {quote_path(target)}"


def quote_path(path: Path) -> str:
    """Returns a path quoted for a shell."""
    import shlex

    return shlex.quote(str(path))
