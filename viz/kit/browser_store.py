"""Parts of components that travel once: scripts with their styles, and large payloads.

The server sends a part in a hidden element and then names it by its digest. The browser stores the parts, so an unchanged
component is a constant message of a few hundred bytes. The digest of a part counts as stored once the run that sent it has
ended, since an interrupted run may lose its messages. A browser without a named part reports it as missing, and the next run
sends all parts again. `browser_store.js` is the other side. It comes with the first page, or as a component.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from viz import theme
from viz.kit import quick_mount
from viz.state import session
from viz.state.result_cache import Payload, to_json
from viz.state.session_data import data

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

INLINE = 1000  # characters: smaller payloads travel with each message
_SCRIPT = Path(__file__).with_suffix(".js")


@dataclass
class _Parts:
    """The parts in one browser, and those that the current run sends."""

    stored: dict[str, str] = field(default_factory=dict)  # slot -> digest
    events: dict[str, int] = field(default_factory=dict)  # key of a component -> number of its events
    place: DeltaGenerator | None = None  # of new parts, and of messages over the page
    sent: dict[str, str] | None = None  # slot -> digest; None between the runs


_CALL = """export default (args) => new Promise((done) => {
  (globalThis.attentionLabCalls ??= []).push(["%s", args, done]);
});
"""


def call(name: str) -> str:
    """Returns a script that calls a function of `browser_store.js`, at once or when that script has loaded."""
    return _CALL % name


_STORE = st.components.v2.component(
    "attention_lab.browser_store", js=f"{_SCRIPT.read_text(encoding='utf-8')}\nexport default () => {{}};\n"
)
_carry = quick_mount.declare("attention_lab.stored_part", "", call("keep"), has_state=False)


def begin_run() -> None:
    """Begins to count the parts of a run; call it before the first component."""
    parts = _parts()
    parts.place, parts.sent = None, {}
    if not theme.has_first_page:
        with place_over_page():
            _STORE(key="store")


def end_run() -> None:
    """Counts the parts of this run as stored."""
    parts = _parts()
    parts.stored |= parts.sent or {}
    parts.place = parts.sent = None


def place_over_page() -> DeltaGenerator:
    """Returns a place for messages while a run waits, which moves nothing on the page."""
    return st.container() if _is_fragment_run() else _place_of(_parts())


def _place_of(parts: _Parts) -> DeltaGenerator:
    if parts.place is None:  # most runs need none
        parts.place = st._event.container(key="over_page")  # Streamlit's root for what has no place in the layout
    return parts.place


def _parts() -> _Parts:
    session_data = data()
    session_data.parts = session_data.parts or _Parts()
    return session_data.parts


def missing_event() -> None:
    """Sends all parts again; a callback."""
    _parts().stored = {}


def mark_event(key: str) -> None:
    """Makes the next run call the script of a component that has sent an event, even if its data stay the same."""
    events = _parts().events
    events[key] = events.get(key, 0) + 1


def message(
    key: str, assets: Payload, colours: Payload, payloads: list[Mapping[str, Any]], every_run: bool = False
) -> list[dict[str, Any]] | bytes:
    """Returns the data of a component and sends the parts that the browser lacks.

    The data name assets, colours and large payloads by their digests. Without a large payload they are bytes, which
    Streamlit passes to the script in each run. It passes other data only if they have changed. The data are a list, since
    Streamlit would look for tables in the values of a dictionary.

    Args:
        key: the key of the mounted component.
        assets: its script, its styles and its constant values as `added`.
        payloads: JSON values of the component; the last of equal names counts.
        every_run: True sends large payloads inline too, so that each run calls the script. This component reports missing
            parts.
    """
    named = {f"assets {assets['added']['component']}": assets, f"colours {session.theme_mode()}": colours}
    whole = [values if isinstance(values, Payload) else Payload(values) for values in payloads]
    large = {} if every_run else {n: payload for n, payload in enumerate(whole) if len(payload.text) >= INLINE}
    named |= {f"{key} {n}": payload for n, payload in large.items()}
    parts = _parts()
    _send(parts, named)
    if large:
        values = [payload.digest if n in large else dict(payload) for n, payload in enumerate(whole)]
        return [{"parts": [assets.digest, colours.digest, *values], "events": parts.events.get(key, 0)}]
    texts = [to_json(assets.digest), to_json(colours.digest), *(payload.text for payload in whole)]
    reports = ',"reports":true' if every_run else ""
    return f'[{{"parts":[{",".join(texts)}]{reports}}}]'.encode()


def _send(parts: _Parts, named: dict[str, Payload]) -> None:
    is_fragment = _is_fragment_run()  # it must not write outside of itself: an interrupted run may have left its place
    sent = None if is_fragment else parts.sent
    known = parts.stored | (sent or {})
    new = {slot: payload.digest for slot, payload in named.items() if known.get(slot) != payload.digest}
    if not new:
        return
    lines = [line for slot in new for line in (slot, named[slot].digest, named[slot].text)]
    with nullcontext() if sent is None else _place_of(parts):
        _carry(key=f"store {next(iter(new))}", data="\n".join(lines).encode())
    (parts.stored if sent is None else sent).update(new)


def _is_fragment_run() -> bool:
    """True while only a fragment of the page runs."""
    context = get_script_run_ctx(suppress_warning=True)
    return bool(context and context.fragment_ids_this_run)
