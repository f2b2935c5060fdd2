"""What is computed once somebody looks at its place: after all that was asked for, and never for who does not look."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

from viz.kit import mount
from viz.state import session

_COMPONENT = mount.Component(__file__, '<span class="wanted" aria-hidden="true">&nbsp;</span>', name="wanted")


def is_wanted(name: str, *what: Hashable) -> bool:
    """Whether the place of `name` has been seen since it is to hold `what`, which is told apart by its `repr`. Where it has
    not, what asks for it is mounted here: once it is in sight the page runs again."""
    asked = hashlib.blake2b(repr(what).encode(), digest_size=8).hexdigest()
    if session.kept(_kept(name)) == asked:
        return True
    seen = (mount.text, lambda told: session.ask(_kept(name), told))
    _COMPONENT.mount(f"wanted {name}", {"what": asked}, {"seen": seen}, height=1)
    return False


@contextmanager
def popover(label: str, key: str, **options: Any) -> Iterator[bool]:
    """A popover, and whether to draw its content: once it has been open. Another `key` closes it.

    The server does not hear when it opens or closes. A click on a page in the navigation also closes it; that event would
    name the old page, arrive after the change of page and cancel it.
    """
    with st.popover(label, key=key, **options):
        yield is_wanted(inside(key))


def inside(key: str) -> str:
    """The name under which the content of a popover is wanted."""
    return f"inside {key}"


def _kept(name: str) -> str:
    return f"seen: {name}"
