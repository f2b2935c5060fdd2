"""What the next stop of a talk shows is computed before anybody goes there, so that the key is answered at once.

Beside its `page.py` a page's folder may hold an `ahead.py`, whose `ahead(page_data, mode)` computes what the page draws
first; without it the view is analysed. All of it is kept where the page will look for it. One stop at a time is worked on,
in the turn of long work: nobody waits for it, and where many would have something computed, the oldest wish is left out.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from importlib import import_module
from importlib.util import find_spec

from viz import cache, pages, theme
from viz.classroom import talk_navigation
from viz.state import session, uploads, work_queue
from viz.state.view import View

MOST = 8  # stops that wait to be computed
DONE = 32  # that were computed last, and are so still, unless much else was since
Asked = tuple[pages.Page, View, theme.Mode]


def next_stop(view: View) -> None:
    """Has the stop computed that follows in the talk of a view, if there is one; returns at once."""
    talk = talk_navigation.talk_of(view)
    stop = talk.at(view.stop + 1) if talk else None
    if stop is not None and not uploads.is_uploaded(stop.view.checkpoint):  # what was uploaded belongs to a session
        _WORK.ask((stop.place, talk_navigation.at_stop(view, view.stop + 1), session.theme_mode()))


def compute(page: pages.Page, view: View, mode: theme.Mode) -> None:
    """Computes what a page shows of a view; ValueError where there is nothing to be shown."""
    page_data = cache.page_data(view)
    if module := _module(page):
        import_module(module).ahead(page_data, mode)


def _module(page: pages.Page) -> str | None:
    name = page.file.removesuffix("page.py").replace("/", ".") + "ahead"
    return name if find_spec(name) else None


class _Work:
    """Computes what is asked for in a thread of its own, the latest first."""

    def __init__(self) -> None:
        self._waiting: deque[Asked] = deque(maxlen=MOST)
        self._changed = threading.Condition()
        self._now: Asked | None = None
        self._done: deque[Asked] = deque(maxlen=DONE)
        self._thread: threading.Thread | None = None

    def ask(self, asked: Asked) -> None:
        with self._changed:
            if asked == self._now or asked in self._waiting or asked in self._done:
                return
            self._waiting.append(asked)
            self._changed.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="ahead", daemon=True)
                self._thread.start()

    def rest(self, seconds: float) -> bool:
        """Waits until nothing is left to be computed; False where that takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: self._now is None and not self._waiting, seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                self._now = asked = self._waiting.pop()
            try:
                with work_queue.turn(long=True):
                    compute(*asked)
            except ValueError:  # the stop itself says what is wrong
                pass
            except Exception:
                logging.getLogger(__name__).exception("A stop could not be computed ahead")
            finally:
                with self._changed:
                    self._now = None
                    self._done.append(asked)
                    self._changed.notify_all()


_WORK = _Work()
rest = _WORK.rest
