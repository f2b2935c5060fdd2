"""A run that is over in moments: what the tests of training start from."""

from __future__ import annotations

import json
from pathlib import Path

import tiny
import torch

from model.config import TrainConfig
from model.training.run import Run
from model.training.run_folder import Files

SMALL = tiny.MODEL | {"d_model": 8, "d_ff": 8, "dropout": 0.2, "attention_dropout": 0.1}
BRIEF = tiny.TRAINING | {"epochs": 2, "batch_tokens": 300, "validate_every": 3}


def make(folder: Path, files: tuple[Path, Path], model: dict | None = None, init: str | None = None, **changes) -> Run:
    options = SMALL if model is None else model
    config = TrainConfig(**(BRIEF | changes))
    return Run(folder, Files.single(*files), options, config, torch.device("cpu"), ("English", "Made-up"), init)


def entries(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
