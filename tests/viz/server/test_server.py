import asyncio
import contextlib
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from benchmarks.visitors import Visitor, processor_seconds
from tests.support.processes import answers, await_health, free_port
from tests.support.viz_helpers import ROOT
from viz.server.serve import MAX_FRAME, STARTING, Readiness, with_health


def ended(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A server that is expected to end by itself."""
    command = [sys.executable, "-m", "viz.server", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("PORT", "70000", "the port is '70000'; expected a number from 1 to 65535"),
        ("PORT", "²", "the port is '²'; expected a number from 1 to 65535"),
        ("LAB_DEBUG", "perhaps", "LAB_DEBUG is 'perhaps'; expected 1, 0 or nothing."),
        ("KEEP_MB", "12", "KEEP_MB is '12'; expected megabytes of memory, 128 or more, or nothing."),
        ("LAB_ADDRESS", "lab", "LAB_ADDRESS is 'lab'; expected what others type, such as http://192.168.1.20:8501."),
    ],
)
def test_a_bad_variable_ends_in_one_line_and_status_2(variable, value, told):
    done = ended(**{"PORT": str(free_port()), variable: value})
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1) and told in done.stderr


def test_a_taken_port_ends_in_one_line_and_status_2():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = ended("--port", port)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert port in done.stderr and "PORT=" in done.stderr


def test_the_page_can_be_written_before_torch_is_imported():
    names = "viz.server.serve, viz.state.session, viz.cache, viz.decoding_steps.timeline, viz.kit.chart_figures"
    code = f"import sys, viz.kit.controls, {names}; print([n for n in ('torch', 'tokenizers') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def unreadable_values() -> Iterator[bytes]:
    """Messages with values of a component that are no JSON, too deep, or of a wrong kind."""
    component = "$$STREAMLIT_INTERNAL_KEY_room__events"
    for kind, value in (("json_trigger_value", "["), ("json_trigger_value", "[" * 50_000), ("int_value", 5)):
        message = BackMsg()
        setattr(message.rerun_script.widget_states.widgets.add(id=component), kind, value)
        yield message.SerializeToString()


@contextlib.contextmanager
def running(home: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A running server and its port, which was given by the environment; it keeps no session of who has left,
    and can write no file, as on a full disk."""
    port = free_port()
    (home / ".streamlit").mkdir()
    (home / ".streamlit" / "config.toml").write_text("[server]\ndisconnectedSessionTTL = 0\n")
    started = subprocess.Popen(
        [sys.executable, "-m", "viz.server"],
        cwd=ROOT,
        env=os.environ | {"PORT": str(port), "HOST": "", "HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )
    try:
        await_health(started, port)
        yield started, port
    finally:
        started.kill()
        started.wait(60)
        started.stdout.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server that outlives each test: tests of one file may run in any order."""
    with running(tmp_path_factory.mktemp("home")) as started:
        yield started


@pytest.fixture
def ending_server(tmp_path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server of one test, which may end it."""
    with running(tmp_path) as started:
        yield started


def test_it_serves_the_page_on_localhost_and_is_ready(server):
    _, port = server
    assert answers(f"http://127.0.0.1:{port}/_stcore/health").strip() == "ok"
    assert '<div id="root">' in answers(f"http://127.0.0.1:{port}/")
    with socket.socket() as other:
        other.settimeout(60)
        assert other.connect_ex(("127.0.0.2", server[1])) != 0
    assert answers(f"http://127.0.0.1:{port}/healthz") == "ok\n"
    deadline = time.monotonic() + 300
    while True:
        try:
            assert answers(f"http://127.0.0.1:{port}/readyz") == "ok\n"
            return
        except urllib.error.HTTPError as fault:
            assert (fault.code, fault.read()) == (503, f"{STARTING}\n".encode())
        assert time.monotonic() < deadline
        time.sleep(0.25)


@pytest.mark.parametrize("sent", [bytes(MAX_FRAME + 1), b"no message at all", b"", "text", *unreadable_values()])
def test_unreadable_messages_disturb_nobody_else(server, sent):
    async def visit() -> None:
        url = f"ws://127.0.0.1:{server[1]}/_stcore/stream"
        async with connect(url, subprotocols=["streamlit"], compression=None) as other, connect(url) as rude:
            with contextlib.suppress(ConnectionClosed):
                await rude.send(sent)
                await rude.wait_closed() if len(sent) > MAX_FRAME else None
            pong = await other.ping()
            await asyncio.wait_for(pong, 60)

    asyncio.run(visit())


TELLS = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system does not tell what a process holds")


@pytest.mark.parametrize("fault", ["", STARTING, "There is no checkpoint."])
@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/other"])
def test_a_process_may_be_alive_and_not_ready(path, fault):
    sent = []

    async def page(scope, receive, send):
        sent.append("passed on")

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path}
    with pytest.raises(StopIteration):  # run by hand: the browser tests' event loop may be about
        with_health(page, Readiness(fault))(scope, None, send).send(None)
    if path == "/other":
        assert sent == ["passed on"]
    else:
        told = fault if path == "/readyz" else ""
        assert (sent[0]["status"], sent[1]["body"].decode()) == (503 if told else 200, f"{told or 'ok'}\n")


@TELLS
def test_it_ends_clean_while_it_computes(ending_server):
    started, port = ending_server
    assert re.match(rf"Attention Lab: http://127\.0\.0\.1:{port}\b", started.stdout.readline())

    async def leave() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)  # who follows a room, for as long as it lasts
        said = b'{"address": "/positions"}'
        head = b"POST /rooms HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        writer.write(head % len(said) + said)
        code = re.search(rb'"code":"(\w+)"', await reader.readuntil(b"}"))[1]
        writer.write(b"GET /rooms/%s/events HTTP/1.1\r\nHost: localhost\r\n\r\n" % code)
        await reader.readuntil(b"data: ")
        async with Visitor(port) as idle, Visitor(port) as busy:
            await idle.run()
            before = processor_seconds(started.pid)
            text = "+".join(["The+old+man+saw+the+house+and"] * 14)
            long = asyncio.create_task(busy.run(f"text={text}+slept.&split=off&decode=beam&beams=8"))
            while processor_seconds(started.pid) < before + 0.1:  # a quick machine is done with it after half a second
                await asyncio.sleep(0.05)
            assert not long.done()
            started.send_signal(signal.SIGINT)
            with pytest.raises(ConnectionClosed):
                await long

    asyncio.run(leave())
    assert started.wait(60) == 0
    told = started.stdout.read()
    assert "Traceback" not in told and "terminate" not in told
