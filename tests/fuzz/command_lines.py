"""Any options at all: the command does what it should, or one line says what is wrong, with exit status 2."""

from __future__ import annotations

import contextlib
import functools
import io
import random
import sys
import tempfile
from pathlib import Path
from unittest import mock

from model import checkpoint as checkpoints
from model.__main__ import main
from model.decoding.strategy import STRATEGIES
from model.text.tokenizer import Tokenizer
from tests.fuzz import texts
from tests.fuzz.core import fuzzer
from tests.support import tiny

NUMBERS = ("0", "1", "2", "3", "-1", "0.5", "nan", "inf", "-inf", "1e400", "9" * 25, "9" * 5000, "1e-320", "", " ", "a\nb")
WORDS = (*NUMBERS, "x", "<b>", "\0", "\udcff", "..", "/", "/dev/null", "a,b", "a,b,c", "-", "--", "=", "yes", "x" * 9000)
DECODING = ("--beam", "--alpha", "--temperature", "--top-k", "--top-p", "--seed")
TRAINING = ("--epochs", "--batch-tokens", "--learning-rate", "--warmup", "--clip", "--seed", "--average", "--window")
TRAINING += ("--heads", "--d-model", "--d-ff", "--dropout", "--norm-eps", "--vocab-size", "--max-minutes", "--languages")
SMALL = ("--d-model", "8", "--d-ff", "8", "--heads", "2", "--encoder-layers", "1", "--decoder-layers", "1", "--epochs", "1")


@functools.cache
def place() -> Path:
    """A folder with a checkpoint and pairs, kept as long as the process."""
    kept = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    folder = Path(kept.name)
    place.kept = kept
    checkpoints.save(tiny.checkpoint(Tokenizer.train(tiny.SENTENCES, 300)), folder / "made")
    lines = "".join(f"{source}\t{target}\n" for source, target in tiny.PAIRS[:12])
    (folder / "pairs.tsv").write_text(lines, encoding="utf-8")
    return folder


def options(draw: random.Random, names: tuple[str, ...]) -> list[str]:
    """Some of these options, with values of any kind."""
    found = []
    for name in draw.sample(names, draw.randint(0, 2)):
        found += [name, draw.choice(NUMBERS if draw.random() < 0.8 else WORDS)]
    return found


def words(draw: random.Random, out: str) -> tuple[list[str], str]:
    """A command line, and what comes in on standard input."""
    folder = place()
    checkpoint = ["--checkpoint", str(folder / "made") if draw.random() < 0.9 else draw.choice(WORDS)]
    data = str(folder / "pairs.tsv") if draw.random() < 0.9 else draw.choice(WORDS)
    how = ["--strategy", draw.choice((*STRATEGIES, "x"))] if draw.random() < 0.5 else []
    more = ["--device", "cpu", *options(draw, DECODING), *how]
    command = draw.choice(("translate", "translate", "evaluate", "train", "x"))
    if command == "translate":
        return [
            "translate",
            draw.choice(("-", "The fox.", *WORDS)),
            *checkpoint,
            *more,
            *draw.choice((["--json"], [])),
        ], texts.text(draw)
    if command == "evaluate":
        limit = ["--limit", draw.choice(("1", "2", *NUMBERS)), *options(draw, ("--record", "--references"))]
        return ["evaluate", "--data", data, *checkpoint, *more, *limit], ""
    if command == "train":
        files = ["--data", data, "--dev", str(folder / "pairs.tsv"), "--out", out]
        return ["train", *files, *SMALL, "--max-minutes", "0", "--device", "cpu", *options(draw, TRAINING)], ""
    return draw.choices(WORDS, k=draw.randint(0, 3)), ""


@fuzzer("command lines", few=8)
def command_lines(draw: random.Random) -> str | None:
    """A command line within this process."""
    said, told = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as out:
        line, typed = words(draw, str(Path(out) / "run"))
        stdin = io.TextIOWrapper(io.BytesIO(typed.encode("utf-8", "surrogatepass")), encoding="utf-8")
        with mock.patch.object(sys, "stdin", stdin), contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
            try:
                status = main(line)
            except SystemExit as left:
                status = left.code
    assert status in (0, 2), f"{line}: {status}"
    if status == 2:
        last = told.getvalue().splitlines()[-1]
        assert last.startswith("python -m model"), f"{line}: {last}"
        assert len(last) < 2000, f"a line of {len(last)} characters"
        return "refused"
    return None
