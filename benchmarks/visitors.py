"""Visitors without browsers: Streamlit's websocket protocol, spoken to a server on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import html
import itertools
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import numpy as np
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

ROOT = Path(__file__).resolve().parent.parent
WAIT = 120  # seconds for an answer, after which a visitor counts as lost
EMPTY_PAGE = """import sys, streamlit as st, uvicorn
uvicorn.run(st.App(sys.argv[1]), port=int(sys.argv[2]), log_config=None)
"""
LAZY = re.compile('data-lab-lazy="([^"]*)" data-what="([^"]*)"')
WHO = ("man", "woman", "boy", "girl", "teacher", "doctor", "cat", "dog", "horse", "bird", "friend", "sister", "king")
DID = ("saw the", "found the", "bought a", "sold the", "opened the", "forgot her", "needed a", "wanted a", "broke his")
HOW = ("old", "new", "red", "green", "small", "big", "heavy", "little", "white", "black")
WHAT = ("house", "car", "book", "door", "table", "bottle", "letter", "window", "boat", "chair", "hat", "bridge", "picture")
WHEN = ("yesterday", "this morning", "last night", "in the city", "after the lesson", "before the rain", "on Monday")


def sentences(seed: int = 0) -> Iterator[str]:
    """Yields different sentences of about ten words, in the words of a first year of English."""
    texts = [f"The {' '.join(words)}." for words in itertools.product(WHO, DID, HOW, WHAT, WHEN)]
    random.Random(seed).shuffle(texts)
    return iter(texts)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def answers(port: int, path: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as reply:
            return reply.status == 200
    except OSError:
        return False


@contextlib.contextmanager
def served(command: list[str], port: int, path: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Yields a process that answers at a path of its port, and ends it afterwards. Raises RuntimeError where it never
    answers."""
    started = subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 300
        while not answers(port, path):
            if started.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command[0]} does not answer at port {port} (status {started.poll()})")
            time.sleep(0.1)
        yield started
    finally:
        started.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(15)
        started.kill()
        started.wait()


def processor_seconds(process: int) -> float:
    """Returns the processor seconds of a process so far, over all processors."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def lab(processor: int | None = None, **environment: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Starts a lab with its model loaded, on one processor where given. Yields its port and process."""
    port = free_port()
    command = [sys.executable, "-m", "viz.server", "--port", str(port)]
    if processor is not None:
        command = ["taskset", "--cpu-list", str(processor), *command]  # it becomes the lab: the process is the same
    with served(command, port, "/readyz", **environment) as process:
        yield port, process


@contextlib.contextmanager
def empty_page() -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Yields port and process of a Streamlit page with only a title: the cost of Streamlit itself."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        (page := Path(folder, "page.py")).write_text("import streamlit as st\nst.title('Empty')\n")
        with served([sys.executable, "-c", EMPTY_PAGE, str(page), str(port)], port, "/_stcore/health") as process:
            yield port, process


class PageError(Exception):
    """The page shows an exception."""


class Visitor:
    """One connection. `cookie` identifies the visitor for a proxy."""

    def __init__(self, port: int, cookie: str = "") -> None:
        headers = {"Cookie": cookie} if cookie else {}
        url = f"ws://127.0.0.1:{port}/_stcore/stream"
        self._connecting = websockets.connect(
            url, subprotocols=["streamlit"], max_size=None, compression=None, additional_headers=headers, open_timeout=WAIT
        )
        self.received = self.messages = 0  # bytes so far, messages of the last run

    async def __aenter__(self) -> Visitor:
        self._socket = await self._connecting
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._socket.close()

    async def run(self, query: str = "", page: str = "") -> float:
        """Runs a page from its link. Returns the seconds. Raises PageError, ConnectionClosed or TimeoutError otherwise."""
        return await self._run(self._message(query, page))

    async def look(self, query: str = "", page: str = "") -> float:
        """Reports a lazy part of a page as visible, as a browser does. Returns the seconds of that run; 0 without one."""
        if not self._unseen:
            return 0.0
        message = self._message(query, page)
        widget = message.rerun_script.widget_states.widgets.add(id=f"$$STREAMLIT_INTERNAL_KEY_{self._frame}__events")
        widget.json_trigger_value = json.dumps([{"event": "seen", "value": self._unseen[0]}])
        return await self._run(message)

    def _message(self, query: str, page: str) -> BackMsg:
        message = BackMsg()
        message.rerun_script.query_string, message.rerun_script.page_name = query, page
        return message

    async def _run(self, message: BackMsg) -> float:
        self._unseen: list[dict[str, str]] = []  # name and digest of each lazy part
        self.messages, start = 0, time.perf_counter()
        await self._socket.send(message.SerializeToString())
        while True:
            data = await asyncio.wait_for(self._socket.recv(), WAIT)
            self.received += len(data)
            answer = ForwardMsg()
            answer.ParseFromString(data)
            kind = answer.WhichOneof("type")
            if kind == "delta" and answer.delta.new_element.WhichOneof("type") == "exception":
                raise PageError(answer.delta.new_element.exception.message[:200])
            self.messages += 1
            if answer.delta.new_element.bidi_component.component_name.endswith(".frame_component"):
                self._frame = answer.delta.new_element.bidi_component.id
            places = LAZY.findall(answer.delta.new_element.html.body)
            self._unseen += [{"name": html.unescape(name), "what": what} for name, what in places]
            if kind == "script_finished":
                return time.perf_counter() - start


def query_of(sentence: str) -> str:
    return f"text={quote(sentence)}"


def quantiles(seconds: list[float]) -> str:
    """Returns p50 and p95 in milliseconds."""
    if not seconds:
        return "none answered"
    p50, p95 = np.quantile(seconds, (0.5, 0.95)) * 1e3
    return f"p50 {p50:,.0f} ms, p95 {p95:,.0f} ms"
