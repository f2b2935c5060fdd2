"""Mounts a component in 40 to 60% of the time of Streamlit's own function, since a page mounts up to eight in each run.

It leaves out what the lab does not use: tables in the data, returned values, changes of `st.session_state`, and the state
of a component that reports events only. The message is the same. It uses functions of Streamlit that are not public: in a
version without them `make_mount` returns None, and the public function mounts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from viz.state import session_data

try:
    from streamlit.components.v2.bidi_component.main import _make_trigger_id
    from streamlit.components.v2.bidi_component.serialization import BidiComponentSerde, deserialize_trigger_list
    from streamlit.elements.lib.layout_utils import LayoutConfig
    from streamlit.elements.lib.utils import compute_and_register_element_id
    from streamlit.proto.BidiComponent_pb2 import BidiComponent
    from streamlit.runtime.state import register_widget

    IS_SUPPORTED = hasattr(st._main, "_enqueue")
except ImportError:
    IS_SUPPORTED = False

Mount = Callable[..., None]


def declare(name: str, html: str, script: str, has_state: bool) -> Mount:
    """Declares a component and returns its mount function: that of `make_mount`, else Streamlit's."""
    public = st.components.v2.component(name, html=html or None, js=script)
    return make_mount(name, html, script, has_state) or public


def make_mount(name: str, html: str, script: str, has_state: bool) -> Mount | None:
    """Returns a function that mounts a component, with the arguments of Streamlit's; None if this version lacks its parts.

    Args:
        has_state: True if its script calls `setStateValue`.
    """
    if not IS_SUPPORTED:
        return None
    no_files = dict.fromkeys(("js_source_path", "css_content", "css_source_path"), "")
    template = BidiComponent(component_name=name, isolate_styles=True, html_content=html, js_content=script, **no_files)

    def mount(
        key: str,
        data: list[Any] | bytes | None = None,
        default: Mapping[str, Any] | None = None,
        height: int | str = "content",
        **reports: Callable[[], None],
    ) -> None:
        context = get_script_run_ctx()
        if context is None:
            return
        component = BidiComponent()
        component.CopyFrom(template)
        component.id = compute_and_register_element_id("bidi_component", user_key=key, dg=None, key_as_main_identity=True)
        if isinstance(data, bytes):
            component.bytes = data
        elif data is not None:
            component.json = json.dumps(data)
        callbacks = {event[len("on_") : -len("_change")]: report for event, report in reports.items()}
        if has_state:
            serde = BidiComponentSerde(default=dict(default) if default else None)
            register_widget(
                component.id,
                deserializer=serde.deserialize,
                serializer=serde.serialize,
                ctx=context,
                callbacks=callbacks,
                value_type="json_value",
            )
        if callbacks:
            events_key = _make_trigger_id(component.id, "events")
            session_data.data().events_keys[key] = events_key
            register_widget(
                events_key,
                deserializer=deserialize_trigger_list,
                serializer=json.dumps,
                ctx=context,
                callbacks=callbacks,
                value_type="json_trigger_value",
            )
        st._main._enqueue("bidi_component", component, layout_config=LayoutConfig(width="stretch", height=height))

    return mount
