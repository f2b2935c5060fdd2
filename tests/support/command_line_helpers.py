"""Helpers for tests of the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from model.__main__ import main

ROOT = Path(__file__).resolve().parents[2]


def python_m_model(*args: str) -> subprocess.CompletedProcess[str]:
    one_core = {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "model", *args]
    return subprocess.run(command, cwd=ROOT, env=os.environ | one_core, capture_output=True, text=True)


def fails(capsys, *args: str) -> str:
    """Runs a command that must fail; returns its one line."""
    try:
        status = main(list(args))
    except SystemExit as left:  # what argparse refuses
        status = left.code
    out, err = capsys.readouterr()
    assert status == 2
    assert out == ""
    assert err.endswith("\n")
    assert err.count("\n") == 1
    assert err.startswith("python -m model")
    return err
