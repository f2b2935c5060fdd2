from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiny

ROOT = Path(__file__).resolve().parents[3]
BRIEF = tiny.MODEL | tiny.TRAINING | {"epochs": 3, "log_every": 1, "validate_every": 5, "save_minutes": 1e-9}
STILL = {"dropout": 0.0, "attention_dropout": 0.0}


def train(files: tuple[Path, Path], out: Path, processes: int, *words: str, **changes: object) -> str:
    """Runs the command line in one process or, by torchrun, in several on this machine."""
    program = [sys.executable, "-m"]
    if processes > 1:
        program += ["torch.distributed.run", "--standalone", "--nproc-per-node", str(processes), "-m"]
    options = tiny.options(**(BRIEF | STILL | changes))
    data = ["--data", str(files[0]), "--dev", str(files[1]), "--out", str(out), "--device", "cpu"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*program, "model", "train", *data, *options, *words], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def losses(out: Path) -> list[float]:
    entries = map(json.loads, (out / "log.jsonl").read_text(encoding="utf-8").splitlines())
    return [entry["loss"] for entry in entries if "loss" in entry]


def test_two_processes_take_the_steps_of_one(pair_files, tmp_path):
    """The loss is the global sum over the global number of tokens; batches of odd size and of one pair are among them."""
    told = train(pair_files, tmp_path / "one", 1, batch_tokens=60)
    assert ", 2 processes" not in told
    told = train(pair_files, tmp_path / "two", 2, batch_tokens=60)
    assert "on cpu, 2 processes" in told
    assert told.count("finished") == 1  # one of them speaks
    one, two = losses(tmp_path / "one"), losses(tmp_path / "two")
    assert len(one) == len(two) >= 10
    assert two == pytest.approx(one, abs=1e-5)
    assert one[0] - one[-1] > 0.5


def test_two_processes_stop_and_go_on(pair_files, tmp_path):
    train(pair_files, tmp_path / "whole", 2, dropout=0.2)
    told = train(pair_files, tmp_path / "parts", 2, "--max-minutes", "0", dropout=0.2)
    assert "saved at step 1 of" in told
    assert "going on at step 1" in train(pair_files, tmp_path / "parts", 2, dropout=0.2)
    weights = [tmp_path / name / "checkpoint" / "model.safetensors" for name in ("whole", "parts")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_another_number_of_processes_is_refused(pair_files, tmp_path):
    train(pair_files, tmp_path, 2, "--max-minutes", "0")
    with pytest.raises(AssertionError, match=r"holds a run with other settings \(processes: was 2, now 1\)"):
        train(pair_files, tmp_path, 1)
