"""python -m viz.server: serves the lab in one tuned process.

Compared with `streamlit run app.py` it has no Nagle delay, no compression of websocket frames and a frozen garbage collector
after the warm-up, and it sends the stylesheet with the page. Environment variables:

ALLOWED_HOSTS: more host names of the lab, comma-separated (see `viz.state.hosts`).
LAB_ADDRESS: the lab's address for others, such as http://192.168.1.20:8501, for QR codes and copied links. With HOST=0.0.0.0
    the server detects it, except in a container or behind a proxy.
FORWARDED_ALLOW_IPS: trusted proxies, comma-separated (default: this machine). They have no connection limit.
CHECKPOINTS: folders with your own checkpoints, colon-separated (semicolons on Windows).
RUNS: folders with training runs, likewise; the folder `runs` beside app.py is always read.
UPLOADS: 1 enables uploads of checkpoints, 0 disables them. Default: enabled if only this machine can reach the lab.
TRAINING: 0 disables small trainings by visitors.
UPLOAD_MB: largest zip in megabytes (300).
KEEP_MB: memory of the caches in megabytes (512). The process takes 600 MB more, and 20 MB for each run at the same time.
REDIS_URL: a Redis server for rooms shared by several processes, redis://HOST:PORT/0. Default: rooms in this
    process, and in a file of the folder for temporary files for a restart at the same port.
LAB_DEBUG: 1 shows tracebacks on the page.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import gc
import html
import logging
import os
import signal
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from model.io.folders import configured_folders, list_checkpoints
from model.io.numbers import Parser
from model.io.package_names import module_name
from viz import theme
from viz.pages import ROOT
from viz.server import log_limit, reachable
from viz.state import hosts
from viz.state.hosts import check_host, check_origin, own_names, share, site_url

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from viz.classroom.rooms.room_server import Rooms

BODY = b"<body>"
SCRIPTS = (Path(__file__).with_name("requests.js"), Path(theme.__file__).with_name("kit") / "browser_store.js")
ASKED_ANEW = (b"accept-encoding", b"if-none-match", b"if-modified-since")  # else the page comes compressed, or not at all
OF_THE_FILE = (b"content-length", b"etag", b"last-modified")


def with_stylesheet(app: ASGIApp) -> ASGIApp:
    """Adds stylesheet and script to each HTML page of `app`; other responses stay unchanged."""
    shared = hosts.shared_address()
    where = f'<meta name="attention-lab-shared" content="{html.escape(shared)}">' if shared else ""
    scripts = "".join(f"<script>(() => {{\n{path.read_text(encoding='utf-8')}}})();</script>" for path in SCRIPTS)
    added = f"{theme.first_stylesheet()}{where}{scripts}".encode()

    async def with_additions(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or b"text/html" not in _header(scope, b"accept"):
            await app(scope, receive, send)
            return
        start: Message | None = None
        body = b""

        async def answer(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and _header(message, b"content-type").startswith(b"text/html"):
                start = message
            elif start is None or message["type"] != "http.response.body":
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body"):
                    body = body.replace(BODY, BODY + added, 1)
                    headers = [(name, value) for name, value in start["headers"] if name.lower() not in OF_THE_FILE]
                    await send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
                    await send({"type": "http.response.body", "body": body})

        headers = [(name, value) for name, value in scope["headers"] if name not in ASKED_ANEW]
        await app({**scope, "headers": headers}, receive, answer)

    return with_additions


def _header(message: Scope | Message, name: bytes) -> bytes:
    return next((value for key, value in message.get("headers", ()) if key.lower() == name), b"")


STARTING = "starting: the model is being loaded"


@dataclass
class Readiness:
    """The reason why the server is not ready; empty once it is."""

    fault: str = STARTING


def with_health(app: ASGIApp, readiness: Readiness) -> ASGIApp:
    """Answers the two routes with 200 "ok" or 503 and the reason; other requests pass."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        if path not in ("/healthz", "/readyz"):
            await app(scope, receive, send)
            return
        fault = readiness.fault if path == "/readyz" else ""
        body = f"{fault or 'ok'}\n".encode()
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
        ]
        await send({"type": "http.response.start", "status": 503 if fault else 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    return answered


ARENAS = 2
MMAP_BYTES = 256 * 1024  # bytes: the maps of a long text are larger
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # of malloc.h


def return_memory() -> bool:
    """Makes glibc return freed memory: few arenas, and large arrays in blocks of their own. False without glibc.

    By default freed arrays leave holes that stay with the process. Call this before threads start.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        set_option = ctypes.CDLL(None).mallopt
        return bool(set_option(_ARENA_MAX, ARENAS)) and bool(set_option(_MMAP_THRESHOLD, MMAP_BYTES))
    return False


MAX_FRAME = 4 * 1024 * 1024  # bytes of a websocket frame
MIN_CACHE_MB = 128  # MB: twice the longest sentence
MAX_MESSAGES = 20  # printed folders without a checkpoint


def warm_up(server: uvicorn.Server, readiness: Readiness) -> None:
    """Loads torch and the checkpoint, answers the first view, freezes the garbage collector and reports ready."""
    while not server.started:
        time.sleep(0.02)
    for line in reachable.describe_addresses(server.config.host, server.config.port, hosts.shared_address()):
        print(line, flush=True)
    if has_screen():
        webbrowser.open(site_url(server.config.host, server.config.port))
    from viz import cache, computations
    from viz.state.view import View, without_edits

    view = View()
    try:
        cache.analyse(view.request(), view.device)
        computations.mask_effects(without_edits(view.request()), view.device)
        import plotly.graph_objects  # noqa: F401

        readiness.fault = ""
    except ValueError as fault:
        readiness.fault = str(fault)
        print(f"The lab is open, but: {fault}", file=sys.stderr)
    gc.collect()
    gc.freeze()
    gc.collect()  # resets the collector's count, so that it frees old sessions soon


def has_screen() -> bool:
    """True if a person at this machine would see a browser open."""
    desktop = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(desktop) and sys.stdout.isatty()


def address_fault(host: str, number: int) -> str | None:
    """Returns the message for an unusable address, or None."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(where)
    except OSError as fault:
        return f"{site_url(host, number)} cannot be used ({fault.strerror}). Set another PORT= or HOST=."
    return None


def show_errors(wanted: str) -> None:
    """Shows tracebacks if LAB_DEBUG is 1. Raises ValueError unless it is 1, 0 or empty."""
    if wanted not in ("", "0", "1"):
        raise ValueError(f"LAB_DEBUG is {wanted!r}; expected 1, 0 or nothing.")
    if wanted == "1":
        import streamlit as st

        st.set_option("client.showErrorDetails", "full")


def check_cache_size(wanted: str) -> None:
    """Raises ValueError unless KEEP_MB is empty or large enough for the longest sentence."""
    fits = wanted.isascii() and wanted.isdigit() and len(wanted) < 9 and int(wanted) >= MIN_CACHE_MB
    if wanted and not fits:
        raise ValueError(f"KEEP_MB is {wanted[:40]!r}; expected megabytes of memory, {MIN_CACHE_MB} or more, or nothing.")


def raise_file_limit() -> None:
    """Raises the limit of open files: a session takes four, for two minutes after its end."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # no such limit on this system
        import resource

        _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))


def print_unusable() -> None:
    """Prints a line for each folder of CHECKPOINTS without a checkpoint, and makes these paths absolute."""
    if own := configured_folders():
        os.environ["CHECKPOINTS"] = os.pathsep.join(map(str, own))
        print(
            *list_checkpoints().unusable[:MAX_MESSAGES],
            sep="\n",
            end="\n" if list_checkpoints().unusable else "",
            file=sys.stderr,
        )


def set_uploads(host: str) -> None:
    """Enables or disables uploads and sets their size. Raises ValueError for wrong variables."""
    from streamlit import config

    from viz.state import uploads

    env = os.environ
    others = env.get("ALLOWED_HOSTS", "") + env.get("LAB_ADDRESS", "")
    on = uploads.configure(env.get("UPLOADS", ""), env.get("UPLOAD_MB", ""), host, others)
    config.set_option("server.maxUploadSize", uploads.max_mb() if on else uploads.SMALL_MB)
    uploads.clear_left_over()


def configure(host: str, number: int) -> tuple[str | None, Rooms]:
    """Applies the environment variables and returns the shared address and the rooms. Raises ValueError for a wrong one."""
    from viz.state import trainings

    show_errors(os.environ.get("LAB_DEBUG", ""))
    check_cache_size(os.environ.get("KEEP_MB", ""))
    set_uploads(host)
    trainings.configure(os.environ.get("TRAINING", ""))
    shared = share(host, number, os.environ.get("LAB_ADDRESS", ""))
    from viz.classroom.rooms import room_server  # reads KEEP_MB

    return shared, room_server.rooms(os.environ.get("REDIS_URL", ""), number)


def quiet_logs() -> None:
    """Mutes log lines of libraries that nobody can act on."""
    logging.getLogger("streamlit").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").addFilter(lambda record: "without completing response" not in record.getMessage())


def stop_handler(handle_exit: Callable[..., None], closing: asyncio.Event) -> Callable[..., None]:
    """Returns a handler for the stop signal, which first closes endless streams."""

    def handle(*signal: Any) -> None:
        closing.set()
        handle_exit(*signal)

    return handle


def port(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"the port is {text!r}; expected a number from 1 to 65535")
    return int(text)


def main() -> int:
    parser = Parser(prog=f"python -m {module_name('viz.server')}", description="Serves the lab.")
    parser.add_argument("--host", default=os.environ.get("HOST") or "127.0.0.1", help="default: HOST, or 127.0.0.1")
    parser.add_argument("--port", type=port, default=os.environ.get("PORT") or "8501", help="default: PORT, or 8501")
    args = parser.parse_args()
    log_limit.install(log_limit.LogLimit())
    if fault := address_fault(args.host, args.port):
        print(fault, file=sys.stderr)
        return 2
    print_unusable()
    return_memory()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # best for small arrays, fair among visitors
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(ROOT))  # else torch writes a file and fails on a full disk
    os.chdir(ROOT)  # where .streamlit/config.toml lies
    if module_name("viz") == "viz":  # in the repository, whose pages are found by the path
        sys.path.insert(0, str(ROOT))
    try:
        shared, rooms = configure(args.host, args.port)
    except ValueError as fault:
        print(fault, file=sys.stderr)
        return 2

    import streamlit as st
    import uvicorn

    from viz.classroom.rooms import room_server
    from viz.server import connections, first_message
    from viz.state import trainings, uploads

    allowed = ",".join((os.environ.get("ALLOWED_HOSTS", ""), urlsplit(shared or "").netloc))
    raise_file_limit()
    quiet_logs()
    first_message.keep_constant_parts()
    readiness = Readiness()
    app = with_stylesheet(st.App(ROOT / "app.py"))
    theme.has_first_page = room_server.is_mounted = True
    config = uvicorn.Config(
        with_health(check_host(rooms.over(check_origin(app)), own_names(args.host, allowed)), readiness),
        host=args.host,
        port=args.port,
        loop="auto",
        ws_per_message_deflate=False,
        ws_max_size=MAX_FRAME,
        limit_concurrency=connections.MAX_CONNECTIONS,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(connections.limited(config))
    server.handle_exit = stop_handler(server.handle_exit, rooms.closing)
    threading.Thread(target=warm_up, args=(server, readiness), name="warm-up", daemon=True).start()
    print(f"Attention Lab: {site_url(args.host, args.port)}  (stop with Ctrl+C)", flush=True)
    if shared:
        print(f"In this network: {shared}", flush=True)
    if uploads.is_enabled():
        print(f"Uploads are on: checkpoints as a zip up to {uploads.max_mb()} MB (UPLOADS=0 disables them).", flush=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a stop without Ctrl+C
    with contextlib.suppress(KeyboardInterrupt):
        server.run()
    rooms.store.flush()
    trainings.clear()
    uploads.clear()
    sys.stdout.flush()
    os._exit(0)  # running threads would break the interpreter's shutdown
