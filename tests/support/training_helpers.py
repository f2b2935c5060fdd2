"""A run that is over in moments: what the tests of training start from."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from model.config import TrainConfig
from model.network.transformer import EncoderDecoder
from model.workshop.training import loss_and_validation
from model.workshop.training.run import TrainingRun
from model.workshop.training.run_folder import RunFiles
from tests.support import tiny

SMALL = tiny.MODEL | {"d_model": 8, "d_ff": 8, "dropout": 0.2, "attention_dropout": 0.1}
BRIEF = tiny.TRAINING | {"epochs": 2, "batch_tokens": 300, "validate_every": 3}
# of a plan of variants, whose runs are over as soon
BRIEF_VARIANT = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "d_ff": 16, "vocab_size": 300, "epochs": 1}
BRIEF_VARIANT |= {"first_target_epochs": 0, "batch_tokens": 400, "warmup": 2}


def make(
    folder: Path,
    files: tuple[Path, Path],
    model: dict | None = None,
    init: str | None = None,
    teachers: tuple[str, ...] = (),
    **changes,
) -> TrainingRun:
    options = SMALL if model is None else model
    config = TrainConfig(**(BRIEF | changes))
    languages, device = ("English", "Made-up"), torch.device("cpu")
    return TrainingRun(folder, RunFiles.single(*files), options, config, device, languages, init, teachers=teachers)


def entries(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]


def weights(folder: Path) -> bytes:
    return (folder / "checkpoint" / "model.safetensors").read_bytes()


def state(run: TrainingRun) -> dict[str, torch.Tensor]:
    return run.model.state_dict()


def assert_equal(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> None:
    assert one.keys() == two.keys()
    assert all(value.equal(two[key]) for key, value in one.items())


def dev_loss(run: TrainingRun, model: EncoderDecoder) -> float:
    """Nats a token of the dev pairs, one by one."""
    total = count = 0.0
    with torch.inference_mode():
        for number in range(len(run.dev.corpus)):
            summed, tokens = loss_and_validation.batch_loss(model, run.dev.corpus.batch([number]), 0.0)
            total, count = total + float(summed), count + tokens
    return total / count
