from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from model.__main__ import main
from tests.support import tiny
from tests.support.processes import PATIENCE, together

ROOT = Path(__file__).resolve().parents[3]
BRIEF = tiny.MODEL | tiny.TRAINING | {"epochs": 3, "log_every": 1, "validate_every": 5, "save_minutes": 1e-9}
STILL = {"dropout": 0.0, "attention_dropout": 0.0}


def command(files: tuple[Path, Path], out: Path, *words: str, **changes: object) -> list[str]:
    options = tiny.options(**(BRIEF | STILL | changes))
    return ["train", "--data", str(files[0]), "--dev", str(files[1]), "--out", str(out), "--device", "cpu", *options, *words]


def losses(out: Path) -> list[float]:
    entries = map(json.loads, (out / "log.jsonl").read_text(encoding="utf-8").splitlines())
    return [entry["loss"] for entry in entries if "loss" in entry]


def test_two_processes_take_the_steps_of_one(pair_files, tmp_path, capsys):
    seldom = {"batch_tokens": 60, "validate_every": 1000, "save_minutes": 9.0}
    assert main(command(pair_files, tmp_path / "one", **seldom)) == 0
    assert ", 2 processes" not in capsys.readouterr().out
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "model"]
    words = [*torchrun, *command(pair_files, tmp_path / "two", **seldom)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert "on cpu, 2 processes" in done.stdout
    assert done.stdout.count("finished") == 1  # one of them speaks
    one, two = losses(tmp_path / "one"), losses(tmp_path / "two")
    assert len(one) == len(two) >= 10
    assert two == pytest.approx(one, abs=1e-5)
    assert one[0] - one[-1] > 0.5


def test_two_processes_resume_and_refuse_another_count(pair_files, tmp_path, capsys):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    together(command(pair_files, whole, dropout=0.2), tmp_path, 2)
    told = together(command(pair_files, parts, "--max-minutes", "0", dropout=0.2), tmp_path, 2)
    assert "saved at step 1 of" in told
    assert main(command(pair_files, parts, dropout=0.2)) == 2
    assert "holds a run with other settings (processes: was 2, now 1)" in capsys.readouterr().err
    assert "going on at step 1" in together(command(pair_files, parts, dropout=0.2), tmp_path, 2)
    weights = [folder / "checkpoint" / "model.safetensors" for folder in (whole, parts)]
    assert weights[0].read_bytes() == weights[1].read_bytes()
