"""Limits the log: one line for unreadable input, one traceback of each kind, and a number of lines per minute."""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from cachetools import LRUCache

from model.io.package_names import LIBRARY
from viz.pages import ROOT

LINES_A_MINUTE = 10  # of one kind; a kind is the line of code that logs, and for a fault its type and place
MINUTE = 60.0  # s
MAX_KINDS = 500  # remembered at once
MAX_LINE = 200  # characters of a fault in one line
UNREADABLE = "A browser sent a value that cannot be read: %s"
REPEATED = "%s: %s (the log has its traceback above)"
LEFT_OUT = "%d more lines like this one were left out within a minute: %s"
OWN = tuple(str(path) for path in (LIBRARY, Path(__file__).resolve().parents[1], ROOT / "app.py"))

# Functions of libraries that read what a browser sent: the end of a file's name, and the function.
READERS = (
    ("streamlit/runtime/state/session_state.py", "__getitem__"),  # the value of a widget
    ("streamlit/runtime/state/session_state.py", "get_serialized"),
    ("streamlit/components/v2/bidi_component/serialization.py", "deserialize"),
    ("starlette/websockets.py", "receive_bytes"),  # a text frame, where Streamlit expects bytes
)
RECEIVER = ("streamlit/web/server/starlette/starlette_websocket.py", "_websocket_endpoint")  # where it is the last


class LogLimit(logging.Filter):
    """Passes, shortens or drops a log record. The number of dropped lines is logged after each minute."""

    def __init__(
        self, max_lines: int = LINES_A_MINUTE, seconds: float = MINUTE, now: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self.max_lines, self.seconds, self.now = max_lines, seconds, now
        self._lock = threading.Lock()
        # When the minute of a kind began, its lines, and how many of them were left out.
        self._windows: LRUCache[tuple[object, ...], list[float]] = LRUCache(MAX_KINDS)
        self._logged: LRUCache[tuple[object, ...], bool] = LRUCache(MAX_KINDS)  # tracebacks in the log

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "is_count", False):
            return True
        fault = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if fault is not None and is_unreadable_input(fault):
            _shorten(record, UNREADABLE, in_a_line(fault))
            kind: tuple[object, ...] = (UNREADABLE,)
        else:
            kind = (record.pathname, record.lineno, type(fault), _place(fault))
            if fault is not None and self._is_logged(kind):
                _shorten(record, REPEATED, record.getMessage().strip(), in_a_line(fault))
        return self._counts(kind, record)

    def _is_logged(self, kind: tuple[object, ...]) -> bool:
        """True if the log has a traceback of this kind; marks it as logged."""
        with self._lock:
            is_logged = kind in self._logged
            self._logged[kind] = True
        return is_logged

    def _counts(self, kind: tuple[object, ...], record: logging.LogRecord) -> bool:
        """Counts a line of a kind; False beyond the limit of the minute."""
        with self._lock:
            window = self._windows.get(kind)
            if window is None or self.now() - window[0] >= self.seconds:
                window = self._windows[kind] = [self.now(), 0, 0]
            window[1] += 1
            if window[1] <= self.max_lines:
                return True
            window[2] += 1
            is_first = window[2] == 1
        if is_first:
            message = record.getMessage()[:MAX_LINE]
            left = max(0.0, window[0] + self.seconds - self.now())
            later = threading.Timer(left, self._log_count, (record.name, record.levelno, window, message))
            later.daemon = True
            later.start()
        return False

    def _log_count(self, name: str, level: int, window: list[float], message: str) -> None:
        logging.getLogger(name).log(level, LEFT_OUT, window[2], message, extra={"is_count": True})


def is_unreadable_input(fault: BaseException) -> bool:
    """True for an exception of a library that read a browser's input, with no frame of the lab after it."""
    frames = [frame.f_code for frame, _ in traceback.walk_tb(fault.__traceback__)]
    for number, code in enumerate(reversed(frames)):
        if code.co_filename.startswith(OWN):
            return False
        file = code.co_filename.replace("\\", "/")
        if any(file.endswith(ending) and code.co_name == name for ending, name in READERS):
            return True
        if number == 0 and file.endswith(RECEIVER[0]) and code.co_name == RECEIVER[1]:
            return True
    return False


def in_a_line(fault: BaseException) -> str:
    """Returns type and text of an exception in one short line without control characters."""
    text = "".join(char if char.isprintable() else " " for char in str(fault)[: 2 * MAX_LINE])
    return f"{type(fault).__name__}: {' '.join(text.split())}"[:MAX_LINE]


def _place(fault: BaseException | None) -> tuple[str, int] | None:
    """Returns file and line of the last frame of a traceback."""
    lines = list(traceback.walk_tb(fault.__traceback__)) if fault else []
    return (lines[-1][0].f_code.co_filename, lines[-1][1]) if lines else None


def _shorten(record: logging.LogRecord, message: str, *values: str) -> None:
    record.msg, record.args = message, values
    record.exc_info = record.exc_text = record.stack_info = None


def install(limit: LogLimit) -> None:
    """Adds the limit to all loggers of the process, including later ones."""

    class Limited(logging.getLoggerClass()):  # type: ignore[misc]
        def __init__(self, name: str, level: int = logging.NOTSET) -> None:
            super().__init__(name, level)
            self.addFilter(limit)

    logging.setLoggerClass(Limited)
    for logger in [logging.getLogger(), *logging.getLogger().manager.loggerDict.values()]:
        if isinstance(logger, logging.Logger):
            logger.addFilter(limit)
