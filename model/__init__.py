"""A Transformer that can be watched: `from model import load, analyse, Request`.

The names are fetched when they are first used, so that importing this package does not import torch.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"
_HOMES = {
    "load": "model.inference.analyse",
    "analyse": "model.inference.analyse",
    "mask_effects": "model.experiments.effects",
    "head_effects": "model.experiments.effects",
    "leak_test": "model.experiments.leaks",
    "leak_test_callable": "model.experiments.leaks",
    "sweep": "model.experiments.sweep",
    "Analysis": "model.inference.analysis",
    "Request": "model.inference.request",
    "Decoding": "model.decoding.strategy",
    "Intervention": "model.edits.intervention",
    "ModelConfig": "model.config",
    "TrainConfig": "model.config",
    "Site": "model.trace",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'model' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
