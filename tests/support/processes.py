"""Runs the command line in processes forked from a server that has imported torch. Also free ports."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

PATIENCE = 300  # s
# Before a command: it ends with the process that starts it, however that ends, or once its input is closed.
GUARDED = ("sh", "-c", '"$@" & read _; kill $!; wait', "guard")
_FORK = multiprocessing.get_context("forkserver")
_FORK.set_forkserver_preload(
    ["model.__main__", "model.workshop.training.run", "torch._dynamo"]
)  # the last is for the optimizer


def _run(words: list[str], log: Path, environment: dict[str, str], first: Callable[[], None] | None) -> None:
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background of a shell
    import torch

    from model.__main__ import main

    torch.set_num_threads(1)
    if first:
        first()
    raise SystemExit(main(words))


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def answers(url: str) -> str:
    """Returns the text at an address."""
    with urllib.request.urlopen(url, timeout=60) as reply:
        assert reply.status == 200
        return reply.read().decode()


def await_health(started: subprocess.Popen[str], port: int) -> None:
    """Waits until a server answers."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        assert started.poll() is None, f"the server ended with status {started.returncode}"
        try:
            answers(f"http://127.0.0.1:{port}/_stcore/health")
            return
        except OSError:
            time.sleep(0.25)
    raise AssertionError("the server did not answer within five minutes")


class CommandProcess:
    """A running `python -m model WORDS` with its output."""

    def __init__(self, words: list[str], log: Path, first: Callable[[], None] | None = None, **environment: str) -> None:
        self.log = log
        self.process = _FORK.Process(target=_run, args=(words, log, environment, first), daemon=True)
        self.process.start()

    def ended(self) -> int:
        """Returns the exit status; negative after a signal."""
        self.process.join(PATIENCE)
        assert self.process.exitcode is not None, f"still running after {PATIENCE} s: {self.text()}"
        return self.process.exitcode

    def text(self) -> str:
        return self.log.read_text(encoding="utf-8")


def start_ranks(words: list[str], folder: Path, count: int) -> list[CommandProcess]:
    """Starts a command in several distributed processes, as torchrun does."""
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(count)}
    place |= {"LOCAL_WORLD_SIZE": str(count)}
    ranks = [{"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(count)]
    return [CommandProcess(words, folder / f"told-{n}", **place, **rank) for n, rank in enumerate(ranks)]


def run_ranks(words: list[str], folder: Path, count: int) -> str:
    """Runs a command in several distributed processes, and returns the output of the first."""
    started = start_ranks(words, folder, count)
    for each in started:
        assert each.ended() == 0, each.text()
    return started[0].text()
