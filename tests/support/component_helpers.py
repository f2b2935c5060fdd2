"""Components without a browser: their data, and events as their scripts report them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from viz.kit import mount
from viz.state import session


def floats(text: str) -> np.ndarray:
    """Numbers as they were packed."""
    return np.frombuffer(base64.b64decode(text), "<f4")


def unpacked(data: Mapping[str, Any], name: str) -> np.ndarray:
    """Values or cells of a packed map: [m,n]."""
    packed = data[name]
    flat = floats(packed) if name == "values" else np.array([cell == "1" for cell in packed])
    return flat.reshape(data["shape"])


def cells_of(payload: Mapping[str, Any]) -> np.ndarray:
    """Returns the values of a pattern [T,S]; masked cells are NaN."""
    return np.where(unpacked(payload, "allowed"), unpacked(payload, "values"), np.nan)


class Mounted:
    """Stands in for the browser from here on; the values are those of what was mounted last."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        self.data: Mapping[str, Any] = {}
        self.default: Mapping[str, Any] | None = None
        self.events: dict[str, mount.Event] = {}
        monkeypatch.setattr(mount.Component, "mount", self._mount)

    def _mount(self, key, data, events=None, default=None, height="content", overrides=None) -> None:
        self.data, self.default = {**data, **overrides} if overrides else data, default
        self.events.update(events or {})

    def report(self, name: str, value: Any) -> None:
        """Reports a value under a name, as the script does."""
        self._patch.setattr(session, "component_value", lambda key, event: value if event == name else None)
        mount._report("any", name, *self.events[name])
