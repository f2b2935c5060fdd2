"""Runs that are killed, starved and disturbed from outside, as processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tiny
import torch

from model import checkpoint as checkpoints
from model.__main__ import main

ROOT = Path(__file__).resolve().parents[3]
OPTIONS = tiny.MODEL | tiny.TRAINING | {"dropout": 0.2, "attention_dropout": 0.1, "epochs": 20, "validate_every": 9}
BRIEF = OPTIONS | {"average": 3, "log_every": 5, "first_target_epochs": 3}


def command(files: tuple[Path, Path], out: Path, *words: str, **changes: object) -> list[str]:
    options = tiny.options(**(BRIEF | {"save_minutes": 1e-9} | changes))
    data = ["--data", str(files[0]), "--dev", str(files[1]), "--out", str(out), "--device", "cpu"]
    return ["train", *data, *options, *words]


def start(args: list[str], **more: object) -> subprocess.Popen:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    program = [sys.executable, "-m", "model", *args]
    return subprocess.Popen(
        program, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


def probes(folder: Path) -> Path:
    path = folder / "probes.txt"
    lines = [f"{n}\t{s}\t{t}" for n, (s, t) in enumerate(tiny.HELD_OUT)]
    path.write_text("# name, source, target\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


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


def test_killed_and_resumed_is_never_stopped_bit_for_bit(pair_files, tmp_path):
    """kill -9 at several moments, in the middle of whatever it does; the state, its log and the weights kept are equal."""
    extra = ("--probes", str(probes(tmp_path)))
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert start(command(pair_files, whole, *extra)).wait(120) == 0
    last = 0
    for wanted in (1, 13, 47, 70):
        process = start(command(pair_files, killed, *extra))
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if (killed / "state.pt").exists() and saved(killed)["progress"]["step"] >= wanted:
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait(10) == -signal.SIGKILL
        assert saved(killed)["progress"]["step"] > last
        last = saved(killed)["progress"]["step"]
    assert last < saved(whole)["progress"]["step"]
    assert start(command(pair_files, killed, *extra)).wait(120) == 0
    one, two = saved(whole), saved(killed)
    for part in one:
        assert same(one[part], two[part]), part
    assert len(one["snapshots"]) == 3
    assert len(one["probes"]["steps"]) > 10
    assert [e for e in log(whole) if "dev_loss" in e] == [e for e in log(killed) if "dev_loss" in e]
    for name in ("model.safetensors", "tokenizer.json", "counts.json", "probes.npz"):
        assert (whole / "checkpoint" / name).read_bytes() == (killed / "checkpoint" / name).read_bytes(), name


def test_the_comparison_above_can_fail(pair_files, tmp_path):
    assert start(command(pair_files, tmp_path / "a", epochs=4)).wait(120) == 0
    assert start(command(pair_files, tmp_path / "b", epochs=4, seed=2)).wait(120) == 0
    one, two = saved(tmp_path / "a"), saved(tmp_path / "b")
    assert not same(one["model"], two["model"])
    assert not same(one["random"], two["random"])
    assert same(one["probes"], two["probes"])


def limit_files(size: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_full_disk_leaves_what_was_saved_before(pair_files, tmp_path):
    """No file may grow over 20 kB, as where the disk is full: the state is larger."""
    assert start(command(pair_files, tmp_path, "--max-minutes", "0")).wait(120) == 0
    before = {path: path.read_bytes() for path in (tmp_path / "state.pt", tmp_path / "settings.json")}
    process = start(command(pair_files, tmp_path), preexec_fn=lambda: limit_files(20_000))
    _, told = process.communicate(timeout=120)
    assert process.returncode == 2, told
    last = told.strip().splitlines()[-1].split("\r")[-1]
    assert "could not be saved in" in last
    assert "make room and give the same command: what was saved before is as it was." in last
    assert "Traceback" not in told
    assert {path: path.read_bytes() for path in before} == before
    assert not list(tmp_path.glob("*.new"))
    assert start(command(pair_files, tmp_path)).wait(120) == 0


def test_a_checkpoint_that_cannot_be_written_leaves_the_last_one(pair_files, tmp_path, monkeypatch, capsys):
    assert main(command(pair_files, tmp_path, epochs=3)) == 0
    good = {p.name: p.read_bytes() for p in (tmp_path / "checkpoint").iterdir()}

    def full(weights, path):
        raise OSError(28, "No space left on device")

    loaded = checkpoints.load(str(tmp_path / "checkpoint"))
    monkeypatch.setattr(checkpoints, "save_file", full)
    with pytest.raises(OSError, match="No space left"):
        checkpoints.save(loaded, tmp_path / "checkpoint")
    assert {p.name: p.read_bytes() for p in (tmp_path / "checkpoint").iterdir()} == good
    capsys.readouterr()
    assert main(command(pair_files, tmp_path / "other", epochs=3)) == 2
    assert "step 9 could not be saved in" in capsys.readouterr().err


@pytest.mark.parametrize("change", ["vanished", "changed"])
@pytest.mark.parametrize("which", [0, 1])
def test_data_that_are_not_as_they_were(pair_files, tmp_path, capsys, change, which):
    files = [tmp_path / path.name for path in pair_files]
    for copy, path in zip(files, pair_files, strict=True):
        copy.write_bytes(path.read_bytes())
    assert main(command(tuple(files), tmp_path / "run", "--max-minutes", "0")) == 0
    before = (tmp_path / "run" / "state.pt").read_bytes()
    if change == "vanished":
        files[which].unlink()
    else:
        files[which].write_text(files[which].read_text(encoding="utf-8") + "A fox.\tUna varun.\n", encoding="utf-8")
    capsys.readouterr()
    assert main(command(tuple(files), tmp_path / "run")) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    expected = {"vanished": "No such file", "changed": f"the {('train', 'dev')[which]} file is not the one that the run in"}
    assert expected[change] in told
    assert (tmp_path / "run" / "state.pt").read_bytes() == before


def test_other_settings_and_too_small_a_batch(pair_files, tmp_path, capsys):
    assert main(command(pair_files, tmp_path / "run", "--max-minutes", "0")) == 0
    capsys.readouterr()
    assert main(command(pair_files, tmp_path / "run", dropout=0.3, epochs=13)) == 2
    assert "(model: dropout was 0.2, now 0.3)" in capsys.readouterr().err
    assert main(command(pair_files, tmp_path / "small", batch_tokens=4)) == 2
    assert "a batch holds 4 tokens, a sentence has" in capsys.readouterr().err
