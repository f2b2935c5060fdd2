"""The key of the visit, which the tab keeps for the session after a reload; see `viz/state/visits.py` and `visit.js`."""

from __future__ import annotations

from typing import Any

from viz.kit import mount
from viz.state import session, uploads, visits
from viz.state.session_data import data


def is_awaited() -> bool:
    """True if the checkpoint is unknown, and the tab may still say that it belongs to its visit."""
    name = session.current_view().checkpoint
    return uploads.is_uploaded(name) and name not in uploads.session_uploads() and not data().has_sent_visit


def describe() -> tuple[dict[str, Any], dict[str, mount.Event]]:
    """Returns data and event of the key."""
    values = {"visit": {"key": visits.key(), "isAwaited": is_awaited()}}
    return values, {"visit": (mount.fields(key=visits.read_key), _join)}


def _join(key: str) -> None:
    data().has_sent_visit = True
    visits.join(key)
