"""python -m viz.server: the lab, served by one tuned process.

Against `streamlit run app.py`: no Nagle stall, no compression of websocket frames on the way to a browser beside it, a
garbage collector that no longer walks through the imported libraries after every run (frozen once all is warm), and a
stylesheet that goes out once, with the page itself.
ALLOWED_HOSTS names what else the lab may be called, with commas between (see `viz.state.hosts`).
LAB_ADDRESS is what others type to find the lab, http://192.168.1.20:8501 say, for QR codes and copied links; where the lab
is open to the network (HOST=0.0.0.0) it is found, but in a container or behind a proxy.
FORWARDED_ALLOW_IPS names the proxies, with commas between, that are trusted to say who asks and by which scheme (default:
this machine). The limit of connections per address does not apply to them: see `viz.server.connections`.
CHECKPOINTS names folders with checkpoints of your own, with colons between (semicolons on Windows).
RUNS names folders with runs of `python -m model train`, likewise; those in the folder `runs` beside app.py need no name.
UPLOADS=1 lets visitors bring a checkpoint as a zip, UPLOADS=0 does not; else they may where the lab serves this machine
alone: HOST is its own address, and ALLOWED_HOSTS and LAB_ADDRESS name nothing.
UPLOAD_MB bounds the megabytes of such a zip (300).
KEEP_MB bounds the memory for all that is kept of sentences (512). The process takes at most as much, 600 MB, and 20 MB for
each visitor whose text of 128 tokens is drawn at the same moment.
REDIS_URL names a Redis that several processes of the lab share, for their rooms: redis://HOST:PORT/0. Else rooms are kept
in this process.
LAB_DEBUG=1 is for who works on the pages: an error stands on the page with its traceback, which a visitor does not see.

Settings of the C library that give memory back: few arenas, and blocks of their own for arrays.

By default glibc makes eight arenas a core and raises the size from which a block is mapped on its own. An array that is
freed then leaves a hole that stays with the process."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from model.io.folders import named, survey
from model.io.numbers import Parser
from viz.server import log_limit
from viz.server.first_paint import Readiness, with_health
from viz.state.hosts import (
    only_known,
    own_names,
    same_origin,
    share,
    site,
)

if TYPE_CHECKING:
    import uvicorn

    from viz.classroom.rooms.routes import Rooms

ARENAS = 2
OWN_BLOCK = 256 * 1024  # bytes: the maps of a long text, and nothing that a run allocates often
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # of malloc.h


def give_back() -> bool:
    """Sets this for the process, before its threads begin. False where the C library is not glibc."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        set_option = ctypes.CDLL(None).mallopt
        return bool(set_option(_ARENA_MAX, ARENAS)) and bool(set_option(_MMAP_THRESHOLD, OWN_BLOCK))
    return False


ROOT = Path(__file__).resolve().parents[2]


MAX_FRAME = 4 * 1024 * 1024  # bytes from a browser at once: a sentence box holds far less
LEAST_KEPT = 128  # MB: twice what the longest sentence takes
MAX_TOLD = 20  # folders that hold no checkpoint


def warm_up(server: uvicorn.Server, readiness: Readiness) -> None:
    """Once the page can be read: imports torch, loads the checkpoint and answers the first view, then takes all that from
    the collector's rounds and says that it is ready."""
    while not server.started:
        time.sleep(0.02)
    if has_screen():
        webbrowser.open(site(server.config.host, server.config.port))
    from viz import cache, computations
    from viz.state.view import View, unedited

    view = View()
    try:
        cache.analyse(view.request(), view.device)
        computations.mask_effects(unedited(view.request()), view.device)
        import plotly.graph_objects  # noqa: F401

        readiness.fault = ""
    except ValueError as fault:
        readiness.fault = str(fault)
        print(f"The lab is open, but: {fault}", file=sys.stderr)
    gc.collect()
    gc.freeze()
    gc.collect()  # forgets how much there was: else what is left of sessions stays until a quarter as much has come anew


def has_screen() -> bool:
    """True where a person at this machine would see a browser open."""
    desktop = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(desktop) and sys.stdout.isatty()


def fault_of(host: str, number: int) -> str | None:
    """Why the address cannot be listened on, or None."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(where)
    except OSError as fault:
        return f"{site(host, number)} cannot be used ({fault.strerror}); give another PORT= or HOST=."
    return None


def show_errors(wanted: str) -> None:
    """Where LAB_DEBUG is 1 errors are shown in full. ValueError for what is neither 1, 0 nor nothing."""
    if wanted not in ("", "0", "1"):
        raise ValueError(f"LAB_DEBUG is {wanted!r}; expected 1, 0 or nothing.")
    if wanted == "1":
        import streamlit as st

        st.set_option("client.showErrorDetails", "full")


def check_kept(wanted: str) -> None:
    """ValueError where KEEP_MB is neither nothing nor a number that holds the largest sentence."""
    fits = wanted.isascii() and wanted.isdigit() and len(wanted) < 9 and int(wanted) >= LEAST_KEPT
    if wanted and not fits:
        raise ValueError(f"KEEP_MB is {wanted[:40]!r}; expected megabytes of memory, {LEAST_KEPT} or more, or nothing.")


def more_files() -> None:
    """As many open files as the system allows: a session takes four, and one who left is kept for two minutes."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # no such limit on this system
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def say_what_is_unusable() -> None:
    """A line for each folder of CHECKPOINTS without a checkpoint. Where they lie is fixed, wherever this runs on."""
    if own := named():
        os.environ["CHECKPOINTS"] = os.pathsep.join(map(str, own))
        print(*survey().unusable[:MAX_TOLD], sep="\n", end="\n" if survey().unusable else "", file=sys.stderr)


def set_uploads(host: str) -> None:
    """Whether visitors may bring checkpoints, and of what size. ValueError for variables that say something else."""
    from streamlit import config

    from viz.state import uploads

    env = os.environ
    others = env.get("ALLOWED_HOSTS", "") + env.get("LAB_ADDRESS", "")
    on = uploads.switch(env.get("UPLOADS", ""), env.get("UPLOAD_MB", ""), host, others)
    config.set_option("server.maxUploadSize", uploads.most_mb() if on else 1)
    uploads.clear_left_over()


def settled(host: str, number: int) -> tuple[str | None, Rooms]:
    """What the environment says, made so: where others find the lab, and its rooms. ValueError, one sentence, where it says
    something else."""
    show_errors(os.environ.get("LAB_DEBUG", ""))
    check_kept(os.environ.get("KEEP_MB", ""))
    set_uploads(host)
    shared = share(host, number, os.environ.get("LAB_ADDRESS", ""))
    from viz.classroom.rooms import routes  # reads KEEP_MB

    return shared, routes.rooms(os.environ.get("REDIS_URL", ""))


def say_less() -> None:
    """Of what libraries write, only what somebody can use."""
    logging.getLogger("streamlit").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").addFilter(lambda record: "without completing response" not in record.getMessage())


def ending(handle_exit: Callable[..., None], closing: asyncio.Event) -> Callable[..., None]:
    """What is called when the server is told to stop: streams that would never end are ended first."""

    def told(*signal: Any) -> None:
        closing.set()
        handle_exit(*signal)

    return told


def port(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"the port is {text!r}; expected a number from 1 to 65535")
    return int(text)


def main() -> int:
    parser = Parser(prog="python -m viz.server", description="Serves the lab.")
    parser.add_argument("--host", default=os.environ.get("HOST") or "127.0.0.1", help="default: HOST, or 127.0.0.1")
    parser.add_argument("--port", type=port, default=os.environ.get("PORT") or "8501", help="default: PORT, or 8501")
    args = parser.parse_args()
    log_limit.install(log_limit.LogLimit())
    if fault := fault_of(args.host, args.port):
        print(fault, file=sys.stderr)
        return 2
    say_what_is_unusable()
    give_back()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # best for small arrays, and fair among visitors
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(ROOT))  # else torch tries a file, and fails where the disk is full
    os.chdir(ROOT if (ROOT / ".streamlit").is_dir() else ROOT / "viz")  # where .streamlit/config.toml lies
    sys.path.insert(0, str(ROOT))
    try:
        shared, rooms = settled(args.host, args.port)
    except ValueError as fault:
        print(fault, file=sys.stderr)
        return 2

    import streamlit as st
    import uvicorn

    from viz import theme
    from viz.classroom.rooms import routes
    from viz.server import connections
    from viz.server.first_paint import with_stylesheet
    from viz.state import uploads

    allowed = ",".join((os.environ.get("ALLOWED_HOSTS", ""), urlsplit(shared or "").netloc))
    more_files()
    say_less()
    readiness = Readiness()
    app = with_stylesheet(st.App(ROOT / "app.py"))
    theme.has_first_page = routes.is_mounted = True
    config = uvicorn.Config(
        with_health(only_known(rooms.over(same_origin(app)), own_names(args.host, allowed)), readiness),
        host=args.host,
        port=args.port,
        loop="asyncio",
        ws_per_message_deflate=False,
        ws_max_size=MAX_FRAME,
        limit_concurrency=connections.MAX_CONNECTIONS,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(connections.limited(config))
    server.handle_exit = ending(server.handle_exit, rooms.closing)
    threading.Thread(target=warm_up, args=(server, readiness), name="warm-up", daemon=True).start()
    print(f"Attention Lab: {site(args.host, args.port)}  (stop with Ctrl+C)", flush=True)
    if shared:
        print(f"In this network: {shared}", flush=True)
    if uploads.is_on():
        print(f"Checkpoints can be brought as a zip of up to {uploads.most_mb()} MB (UPLOADS=0: not).", flush=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what a stop is asked with when it is not Ctrl+C
    with contextlib.suppress(KeyboardInterrupt):
        server.run()
    uploads.clear()
    sys.stdout.flush()
    os._exit(0)  # threads may still compute; nothing is to be saved, and the end of the interpreter trips over them
