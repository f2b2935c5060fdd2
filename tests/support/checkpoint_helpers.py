"""Ways to damage a checkpoint that was saved, and what must be said of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from model.checkpoint import CheckpointError, load


def change_json(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")


def change_model(folder: Path, **changes: Any) -> None:
    model = json.loads((folder / "config.json").read_text(encoding="utf-8"))["model"]
    change_json(folder / "config.json", model=model | changes)


def change_weights(folder: Path, change: Callable[[dict], None]) -> None:
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors")


def refused(folder: Path, message: str) -> str:
    """Loads what cannot be loaded; returns what is said: a line of a readable length."""
    with pytest.raises(CheckpointError, match=message) as caught:
        load(str(folder))
    said = str(caught.value)
    assert "\n" not in said
    assert len(said) < 700
    return said
