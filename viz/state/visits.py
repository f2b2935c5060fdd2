"""Visits: a session of Streamlit, and the sessions that follow it when the visitor reloads the tab.

Streamlit begins a new session at each reload. The tab stores the key of its visit and sends it to the new session, which
then has what the visit trained or uploaded. `viz/frame/visit.py` and `visit.js` pass it on.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from dataclasses import dataclass, field

ABSENCE_SECONDS = 150.0  # seconds without a browser after which a visit ends; Streamlit keeps a session for two minutes
_KEY = re.compile("[0-9a-f]{32}")


@dataclass
class Visit:
    """A visit that has trained or uploaded something. Its id is that of its first session."""

    id: str
    key: str = field(default_factory=lambda: secrets.token_hex(16))
    later: list[str] = field(default_factory=list)  # sessions after reloads
    seen: float = field(default_factory=time.monotonic)  # when its browser was last there


_visits: dict[str, Visit] = {}
_of_session: dict[str, str] = {}  # a session after a reload -> its visit
_changing = threading.Lock()


def visit_id() -> str | None:
    """Returns the visit of this run, or None outside a run."""
    session = session_id()
    return _of_session.get(session, session) if session else None


def begin() -> None:
    """Gives the visit of this run a key, so that it outlives a reload."""
    if visit := visit_id():
        with _changing:
            _visits.setdefault(visit, Visit(visit))


def key() -> str:
    """Returns the key of the visit of this run; empty before `begin`."""
    visit = _visits.get(visit_id() or "")
    return visit.key if visit else ""


def read_key(text: object) -> tuple[str] | None:
    """Returns a key that a browser sent, or "" from a tab without one; None for anything else."""
    return (text,) if isinstance(text, str) and (not text or _KEY.fullmatch(text)) else None


def join(sent: str) -> None:
    """Makes the session of this run part of the visit with a key. An unknown key changes nothing."""
    session = session_id()
    with _changing:
        visit = next((each for each in _visits.values() if secrets.compare_digest(each.key, sent)), None)
        if session and visit and session not in _visits and session not in _of_session:
            visit.later.append(session)
            _of_session[session] = visit.id


def is_active(visit: str) -> bool:
    """True while a browser of a visit is connected."""
    known = _visits.get(visit)
    return any(map(is_connected, [visit, *(known.later if known else ())]))


def sweep(patience: float = ABSENCE_SECONDS) -> None:
    """Forgets the visits whose browser left at least `patience` seconds ago."""
    now = time.monotonic()
    for visit in list(_visits.values()):
        if is_active(visit.id):
            visit.seen = now
        elif now - visit.seen >= patience:
            with _changing:
                del _visits[visit.id]
                for session in visit.later:
                    _of_session.pop(session, None)


def session_id() -> str | None:
    """Returns Streamlit's session of this run, or None outside a run."""
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context else None


def is_connected(session: str) -> bool:
    """True while the browser of a session is connected."""
    from streamlit import runtime

    return runtime.exists() and runtime.get_instance().is_active_session(session)
