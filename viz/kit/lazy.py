"""Lazy computation: a part of a page is computed once its place is visible."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

from viz.kit import mount
from viz.state import session

_COMPONENT = mount.Component(__file__, '<span class="lazy" aria-hidden="true">&nbsp;</span>')


def has_been_seen(name: str, *what: Hashable) -> bool:
    """True if the visitor has seen the place of `name` with the content `what`, compared by `repr`.

    Otherwise it mounts a sentinel, which starts a new run once it is visible.
    """
    digest = hashlib.blake2b(repr(what).encode(), digest_size=8).hexdigest()
    if session.get(_session_key(name)) == digest:
        return True
    seen = (mount.text, lambda value: session.put_from_event(_session_key(name), value))
    _COMPONENT.mount(f"lazy {name}", {"what": digest}, {"seen": seen}, height=1)
    return False


@contextmanager
def popover(label: str, key: str, **options: Any) -> Iterator[bool]:
    """Draws a popover and yields True once it has been open. Another `key` closes it.

    The server gets no event of opening or closing. A click in the navigation also closes a popover; that event would name
    the old page and cancel the change of page.
    """
    with st.popover(label, key=key, **options):
        yield has_been_seen(inside(key))


def inside(key: str) -> str:
    """Returns the lazy name of a popover's content."""
    return f"inside {key}"


def _session_key(name: str) -> str:
    return f"seen: {name}"
