"""Server: first paint, foreign checkpoints, memory, and the limits of the log."""

import asyncio
import dataclasses
import logging
import os
import platform
import re
import subprocess
import sys
import threading

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.session_state import WStates

from model.checkpoint import save
from tests.support import tiny
from tests.support.processes import free_port
from tests.support.viz_helpers import COMPARE, INSIDE, ROOT, TRANSLATE, Lab
from viz import cache
from viz.classroom.rooms.room import code_of
from viz.server.log_limit import MINUTE, LogLimit
from viz.server.serve import with_stylesheet
from viz.state import hosts
from viz.state.result_cache import clear_all


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


def test_the_first_page_has_its_stylesheet_and_length():
    headers, body = served(b"text/html; charset=utf-8", [b"<head></head><bo", b"dy>here</body>"])
    assert body.startswith(b"<head></head><body><style>:root{--lab-page:") and body.endswith(b"</script>here</body>")
    assert b"</style><script>" in body
    assert int(headers[b"content-length"]) == len(body) and b"etag" not in headers


@pytest.mark.parametrize("shared", ["http://192.168.1.20:8501", None])
def test_the_first_page_says_where_others_find_the_lab(monkeypatch, shared):
    monkeypatch.setattr(hosts, "_shared", shared)
    body = served(b"text/html", [b"<body></body>"])[1]
    content = re.findall(rb'<meta name="attention-lab-shared" content="([^"]*)">', body)
    assert content == ([shared.encode()] if shared else [])


@pytest.mark.parametrize(("kind", "accept"), [(b"text/javascript", b"text/html"), (b"text/html", b"*/*")])
def test_what_is_no_page_is_passed_on_as_it_is(kind, accept):
    headers, body = served(kind, [b"<body>", b"1"], accept)
    assert (body, headers[b"content-length"], headers[b"etag"]) == (b"<body>1", b"7", b"1")


@pytest.fixture
def foreign(home, tokenizer):
    """Says its languages and shape; German to Dutch unless told otherwise."""

    def make(languages: tuple[str, str] = ("German", "Dutch"), **shape) -> str:
        checkpoint = tiny.checkpoint(tokenizer, **shape)
        save(dataclasses.replace(checkpoint, languages=languages), home)
        clear_all()
        return home.name

    yield make
    clear_all()


@pytest.mark.parametrize(("page", "link"), [(TRANSLATE, {"show": "mask"}), (INSIDE, {}), (COMPARE, {"differs": "head"})])
def test_many_layers_and_heads_can_be_picked(foreign, page, link):
    name = foreign(heads=12, d_model=24, encoder_layers=9, decoder_layers=9)
    seen = Lab(page, checkpoint=name, layer="9", head="12", **link)
    last = {group["label"]: group["buttons"][-1][1] for group in seen.groups if group["buttons"]}
    assert (last["head"], last["layer"]) == ("12", "9")


def test_languages_are_read_without_loading(foreign, home):
    name = foreign()
    assert cache.declared_languages(name) == ("German", "Dutch")
    for content in ("[]", "{", '{"languages": 3}', '{"languages": [1, 2]}', '{"languages": ["source", "target"]}', "{}"):
        (home / "config.json").write_text(content)
        assert cache.declared_languages(name) == (None, None)
    assert cache.declared_languages("nothere") == (None, None)


FREES = """
import threading
import numpy as np
from viz.server import serve

def resident():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1]) / 1024

def work():
    np.ones(8 << 20, np.uint8)  # glibc would take it as a sign that large blocks come and go
    arrays = []
    for _ in range(60):
        arrays.append(np.ones(1 << 19, np.uint8))
        stays.append(np.ones(1000, np.uint8))  # between the arrays, as what a session holds

serve.return_memory()
before, stays = resident(), []
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="there is nothing to set elsewhere")
def test_freed_arrays_leave_the_process():
    command = [sys.executable, "-c", FREES]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    assert float(done.stdout) < 40  # MB, of 240; 145 stay by default


def test_the_server_sets_the_allocator_before_it_starts():
    code = "from viz.server import serve; serve.return_memory = lambda: print('set'); serve.main()"
    command, environment = [sys.executable, "-c", code], os.environ | {"KEEP_MB": "too little", "PORT": str(free_port())}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "set\n", done.stderr


CLOCK = [0.0]


class Lines(logging.Handler):
    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append(self.format(record))


@pytest.fixture
def lines():
    """A logger under a limit of three lines a minute, and what it wrote."""
    logger, kept, limit = logging.getLogger("log limit"), Lines(), LogLimit(max_lines=3, now=lambda: CLOCK[0])
    logger.addHandler(kept)
    logger.addFilter(limit)
    logger.propagate = False
    yield logger, kept.texts
    logger.removeHandler(kept)
    logger.removeFilter(limit)


def fault_of(make):
    try:
        make()
    except Exception as fault:
        return fault
    raise AssertionError("nothing was raised")


def read(value, reader=int):
    """Returns Streamlit's reading of a widget's value that a browser sent."""
    states = WStates()
    states.set_widget_from_proto(value)
    metadata = WidgetMetadata(value.id, reader, str, value_type="json_value")
    states.set_widget_metadata(metadata)
    return states[value.id]


@pytest.mark.parametrize("sent", ["[" * 50_000, "{", '{"a": 1}'])
def test_a_value_that_cannot_be_read_is_one_line(lines, sent):
    logger, texts = lines
    logger.error("Uncaught app execution", exc_info=fault_of(lambda: read(WidgetState(id="w", json_value=sent))))
    assert len(texts) == 1 and "\n" not in texts[0] and len(texts[0]) < 300
    assert texts[0].startswith("A browser sent a value that cannot be read: ")


def test_own_faults_keep_their_first_traceback(lines):
    logger, texts = lines

    def fault():
        return fault_of(lambda: read(WidgetState(id="w", json_value='"x"'), code_of))  # own code that a reader calls

    for make in (fault(), fault(), fault_of(lambda: 1 / 0)):
        logger.error("A page could not be drawn", exc_info=make)
    first, second, third = texts
    assert "Traceback" in first and "code_of" in first
    assert second.count("\n") == 0 and second.startswith("A page could not be drawn: ValueError: ")
    assert "Traceback" in third and "ZeroDivisionError" in third


def test_a_minute_has_a_limit_of_lines(lines, monkeypatch):
    logger, texts = lines
    timers = []

    class Timer:
        def __init__(self, seconds, call, arguments):
            timers.append((seconds, lambda: call(*arguments)))

        def start(self):
            pass

    monkeypatch.setattr(threading, "Timer", Timer)

    def warn(number):
        logger.warning("Invalid HTTP request %d", number)

    for number in range(50):
        warn(number)
    logger.warning("Another kind")
    assert texts == ["Invalid HTTP request 0", "Invalid HTTP request 1", "Invalid HTTP request 2", "Another kind"]
    ((seconds, count),) = timers
    CLOCK[0] += seconds
    count()
    warn(50)
    assert seconds == MINUTE
    assert texts[4:] == [
        "47 more lines like this one were left out within a minute: Invalid HTTP request 3",
        "Invalid HTTP request 50",
    ]
