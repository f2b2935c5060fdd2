import dataclasses

import pytest
from streamlit.testing.v1 import AppTest

from model.decoding.strategy import Decoding
from model.edits.intervention import Intervention
from model.inference.request import MAX_PAD, Request
from tests.support.viz_helpers import TIMEOUT, address
from viz.state import session
from viz.state.view import View

EDITS = Intervention(causal_mask=False, padding_mask=False, scaling=False, window=3).with_edit("off_cross.3.5")
CHOICE = {"strategy": "sample", "temperature": 0.5, "top_k": 3, "top_p": 0.8, "seed": 7}
PATHS = {"branches": ((5, 6), (5, 7, 2)), "path": (5, 7, 2)}
ASKED = {"checkpoint": "my-model_2.1", "source": "Nine owls.", "target": "Neuf hiboux.", "mode": "again"}
SEEN = View(step=6, pad=MAX_PAD, layer=0, head=7, intervention=EDITS, **ASKED, **CHOICE, **PATHS)


@pytest.mark.parametrize(
    ("view", "fitted", "named"),
    [
        (View(layer=4), View(layer=3), [("layer 5", "1 to 4")]),
        (View(head=8), View(head=None), [("head 9", "1 to 8")]),
        (View(layer=998, head=998), View(layer=3, head=None), [("layer 999", "1 to 4"), ("head 999", "1 to 8")]),
    ],
)
def test_a_missing_layer_or_head_is_replaced(view, fitted, named):
    found, faults = view.fit(4, 8, 8000)
    assert found == fitted
    for fault, (asked, there) in zip(faults, named, strict=True):
        assert asked in fault and there in fault


def test_a_request_carries_everything_that_the_network_needs():
    request = SEEN.request()
    assert request == Request(decoding=Decoding(**CHOICE), intervention=EDITS, extra_padding=MAX_PAD, **ASKED)
    untold = dataclasses.replace(SEEN, target=None).request()  # a given target has no branches
    assert untold == dataclasses.replace(request, target=None, **PATHS)
    assert not View().request().intervention
    looked = {"step": 6, "layer": 0, "head": None, "show": "mask", "device": "cpu", "kind": "cross", "scope": "head"}
    view = dataclasses.replace(View(), **looked, experiment="order", rows="training", guess=True)
    assert view.request() == View().request()


def page() -> None:
    """A page with nothing on it but the view, and two things to do with it."""
    import streamlit as st

    from viz.kit import mount
    from viz.state import session

    view, faults = session.open_view()
    st.session_state["seen"], st.session_state["told"] = view, faults
    st.button("pad", on_click=session.change, kwargs={"pad": view.pad + 1})
    st.button("same", on_click=session.change, kwargs={"source": view.source})
    st.button("new", on_click=session.change, kwargs={"source": "Nine owls."})
    for field, value in {"sentence": 2, "split": False, "checkpoint": "other", "temperature": 0.5, "seed": 9}.items():
        st.button(field, on_click=session.change, kwargs={field: value})
    st.button("layer", on_click=session.change, kwargs={"layer": 0})
    step = ("timeline", "step", mount.from_one(9), lambda step: session.change(step=step))
    st.button("step of 9", on_click=mount._report, args=step)
    session.write_link(view)


def opened(**params: str) -> AppTest:
    at = AppTest.from_function(page, default_timeout=TIMEOUT)
    for name, text in params.items():
        at.query_params[name] = text
    return run(at)


def run(at: AppTest) -> AppTest:
    at.run()
    assert not at.exception
    return at


def click(at: AppTest, label: str) -> AppTest:
    next(button for button in at.button if button.label == label).click()
    return run(at)


def test_a_change_is_written_to_the_link():
    at = opened(layer="2", step="-1")
    assert (at.session_state["seen"], len(at.session_state["told"])) == (View(layer=1), 1)
    assert address(at) == {"layer": "2"}
    assert len(run(at).session_state["told"]) == 1  # the sentence stays until something is done
    click(at, "pad")
    assert (at.session_state["seen"], at.session_state["told"]) == (View(layer=1, pad=1), ())
    assert address(at) == {"layer": "2", "pad": "1"}


def test_another_link_wins_unless_a_widget_started_the_run():
    at = click(opened(), "pad")
    at.query_params.clear()  # the browser has not heard of pad=1 yet
    click(at, "pad")
    assert at.session_state["seen"] == View(pad=2)
    assert address(at) == {"pad": "2"}
    at.query_params.clear()  # the back button
    assert run(at).session_state["seen"] == View()
    at.query_params["head"] = "3"
    assert run(at).session_state["seen"] == View(head=2)


def test_a_late_event_does_not_restore_an_old_link(monkeypatch):
    at = click(opened(), "new")
    at.query_params.clear()  # the browser has not heard of the new text yet
    monkeypatch.setattr(session, "component_value", lambda key, name: 12)
    click(at, "step of 9")
    assert at.session_state["seen"] == View(source="Nine owls.")
    assert address(at) == {"text": "Nine owls."}


def test_a_new_sentence_begins_at_its_first_step():
    at = click(opened(step="5", target="Neuf hiboux.", pad="2"), "same")
    assert at.session_state["seen"] == View(step=4, target="Neuf hiboux.", pad=2)
    assert click(at, "new").session_state["seen"] == View(source="Nine owls.", pad=2)


@pytest.mark.parametrize("done", ["new", "sentence", "split", "checkpoint"])
def test_branches_and_path_go_with_their_sentence(done):
    found = opened(text="One owl. Two owls.", branch="5-6", path="5", width="2")
    seen = click(found, done).session_state["seen"]
    assert (seen.branches, seen.path, seen.width) == ((), (), 2)
    assert not {"branch", "path"} & set(address(found))


def bound_page() -> None:
    """A choice that is tied to the view, and a button that sets the same field."""
    import streamlit as st

    from viz.state import session

    view, _ = session.open_view()
    st.segmented_control("Show", ["attention", "mask", "decoding"], required=True, **session.bind("show", "show", view.show))
    st.button("mask", on_click=session.change, kwargs={"show": "mask"})
    session.write_link(view)


def test_a_late_choice_does_not_undo_a_newer_one():
    at = click(run(AppTest.from_function(bound_page, default_timeout=TIMEOUT)), "mask")

    def sent(value: str, heard: bool) -> str:
        if not heard:
            at.query_params.clear()
        at.button_group(key="show").set_value(value)
        run(at)
        assert address(at) == ({} if at.session_state["show"] == "attention" else {"show": at.session_state["show"]})
        return at.session_state["show"]

    assert sent("attention", heard=False) == "mask"
    assert sent("attention", heard=False) == "mask"  # nor does one that was under way still
    assert sent("decoding", heard=False) == "decoding"  # this one a visitor has chosen
    click(at, "mask")
    assert sent("attention", heard=True) == "attention"
