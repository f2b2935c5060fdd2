"""Lazy computation: a part of a page is computed once its place is visible, or once its popover has been opened."""

from __future__ import annotations

import hashlib
import html
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

from viz.kit import mount, site_texts
from viz.state import session
from viz.state.session_data import data


def has_been_seen(name: str, *what: Hashable) -> bool:
    """True if the visitor has seen the place of `name` with the content `what`, compared by `repr`.

    Otherwise it draws a place for `lazy.js`, which starts a new run once the place is visible.
    """
    if is_seen(name, *what):
        return True
    data().unseen_places.append(name)
    place = f'data-lab-lazy="{html.escape(name)}" data-what="{_digest(what)}"'
    with st.container(key=f"lazy {name}"):  # its class takes it out of the layout before the markup is drawn
        site_texts.write(f'<span class="lazy" {place} aria-hidden="true">&nbsp;</span>')
    return False


def is_seen(name: str, *what: Hashable) -> bool:
    """Returns `has_been_seen` without mounting a sentinel."""
    return data().seen.get(name) == _digest(what)


def _digest(what: tuple[Hashable, ...]) -> str:
    return hashlib.blake2b(repr(what).encode(), digest_size=8).hexdigest()


@contextmanager
def popover(label: str, key: str, **options: Any) -> Iterator[bool]:
    """Draws a popover and yields True once it has been open. Another `key` closes it."""
    with st.popover(label, key=key, **options):
        yield has_been_open(key)


def has_been_open(key: str) -> bool:
    """True if the popover of this key, which is drawn around the call, has been open.

    Otherwise it draws a place that `popovers.js` finds once it is visible. The server gets no event of opening or closing. A
    click in the navigation also closes a popover; that event would name the old page and cancel the change of page.
    """
    if data().seen.get(inside(key)):
        return True
    data().closed_popovers.append(key)
    site_texts.write(f'<span data-lab-popover="{html.escape(key)}">&nbsp;</span>')
    return False


def popover_event() -> mount.Event:
    """Returns check and handler of the event that a popover has been opened, and forgets the popovers of this run."""
    closed, data().closed_popovers = tuple(dict.fromkeys(data().closed_popovers)), []
    return mount.one_of(closed), lambda key: mark_seen(inside(key), True)


def seen_event() -> mount.Event:
    """Returns check and handler of the event that a place is visible, and forgets the places of this run."""
    unseen, data().unseen_places = tuple(dict.fromkeys(data().unseen_places)), []
    return mount.fields(name=mount.one_of(unseen), what=mount.text), mark_seen


def inside(key: str) -> str:
    """Returns the lazy name of a popover's content."""
    return f"inside {key}"


def mark_seen(name: str, value: Any) -> None:
    """Marks a lazy place as seen, with the digest of its content; called from callbacks."""
    data().seen[name] = value
    session.mark_user_event()
