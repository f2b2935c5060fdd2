"""Prefetch: computes the next stop of a talk before the lecturer goes there.

Results of its panels go to the cache. One stop is computed at a time, as long work. If many wait, the oldest is dropped.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections import deque

from viz import page_context, pages, theme
from viz.classroom import talk_navigation
from viz.kit.panel import layout_of
from viz.state import session, uploads, work_queue
from viz.state.view import View

MAX_WAITING = 8  # stops in the queue
DONE = 32  # recently computed stops, which are not computed again
Job = tuple[pages.Page, View, theme.Mode]


def next_stop(view: View) -> None:
    """Queues the next stop of the view's talk, if there is one; returns at once."""
    talk = talk_navigation.talk_of(view)
    stop = talk.stop(view.stop + 1) if talk else None
    if stop is not None and not uploads.is_uploaded(stop.view.checkpoint):  # an upload belongs to one session
        _WORK.submit((stop.place, talk_navigation.at_stop(view, view.stop + 1), session.theme_mode()))


def compute(page: pages.Page, view: View, mode: theme.Mode) -> None:
    """Computes a page's data for a view; raises ValueError for an invalid view."""
    context = dataclasses.replace(page_context.build(view), mode=mode)
    layout = layout_of(page)
    context = layout.without_session(context)
    for panel in layout.visible(context):
        if panel.measured is None:
            panel.result(context)


class _Work:
    """Computes queued stops in one thread, the latest first."""

    def __init__(self) -> None:
        self._waiting: deque[Job] = deque(maxlen=MAX_WAITING)
        self._changed = threading.Condition()
        self._now: Job | None = None
        self._done: deque[Job] = deque(maxlen=DONE)
        self._thread: threading.Thread | None = None

    def submit(self, job: Job) -> None:
        with self._changed:
            if job == self._now or job in self._waiting or job in self._done:
                return
            self._waiting.append(job)
            self._changed.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="ahead", daemon=True)
                self._thread.start()

    def wait_until_idle(self, seconds: float) -> bool:
        """Waits until the queue is empty; returns False after a timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: self._now is None and not self._waiting, seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                self._now = job = self._waiting.pop()
            try:
                with work_queue.work_slot(is_long=True):
                    compute(*job)
            except ValueError:  # the stop shows the message
                pass
            except Exception:
                logging.getLogger(__name__).exception("A stop could not be computed ahead")
            finally:
                with self._changed:
                    self._now = None
                    self._done.append(job)
                    self._changed.notify_all()


_WORK = _Work()
wait_until_idle = _WORK.wait_until_idle
