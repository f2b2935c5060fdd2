"""Edits made one after the other: undone, redone, cleared, refused; and when the answer of an experiment is forgotten."""

import dataclasses
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from model.edits.intervention import BASELINE, Intervention
from tests.support import tiny
from tests.support.viz_helpers import TIMEOUT, address
from viz.state import values
from viz.state.fields import view_field
from viz.state.session_data import SessionData
from viz.state.view import View


def page() -> None:
    """A page with nothing on it but the view, and things to do with it."""
    import streamlit as st

    from model.edits.intervention import BASELINE
    from model.inference.request import Request
    from viz.state import navigation
    from viz.state import session as state

    view, faults = state.open_view()
    st.session_state["seen"], st.session_state["told"] = view, faults
    codes = ("off_cross.3.5", "off_cross.3", "mean_cross.3.5", "block_enc_9-2", "block_enc_9-all", "row_enc_9-2")
    for code in (*codes, "scaling-off", "causal-off", "window-3", "window-5", "nonsense", "window-0", "mean_cross.3"):
        st.button(code, on_click=navigation.toggle_edit, args=(code,))
    for name in ("undo", "redo"):
        st.button(name, disabled=state.peek_history(name) is None, on_click=state.undo_or_redo, args=(name,))
    st.button("clear", on_click=navigation.clear_edits)
    asked = Request("Nine owls.", extra_padding=3, mode="again", intervention=BASELINE.with_edit("off_cross.3"))
    st.button("ask", on_click=navigation.show_request, args=(asked, "order"))
    fields = {"source": "Ten owls.", "target": "Neuf.", "pad": 9, "mode": "given", "checkpoint": "other", "device": "cpu"}
    fields["sentence"] = 2
    looks = {"step": 1, "layer": 0, "head": None, "show": "mask", "kind": "cross", "scope": "head"}
    for field, value in {**fields, **looks}.items():
        st.button(field, on_click=state.change, kwargs={field: value})
    state.write_link(view)


class Visitor:
    """Clicks on that page."""

    def __init__(self, shows: Callable[[], None] = page, session: SessionData | None = None, **link: str) -> None:
        self.app_test = AppTest.from_function(shows, default_timeout=TIMEOUT)
        if session:
            self.app_test.session_state["lab"] = session
        for name, text in link.items():
            self.app_test.query_params[name] = text
        self.run()

    def run(self) -> "Visitor":
        self.app_test.run()
        assert not self.app_test.exception
        return self

    def click(self, *labels: str) -> "Visitor":
        for label in labels:
            button = self.button(label)
            assert not button.disabled, label
            button.click()
            self.run()
        return self

    def button(self, label: str):
        return next(button for button in self.app_test.button if button.label == label)

    @property
    def view(self) -> View:
        return self.app_test.session_state["seen"]

    @property
    def made(self) -> Intervention:
        return self.view.intervention

    @property
    def steps(self) -> tuple[bool, bool]:
        """Whether there is anything to undo, and to redo."""
        return not self.button("undo").disabled, not self.button("redo").disabled


def test_edits_are_undone_and_redone_in_order():
    visitor = Visitor()
    codes = ("off_cross.3.5", "causal-off", "window-3", "block_enc_9-2")
    made = [tiny.edited(*codes[:n]) for n in range(len(codes) + 1)]
    assert visitor.steps == (False, False)
    for code, expected in zip(codes, made[1:], strict=True):
        assert visitor.click(code).made == expected
    for expected in made[-2::-1]:
        assert visitor.click("undo").made == expected
    assert visitor.steps == (False, True)
    assert set(address(visitor.app_test)) <= {"kind", "layer", "head"}
    for expected in made[1:]:
        assert visitor.click("redo").made == expected
    assert visitor.steps == (True, False)
    # The view follows the edit: the head, and then the matrix of the encoder, its default.
    assert address(visitor.app_test) == {"causal": "off", "edits": "window-3~block_enc_9-2~off_cross.3.5", "head": "5"}


@pytest.mark.parametrize("code", ["off_cross.3.5", "scaling-off", "causal-off", "window-3", "block_enc_9-2"])
def test_the_same_click_twice_takes_the_edit_back(code):
    visitor = Visitor(edits="mean_cross.1")
    assert visitor.click(code).made == tiny.edited("mean_cross.1", code)
    assert visitor.click(code).made == tiny.edited("mean_cross.1")
    assert visitor.click("undo").made == tiny.edited("mean_cross.1", code)  # both are steps


def test_a_new_edit_clears_redo():
    visitor = Visitor().click("scaling-off", "window-3", "undo")
    assert visitor.steps == (True, True)
    assert visitor.click("causal-off").steps == (True, False)
    assert visitor.made == tiny.edited("scaling-off", "causal-off")
    assert visitor.click("undo").made == tiny.edited("scaling-off")
    assert visitor.click("undo").made == BASELINE


@pytest.mark.parametrize(
    ("there", "code", "word"),
    [
        ("mean_cross.3.5", "off_cross.3.5", "contradict each other"),
        ("off_cross.3", "off_cross.3.5", "larger edit (cross-attention, layer 3: off)"),
        ("scaling-off", "nonsense", "“nonsense” is no edit"),
    ],
)
def test_a_refused_edit_changes_nothing(there, code, word):
    visitor = Visitor(layer="2").click(there, "causal-off", "undo")
    before = visitor.view, visitor.steps, address(visitor.app_test)
    visitor.click(code)
    assert (visitor.view, visitor.steps, address(visitor.app_test)) == before
    (told,) = visitor.run().app_test.session_state["told"]  # the sentence stays until something is done
    assert word in told
    assert visitor.click("redo").made == tiny.edited(there, "causal-off") and visitor.app_test.session_state["told"] == ()


def test_an_experiment_shows_its_request_and_is_one_step():
    visitor = Visitor(target="Dix.", step="4", edits="scaling-off", layer="1").click("ask")
    edits = tiny.edited("off_cross.3")
    assert visitor.view == View(source="Nine owls.", pad=3, mode="again", intervention=edits, experiment="order", layer=0)
    assert address(visitor.app_test)["try"] == "order"
    assert visitor.click("undo").made == tiny.edited("scaling-off")


@pytest.mark.parametrize("done", ["source", "pad", "checkpoint", "scaling-off", "clear", "undo", "causal-off"])
def test_an_experiment_ends_when_its_request_changes(done):
    visitor = Visitor().click("ask")
    assert visitor.view.experiment == "order"
    assert visitor.click(done).view.experiment is None
    assert "try" not in address(visitor.app_test)


@dataclasses.dataclass(frozen=True)
class Wider(View):
    """A view with fields that are made up: nothing but their declarations knows them."""

    made_up: int = view_field(3, "made", values.number(1, 9), undo="step", renews=("step",), drops=("experiment",))
    along: int = view_field(1, "along", values.number(1, 9), undo="along")
    aside: int = view_field(1, "aside", values.number(1, 9))


def made_up_page() -> None:
    import streamlit as st

    from viz.state import session as state

    view, _ = state.open_view()
    st.session_state["seen"] = view
    for name, change in {"change": {"made_up": 4}, "aside": {"aside": 2, "along": 2}}.items():
        st.button(name, on_click=state.change, kwargs=change)
    for name in ("undo", "redo"):
        st.button(name, disabled=state.peek_history(name) is None, on_click=state.undo_or_redo, args=(name,))
    state.write_link(view)


def test_a_field_that_is_made_up_is_undone_as_it_declares():
    first = Wider(step=5, experiment="order")
    visitor = Visitor(made_up_page, SessionData(view=first))
    assert visitor.click("change").view == Wider(made_up=4)
    assert visitor.steps == (True, False)
    assert address(visitor.app_test) == {"made": "4"}
    visitor.click("aside")
    assert visitor.steps == (True, False)  # no step of its own
    assert visitor.click("undo").view == dataclasses.replace(first, aside=2)
    assert visitor.click("redo").view == Wider(made_up=4, along=2, aside=2)
