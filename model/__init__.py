"""An inspectable Transformer: `from model import load, analyse, Request`.

Names are imported on first use, so that importing this package does not import torch.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"
_MODULES = {
    "load": ".inference.analyse",
    "analyse": ".inference.analyse",
    "run": ".inference.analyse",
    "mask_effects": ".experiments.effects",
    "head_effects": ".experiments.effects",
    "leak_test": ".experiments.leaks",
    "leak_test_callable": ".experiments.foreign_leaks",
    "sweep": ".experiments.sweep",
    "measure_heads": ".experiments.head_survey",
    "effect_of_head": ".experiments.head_survey",
    "compare": ".experiments.checkpoint_comparison",
    "check": ".export.checks",
    "Analysis": ".inference.analysis",
    "Request": ".inference.request",
    "Decoding": ".decoding.strategy",
    "Intervention": ".edits.intervention",
    "GivenAttention": ".export.given_attention",
    "ModelConfig": ".config",
    "TrainConfig": ".config",
    "Site": ".trace",
    "Checkpoint": ".checkpoint",
    "Trace": ".trace",
    "MapView": ".trace",
    "Tree": ".decoding.hypotheses",
    "Hypothesis": ".decoding.hypotheses",
    "Effect": ".experiments.effects",
    "HeadEffect": ".experiments.effects",
    "SweepResult": ".experiments.sweep",
    "MeasuredHeads": ".experiments.head_survey",
    "HeadsOverCorpus": ".text.head_statistics",
    "LeakReport": ".experiments.leak_report",
    "ModelOutputs": ".experiments.foreign_leaks",
    "CheckpointComparison": ".experiments.checkpoint_comparison",
    "StepDifference": ".experiments.checkpoint_comparison",
    "CheckResult": ".export.check_kinds",
    "show": "viz.given_attention",
    "heads": "viz.given_attention",
    "save_html": "viz.given_attention",
}
__all__ = sorted(_MODULES)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'model' has no attribute {name!r}")
    home = _MODULES[name]
    if not home.startswith(".") and __name__ != "model":
        home = f".{home}"  # where installed, viz is inside the package
    return getattr(importlib.import_module(home, __name__), name)
