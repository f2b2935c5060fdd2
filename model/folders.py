"""Where checkpoints are looked for by name. No torch here."""

from __future__ import annotations

import os
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_INSTALLED = _HERE / "checkpoints"
SHIPPED = _INSTALLED if _INSTALLED.is_dir() else _HERE.parent / "checkpoints"
"""The folder of the shipped checkpoints: in the package where it is installed, beside it in the project."""


def homes() -> tuple[Path, ...]:
    """The folder that the environment names as CHECKPOINTS, if it does, then that of the shipped checkpoints."""
    own = os.environ.get("CHECKPOINTS")
    return (Path(own).expanduser().resolve(), SHIPPED) if own else (SHIPPED,)
