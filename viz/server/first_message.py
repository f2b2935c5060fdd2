"""Parts of the first message of a run that depend on Streamlit's options alone: filled once, since each run sends them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PARTS = ("_populate_theme_msg", "_populate_config_msg")


def keep_constant_parts() -> None:
    """Makes Streamlit fill these parts once; call it after the options are set. A later change has no effect.

    The functions that it replaces are not public. A version of Streamlit without them works as before.
    """
    from streamlit.runtime import app_session

    for name in PARTS:
        if hasattr(app_session, name):
            setattr(app_session, name, _filled_once(getattr(app_session, name)))


def _filled_once(fill: Callable[..., None]) -> Callable[..., None]:
    """Returns a function that copies what `fill` has put into a message; nothing if that was nothing."""
    kept: dict[tuple[Any, ...], Any] = {}

    def fill_kept(message: Any, *args: Any) -> None:
        if args not in kept:
            filled = type(message)()
            fill(filled, *args)
            kept[args] = filled
        if kept[args].ByteSize():
            message.CopyFrom(kept[args])

    return fill_kept
