"""The quick mount of a component sends what Streamlit's own function sends, and receives the same events."""

import json

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.testing.v1 import AppTest

from viz.kit import quick_mount


def _page(is_quick: bool, has_state: bool) -> None:
    import streamlit as st

    from viz.kit import quick_mount
    from viz.state import session

    html, script = "<div></div>", "export default () => {}"
    mount = st.components.v2.component("attention_lab.bell", html=html, js=script)
    if is_quick:
        mount = quick_mount.make_mount("attention_lab.bell", html, script, has_state)
    received = st.session_state.setdefault("received", [])

    def report(name):
        received.append((name, session.component_value("the bell", name)))

    reports = {f"on_{name}_change": lambda name=name: report(name) for name in ("ring", "step")}
    mount(key="the bell", data=[{"n": 3}], default={"step": 1} if has_state else None, height=40, **reports)
    with st.container(key="row"):
        mount(key="the small bell", data=b'[{"n":4}]')


def started(is_quick: bool, has_state: bool) -> AppTest:
    return AppTest.from_function(_page, args=(is_quick, has_state), default_timeout=60).run()


def components(app: AppTest):
    return app.get("bidi_component")


def sent(app: AppTest, trigger: object = None, state: object = None) -> list[tuple[str, object]]:
    """Returns the names and values that the page has received after an event, or a state, of its first component."""
    states, name = WidgetStates(), components(app)[0].proto.id
    if trigger is not None:
        states.widgets.add(id=f"$$STREAMLIT_INTERNAL_KEY_{name}__events").json_trigger_value = json.dumps(trigger)
    if state is not None:
        states.widgets.add(id=name).json_value = json.dumps(state)
    return app._run(states).session_state["received"]


@pytest.mark.parametrize("has_state", [True, False])
def test_both_functions_send_the_same_messages(has_state):
    assert quick_mount.IS_SUPPORTED, "this version of Streamlit mounts components in another way"
    own, public = (components(started(is_quick, has_state)) for is_quick in (True, False))
    assert [each.proto for each in own] == [each.proto for each in public] and len(own) == 2
    assert (own[0].proto.json, own[1].proto.bytes) == ('[{"n": 3}]', b'[{"n":4}]')


@pytest.mark.parametrize("is_quick", [True, False])
def test_events_and_states_are_received_once(is_quick):
    app = started(is_quick, has_state=True)
    assert sent(app, trigger=[{"event": "ring", "value": 2}]) == [("ring", 2)]
    assert sent(app, trigger=[{"event": "other", "value": 2}]) == [("ring", 2)]
    assert sent(app, state={"step": 5}) == [("ring", 2), ("step", 5)]
    assert sent(app, state={"step": 5}) == [("ring", 2), ("step", 5)]


def test_a_component_that_only_reports_events_has_no_state():
    app = started(True, has_state=False)
    assert sent(app, trigger=[{"event": "ring", "value": 1}, {"event": "step", "value": 2}]) == [("ring", 1), ("step", 2)]
    assert len(sent(app, state={"step": 5})) == 2 and "the bell" not in app.session_state


def test_an_unsupported_streamlit_mounts_with_its_own_function(monkeypatch):
    monkeypatch.setattr(quick_mount, "IS_SUPPORTED", False)
    assert quick_mount.make_mount("attention_lab.bell", "", "", has_state=True) is None
