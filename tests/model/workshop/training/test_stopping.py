"""Runs that are killed, starved or distributed, as processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from model import checkpoint as checkpoints
from model.__main__ import main
from model.workshop.training.run import TrainingRun
from model.workshop.training.run_folder import RunFolder
from tests.support import tiny
from tests.support.processes import PATIENCE, CommandProcess, run_ranks

OPTIONS = tiny.MODEL | tiny.TRAINING | {"dropout": 0.2, "attention_dropout": 0.1, "epochs": 8, "validate_every": 9}
BRIEF = OPTIONS | {"average": 3, "log_every": 5, "first_target_epochs": 3, "joined_share": 0.1, "typed_copies": 9}
BRIEF |= {"bpe_dropout": 0.1}


def command(files: tuple[Path, Path], out: Path, *words: str, **changes: object) -> list[str]:
    options = tiny.options(**(BRIEF | {"save_minutes": 1e-9} | changes))
    data = ["--data", str(files[0]), "--dev", str(files[1]), "--out", str(out), "--device", "cpu"]
    return ["train", *data, *options, *words]


def probes(folder: Path) -> Path:
    path = folder / "probes.txt"
    lines = [f"{n}\t{s}\t{t}" for n, (s, t) in enumerate(tiny.HELD_OUT[:3])]
    path.write_text("# name, source, target\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def with_names(files: tuple[Path, Path], folder: Path) -> tuple[Path, Path]:
    """The files, with pairs behind them that can have other names and numbers."""
    train, names = folder / "train.tsv", ("Carmona", "Lorano", "Ramonca", "Carlora")
    lines = [f"The king sees {name} {n}.\tLo roda mira {name} {n}.\n" for n, name in enumerate(names, 21)]
    train.write_text(files[0].read_text(encoding="utf-8") + "".join(lines), encoding="utf-8")
    return train, files[1]


def saved(folder: Path) -> dict:
    return torch.load(folder / "state.pt", weights_only=True)


def same(one: object, two: object) -> bool:
    """Equal to the last bit, all the way down; times do not count."""
    if isinstance(one, torch.Tensor):
        return one.dtype == two.dtype and one.equal(two)
    if isinstance(one, dict):
        names = {*one, *two} - {"seconds"}
        return all(name in one and name in two and same(one[name], two[name]) for name in names)
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(same, one, two))
    return one == two


def log(folder: Path) -> list[dict]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    return [{k: v for k, v in line.items() if k not in ("seconds", "tokens_per_second")} for line in lines]


@pytest.mark.long
def test_killed_and_resumed_run_is_equal_bit_for_bit(pair_files, tmp_path):
    extra = ("--probes", str(probes(tmp_path)), "--renamed-share", "0.1", "--renumbered-share", "0.1")
    files, whole, killed = with_names(pair_files, tmp_path), tmp_path / "whole", tmp_path / "killed"
    assert main(command(files, whole, *extra, epochs=5)) == 0
    last = 0
    for wanted in (1, 13):
        run = CommandProcess(command(files, killed, *extra, epochs=5), tmp_path / "told")
        while run.process.is_alive():
            if (killed / "state.pt").exists() and saved(killed)["progress"]["step"] >= wanted:
                break
            run.process.join(0.05)
        run.process.kill()
        assert run.ended() == -signal.SIGKILL, run.text()
        assert saved(killed)["progress"]["step"] > last
        last = saved(killed)["progress"]["step"]
    assert last < saved(whole)["progress"]["step"]
    assert main(command(files, killed, *extra, epochs=5)) == 0
    one, two = saved(whole), saved(killed)
    for part in one:
        assert same(one[part], two[part]), part
    assert len(one["snapshots"]) == 3
    assert len(one["probes"]["steps"]) > 5
    assert log(whole) == log(killed)  # with the means over the steps that were taken before the kill
    assert len(one["probes"]["written"]) == len(one["probes"]["steps"])
    for name in ("model.safetensors", "tokenizer.json", "counts.json", "probes.npz"):
        assert (whole / "checkpoint" / name).read_bytes() == (killed / "checkpoint" / name).read_bytes(), name


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_saves_the_run_and_sets_the_status(pair_files, tmp_path, monkeypatch, capsys, number, status):
    step = TrainingRun._step

    def interrupted(run, indices):
        if run.progress.step == 2:
            signal.raise_signal(number)
        return step(run, indices)

    monkeypatch.setattr(TrainingRun, "_step", interrupted)
    words = command(pair_files, tmp_path, save_minutes=99)
    assert main(words) == status
    assert saved(tmp_path)["progress"]["step"] == 3
    assert "saved at step 3 of" in capsys.readouterr().out
    assert main([*words, "--max-minutes", "0"]) == 0
    assert "continues at step 3" in capsys.readouterr().out


def limit_files() -> None:
    import resource

    sys.dont_write_bytecode = True  # a cut-off file would break later imports
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


def test_a_full_disk_leaves_what_was_saved_before(pair_files, tmp_path):
    assert main(command(pair_files, tmp_path, "--max-minutes", "0")) == 0
    before = {path: path.read_bytes() for path in (tmp_path / "state.pt", tmp_path / "settings.json")}
    run = CommandProcess(command(pair_files, tmp_path), tmp_path / "told", limit_files)
    assert run.ended() == 2, run.text()
    last = run.text().strip().splitlines()[-1].split("\r")[-1]
    assert "could not be saved in" in last
    assert "free some space and repeat the command. Earlier saves are intact." in last
    assert "Traceback" not in run.text()
    assert {path: path.read_bytes() for path in before} == before
    assert not list(tmp_path.glob("*.new"))
    assert main(command(pair_files, tmp_path, "--max-minutes", "0")) == 0


def test_failed_save_names_its_step(pair_files, tmp_path, monkeypatch, capsys):
    def full(weights, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints, "save_file", full)
    assert main(command(pair_files, tmp_path, epochs=3)) == 2
    assert "step 9 could not be saved in" in capsys.readouterr().err


def test_two_runs_in_one_folder_are_one_too_many(pair_files, tmp_path, capsys):
    assert main(command(pair_files, tmp_path, "--max-minutes", "0")) == 0
    (tmp_path / "log.jsonl").write_text('{"step": 99}\n', encoding="utf-8")  # the other has come further since it saved
    before = {path: path.read_bytes() for path in tmp_path.glob("*.*")}
    with RunFolder(tmp_path).locked():
        assert main(command(pair_files, tmp_path, "--max-minutes", "0")) == 2
    assert {path: path.read_bytes() for path in tmp_path.glob("*.*")} == before
    assert f"another run is writing to {tmp_path}; wait for it or choose another --out" in capsys.readouterr().err
    assert main(command(pair_files, tmp_path, "--max-minutes", "0")) == 0


ROOT = Path(__file__).resolve().parents[4]
DISTRIBUTED_BRIEF = tiny.MODEL | tiny.TRAINING | {"epochs": 3, "log_every": 1, "validate_every": 5, "save_minutes": 1e-9}
STILL = {"dropout": 0.0, "attention_dropout": 0.0}


def distributed_command(files: tuple[Path, Path], out: Path, *words: str, **changes: object) -> list[str]:
    options = tiny.options(**(DISTRIBUTED_BRIEF | STILL | changes))
    return ["train", "--data", str(files[0]), "--dev", str(files[1]), "--out", str(out), "--device", "cpu", *options, *words]


def losses(out: Path) -> list[float]:
    entries = map(json.loads, (out / "log.jsonl").read_text(encoding="utf-8").splitlines())
    return [entry["loss"] for entry in entries if "loss" in entry]


@pytest.mark.long
def test_two_processes_take_the_steps_of_one(pair_files, tmp_path, capsys):
    seldom = {"batch_tokens": 60, "validate_every": 1000, "save_minutes": 9.0}
    assert main(distributed_command(pair_files, tmp_path / "one", **seldom)) == 0
    assert ", 2 processes" not in capsys.readouterr().out
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "model"]
    words = [*torchrun, *distributed_command(pair_files, tmp_path / "two", **seldom)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert "on cpu, 2 processes" in done.stdout
    assert done.stdout.count("finished") == 1  # one of them speaks
    one, two = losses(tmp_path / "one"), losses(tmp_path / "two")
    assert len(one) == len(two) >= 10
    assert two == pytest.approx(one, abs=1e-5)
    assert one[0] - one[-1] > 0.5


@pytest.mark.long
def test_two_processes_resume_and_refuse_another_count(pair_files, tmp_path, capsys):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run_ranks(distributed_command(pair_files, whole, dropout=0.2), tmp_path, 2)
    told = run_ranks(distributed_command(pair_files, parts, "--max-minutes", "0", dropout=0.2), tmp_path, 2)
    assert "saved at step 1 of" in told
    assert main(distributed_command(pair_files, parts, dropout=0.2)) == 2
    assert "holds a run with other settings (processes: was 2, now 1)" in capsys.readouterr().err
    assert "continues at step 1" in run_ranks(distributed_command(pair_files, parts, dropout=0.2), tmp_path, 2)
    weights = [folder / "checkpoint" / "model.safetensors" for folder in (whole, parts)]
    assert weights[0].read_bytes() == weights[1].read_bytes()
