"""Shared by the tests: one core, a vocabulary, tiny checkpoints, and the shipped one."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from model import checkpoint as checkpoints
from model.__main__ import main
from model.checkpoint import Checkpoint
from model.io import folders
from model.text.tokenizer import Tokenizer
from tests.support import tiny

torch.set_num_threads(1)
os.environ.setdefault("OMP_NUM_THREADS", "1")  # for processes that tests start: threads on a busy core wait for each other


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks as long all but every n-th case of a test with `every(n)`."""
    cases: dict[str, int] = {}
    for item in items:
        if every := item.get_closest_marker("every"):
            name = item.nodeid.split("[")[0]
            cases[name] = number = cases.get(name, -1) + 1
            if number % every.args[0]:
                item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session", autouse=True)
def no_bytecode_of_temporary_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Removes what Python has compiled of packages that tests write, if all bytecode goes to one folder."""
    yield
    if sys.pycache_prefix:
        folder = tmp_path_factory.getbasetemp().resolve()
        shutil.rmtree(Path(sys.pycache_prefix, *folder.parts[1:]), ignore_errors=True)


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    """A vocabulary learned on made-up sentences."""
    odd = [text for pair in tiny.ODD_PAIRS for text in pair]
    return Tokenizer.train([*tiny.SENTENCES, *odd], 320)


@pytest.fixture(scope="session")
def tiny_checkpoint(tokenizer: Tokenizer) -> Checkpoint:
    """An untrained float32 checkpoint, never to be written to."""
    return tiny.checkpoint(tokenizer)


@pytest.fixture(scope="session")
def exact_checkpoint(tokenizer: Tokenizer) -> Checkpoint:
    """A checkpoint in float64, where equality to 1e-10 is claimed."""
    return tiny.checkpoint(tokenizer, dtype=torch.float64)


@pytest.fixture
def saved(tiny_checkpoint: Checkpoint, tmp_path: Path) -> Path:
    """A folder with a whole checkpoint in it, which a test may damage."""
    folder = tmp_path / "saved"
    checkpoints.save(tiny_checkpoint, folder)
    return folder


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, saved: Path) -> Path:
    """A folder of checkpoints with a made-up one in it, which a test may damage."""
    for function in (folders.list_checkpoints, folders.search_folders):
        monkeypatch.setattr(function, "__defaults__", (saved.parent,))
    monkeypatch.delenv("CHECKPOINTS", raising=False)
    return saved


@pytest.fixture(scope="session")
def pair_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Training and dev pairs of the made-up language, as files."""
    folder = tmp_path_factory.mktemp("pairs")
    train, dev = folder / "train.tsv", folder / "dev.tsv"
    learned = [pair for pair in tiny.PAIRS if pair not in tiny.HELD_OUT]
    for path, pairs in ((train, learned), (dev, tiny.HELD_OUT)):
        path.write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    return train, dev


@pytest.fixture(scope="session")
def trained(pair_files: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run on the made-up language, made by the command line; not to be written to."""
    folder = tmp_path_factory.mktemp("runs") / "made-up"
    train, dev = map(str, pair_files)
    files = ["--data", train, "--dev", dev, "--out", str(folder), "--languages", "English,Made-up"]
    assert main(["train", *files, "--device", "cpu", *tiny.options(**tiny.MODEL, **tiny.TRAINING)]) == 0
    return folder


@pytest.fixture(scope="session")
def shipped() -> Checkpoint:
    """checkpoints/en-fr, as it is published."""
    return checkpoints.load("en-fr")
