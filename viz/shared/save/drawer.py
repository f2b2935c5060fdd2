"""PDF pages are drawn in a process of their own: a picture that is too much for what draws it ends that process alone.

python -m viz.shared.save.drawer is that process: pictures on standard input, answers on standard output, one after another;
it ends with its input. It lives on from picture to picture, since its fonts take a second.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[3]
STARTING = 60.0  # seconds until it has its fonts
PATIENCE = 20.0  # seconds for a picture
MEMORY = 1 << 30  # bytes of address space, on systems that bound it; 30,000 texts take 0.6 GB
FAULT, PAGE = b"fault", b"page"

_process: subprocess.Popen[bytes] | None = None
_one = threading.Lock()


def draw(svg: str) -> bytes:
    """The PDF page of a picture (see `pdf`). ValueError with one sentence where there is none, or it takes too much."""
    global _process
    with _one:
        try:
            if _process is None or _process.poll() is not None:
                _process = _started()
                _answer(_process, STARTING)
            kind, content = _answer(_process, PATIENCE, svg.encode())
        except (OSError, EOFError):
            if _process:
                _end(_process)
            _process = None
            raise ValueError("The picture is too much for a PDF. Save it as SVG instead.") from None
    if kind == FAULT:
        raise ValueError(content.decode())
    return content


def _started() -> subprocess.Popen[bytes]:
    """A new process: out of reach of the Ctrl+C that the lab's own terminal sends."""
    return subprocess.Popen(
        [sys.executable, "-m", __name__],
        cwd=ROOT,
        env={**os.environ, "RAYON_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )


def _answer(process: subprocess.Popen[bytes], patience: float, picture: bytes | None = None) -> tuple[bytes, bytes]:
    """Its next answer. EOFError or OSError where it ends before, by itself or as its time is over."""
    assert process.stdin and process.stdout
    timer = threading.Timer(patience, process.kill)
    timer.start()
    try:
        if picture is not None:
            _write(process.stdin, b"picture", picture)
        return _read(process.stdout)
    finally:
        timer.cancel()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):  # what could not be written any more
            if pipe:
                pipe.close()
    process.wait()


def _write(pipe: IO[bytes], kind: bytes, content: bytes) -> None:
    pipe.write(b"%s %d\n" % (kind, len(content)))
    pipe.write(content)
    pipe.flush()


def _read(pipe: IO[bytes]) -> tuple[bytes, bytes]:
    """The next message. EOFError where the other side has ended."""
    kind, _, length = pipe.readline().partition(b" ")
    if not length.endswith(b"\n"):
        raise EOFError
    content = pipe.read(int(length))
    if len(content) < int(length):
        raise EOFError
    return kind, content


def _bounded() -> None:
    """No more memory than a picture may take, and no file of what was in it."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # no such limits on this system
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def serve() -> None:
    """Answers until its input ends. What fails otherwise than with ValueError ends it."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    _bounded()
    from viz.shared.save import fonts
    from viz.shared.save.pdf import pdf

    fonts.fonts()
    _write(answers, b"ready", b"")
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            _, svg = _read(sys.stdin.buffer)
            if hasattr(signal, "alarm"):
                signal.alarm(int(2 * PATIENCE))  # the lab may be gone, and nobody stops this any more
            try:
                answer = PAGE, pdf(svg.decode())
            except ValueError as fault:
                answer = FAULT, str(fault).encode()
            _write(answers, *answer)
            if hasattr(signal, "alarm"):
                signal.alarm(0)


if __name__ == "__main__":
    serve()
