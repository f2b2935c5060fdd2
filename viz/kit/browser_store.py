"""Parts of components that travel once: scripts with their styles, and large payloads.

The server sends a part in a hidden element and then names it by its digest. The browser stores the parts, so an unchanged
component is a constant message of a few hundred bytes. The digest of a part counts as stored once the run that sent it has
ended, since an interrupted run may lose its messages. A browser without a named part reports it as missing, and the next run
sends all parts again. `browser_store.js` is the other side.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import streamlit as st

from viz.state import session
from viz.state.result_cache import Payload, to_json

INLINE = 1000  # characters: smaller payloads travel with each message
_STORED = "parts in the browser"  # session key: slot -> digest
_EVENTS = "events of components"  # session key: mount key -> number
_RUN = "parts of this run"  # session key: the place of new parts, and slot -> digest; None between the runs
_SCRIPT = Path(__file__).with_suffix(".js")


_CALL = """export default (args) => new Promise((done) => {
  (globalThis.attentionLabCalls ??= []).push(["%s", args, done]);
});
"""


def call(name: str) -> str:
    """Returns a script that calls a function of `browser_store.js`, at once or when that script has loaded."""
    return _CALL % name


_STORE = st.components.v2.component("attention_lab.browser_store", js=_SCRIPT.read_text(encoding="utf-8"))
_CARRIER = st.components.v2.component("attention_lab.stored_part", js=call("keep"))


def begin_run() -> None:
    """Mounts the store; call it before the first component of a run."""
    place = st.container(key="browser_store")
    with place:
        _STORE(key="store", on_missing_change=_forget)
    session.put(_RUN, (place, {}))


def end_run() -> None:
    """Counts the parts of this run as stored."""
    _, sent = session.get(_RUN)
    session.put(_STORED, _stored() | sent)
    session.put(_RUN, None)


def _stored() -> dict[str, str]:
    return session.get(_STORED) or {}


def _forget() -> None:
    session.put(_STORED, {})
    session.mark_user_event()


def mark_event(key: str) -> None:
    """Makes the next run call the script of a component that has sent an event, even if its data stay the same."""
    session.put(_EVENTS, {**_events(), key: _events().get(key, 0) + 1})


def _events() -> dict[str, int]:
    return session.get(_EVENTS) or {}


def message(
    key: str, assets: Payload, colours: Payload, payloads: list[Mapping[str, Any]], every_run: bool = False
) -> dict[str, Any] | bytes:
    """Returns the data of a component and sends the parts that the browser lacks.

    The data name assets, colours and large payloads by their digests. Without a large payload they are bytes, which
    Streamlit passes to the script in each run. It passes other data only if they have changed.

    Args:
        key: the key of the mounted component.
        assets: its script, its styles and its constant values as `added`.
        payloads: JSON values of the component; the last of equal names counts.
        every_run: True sends large payloads inline too, so that each run calls the script.
    """
    named = {f"assets {assets['added']['component']}": assets, f"colours {session.theme_mode()}": colours}
    parts: list[Any] = [assets.digest, colours.digest]
    for number, values in enumerate(payloads):
        payload = values if isinstance(values, Payload) else Payload(values)
        if every_run or len(payload.text) < INLINE:
            parts.append(dict(payload))
        else:
            parts.append(payload.digest)
            named[f"{key} {number}"] = payload
    _send(named)
    is_constant = len(named) > 2
    return {"parts": parts, "events": _events().get(key, 0)} if is_constant else to_json({"parts": parts}).encode()


def _send(named: dict[str, Payload]) -> None:
    place, sent = session.get(_RUN) or (nullcontext(), None)
    stored = _stored() | (sent or {})
    new = {slot: payload.digest for slot, payload in named.items() if stored.get(slot) != payload.digest}
    if not new:
        return
    lines = [line for slot in new for line in (slot, named[slot].digest, named[slot].text)]
    with place:
        _CARRIER(key=f"store {next(iter(new))}", data="\n".join(lines).encode())
    if sent is None:  # the run of a fragment
        session.put(_STORED, stored | new)
    else:
        sent.update(new)
