from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator

import pytest
from viz_helpers import ROOT

from viz.first_paint import with_stylesheet
from viz.server import is_loopback, same_origin

TORCHLESS = (
    "viz.server viz.state viz.cache viz.shared.controls viz.theme viz.translate.timeline "
    "viz.shared.change_figure viz.shared.heatmap_figures"
)


def ended(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A server that is expected to end by itself."""
    command = [sys.executable, "-m", "viz.server", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, timeout=300, check=False
    )


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def answers(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as reply:
        assert reply.status == 200
        return reply.read().decode()


@pytest.mark.parametrize(
    ("arguments", "environment", "shown"),
    [
        (["--port", "x"], {}, "'x'"),
        (["--port", "70000"], {}, "'70000'"),
        (["--port", "0"], {}, "'0'"),
        (["--port", "²"], {}, "'²'"),
        ([], {"PORT": "abc"}, "'abc'"),
    ],
)
def test_a_port_that_is_none_ends_in_one_line_and_status_2(arguments, environment, shown):
    done = ended(*arguments, **environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert f"the port is {shown}; expected a number from 1 to 65535" in done.stderr


def test_an_address_that_cannot_be_used_ends_in_one_line_and_status_2():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = ended("--port", str(port))
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert str(port) in done.stderr
    assert "PORT=" in done.stderr


def test_a_debug_variable_that_is_neither_on_nor_off_ends_in_one_line_and_status_2():
    done = ended(LAB_DEBUG="perhaps")
    assert (done.returncode, done.stderr) == (2, "LAB_DEBUG is 'perhaps'; expected 1, 0 or nothing.\n")


@pytest.mark.parametrize(("wanted", "shown"), [("", "none"), ("0", "none"), ("1", "full")])
def test_errors_are_shown_in_full_where_that_is_wanted_and_nowhere_else(wanted, shown):
    code = (
        f"from viz.server import show_errors; show_errors({wanted!r})\n"
        "from streamlit import config; print(config.get_option('client.showErrorDetails'))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == shown, done.stderr


def test_the_page_can_be_written_before_torch_is_imported():
    code = f"import sys, {', '.join(TORCHLESS.split())}; print([n for n in ('torch', 'tokenizers') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A running server and its port, which was given by the environment."""
    port = free_port()
    started = subprocess.Popen(
        [sys.executable, "-m", "viz.server"],
        cwd=ROOT,
        env=os.environ | {"PORT": str(port), "HOST": ""},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            assert started.poll() is None, f"the server ended with status {started.returncode}"
            try:
                answers(f"http://127.0.0.1:{port}/_stcore/health")
                break
            except OSError:
                time.sleep(0.25)
        else:
            raise AssertionError("the server did not answer within five minutes")
        yield started, port
    finally:
        started.kill()
        started.wait(60)
        started.stdout.close()


def test_it_answers_and_serves_the_page(server):
    _, port = server
    assert answers(f"http://127.0.0.1:{port}/_stcore/health").strip() == "ok"
    assert '<div id="root">' in answers(f"http://127.0.0.1:{port}/")


def test_it_listens_at_this_machine_alone_unless_told_otherwise(server):
    with socket.socket() as other:
        other.settimeout(60)
        assert other.connect_ex(("127.0.0.2", server[1])) != 0


def test_it_tells_its_address_and_stops_when_told(server):
    started, port = server
    assert re.match(rf"Attention Lab: http://127\.0\.0\.1:{port}\b", started.stdout.readline())
    started.terminate()
    assert started.wait(60) in (0, -15)
    assert "Traceback" not in started.stdout.read()


@pytest.mark.parametrize(
    ("origin", "host", "passed"),
    [
        ("http://hall.local:8501", "hall.local:8501", "http://localhost"),
        ("http://192.168.1.20:8501", "192.168.1.20:8501", "http://localhost"),
        ("http://elsewhere.example", "hall.local:8501", "http://elsewhere.example"),
        ("http://hall.local:9999", "hall.local:8501", "http://hall.local:9999"),
        ("null", "hall.local:8501", "null"),
    ],
)
def test_a_page_may_ask_the_address_that_served_it_and_no_other(origin, host, passed):
    seen = {}

    async def app(scope, receive, send):
        seen.update(scope["headers"])

    headers = [(b"host", host.encode()), (b"origin", origin.encode()), (b"cookie", b"a=b")]
    with pytest.raises(StopIteration):  # run by hand: the browser tests' event loop may be about
        same_origin(app)({"type": "websocket", "headers": headers}, None, None).send(None)
    assert seen == {b"host": host.encode(), b"origin": passed.encode(), b"cookie": b"a=b"}


@pytest.mark.parametrize(("host", "loopback"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False)])
def test_only_other_machines_need_names(host, loopback):
    assert is_loopback(host) is loopback


def served(kind: bytes, parts: list[bytes], accept: bytes = b"text/html") -> tuple[dict[bytes, bytes], bytes]:
    """Headers and body that reach a browser of what an app answers in parts."""

    async def app(scope, receive, send):
        headers = [(b"content-type", kind), (b"etag", b"1"), (b"content-length", str(len(b"".join(parts))).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for i, part in enumerate(parts):
            await send({"type": "http.response.body", "body": part, "more_body": i + 1 < len(parts)})

    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "headers": [(b"accept", accept)]}
    asyncio.run(with_stylesheet(app)(scope, None, send))
    return dict(sent[0]["headers"]), b"".join(message["body"] for message in sent[1:])


def test_the_first_page_comes_with_its_stylesheet_and_says_how_long_it_is():
    headers, body = served(b"text/html; charset=utf-8", [b"<head></head><bo", b"dy>here</body>"])
    assert body.startswith(b"<head></head><body><style>:root{--lab-page:") and body.endswith(b"</style>here</body>")
    assert int(headers[b"content-length"]) == len(body) and b"etag" not in headers


@pytest.mark.parametrize(("kind", "accept"), [(b"text/javascript", b"text/html"), (b"text/html", b"*/*")])
def test_what_is_no_page_is_passed_on_as_it_is(kind, accept):
    headers, body = served(kind, [b"<body>", b"1"], accept)
    assert (body, headers[b"content-length"], headers[b"etag"]) == (b"<body>1", b"7", b"1")
