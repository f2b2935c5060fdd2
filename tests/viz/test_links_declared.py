"""Devices and branches in a link, and a field that is made up."""

from __future__ import annotations

import dataclasses

import pytest

from viz import values
from viz.fields import declared, fields
from viz.links import link, parse
from viz.values import MAX_BRANCH_TOKENS, MAX_BRANCHES, MAX_LINK_TEXT
from viz.view import (
    View,
)


@pytest.mark.parametrize("name", ["cpu", "mps", "cuda", "cuda:0", "cuda:1", "cuda:15"])
def test_any_card_can_be_linked(name):
    assert link(parse({"device": name})[0]) == {"device": name}


@pytest.mark.parametrize("name", ["", "tpu", "cuda:", "cuda:-1", "cuda:999", "cuda:٤", "CUDA", "cuda:1;", "meta", "cpu\n"])
def test_what_can_be_no_device_is_told(name):
    view, faults = parse({"device": name})
    assert view.device == "auto"
    assert len(faults) == 1
    assert "expected auto, cpu, mps, cuda, or cuda:1" in faults[0]


@dataclasses.dataclass(frozen=True)
class Wider(View):
    made_up: int = declared(3, "made", values.number(1, 9), undo="step", renews=("step",))


def test_a_field_is_stated_with_another():
    """The head that stands beside two tokens is named even at its default: a link without one leaves it open."""
    assert link(View(find=("encoder", 3, 2))) == {"layer": "3", "head": "2", "find": "encoder_3_2"}
    assert link(View(layer=3, head=2)) == {}


def test_a_field_that_is_made_up_needs_its_declaration_alone():
    assert link(Wider()) == {}
    assert link(Wider(made_up=4, step=2)) == {"step": "2", "made": "4"}
    assert parse({"made": "4", "step": "2"}, Wider) == (Wider(made_up=4, step=2), ())
    assert parse({"made": "x", "step": "2"}, Wider) == (
        Wider(step=2),
        ("The link's made is “x”; expected a whole number from 1 to 9. The default is shown.",),
    )
    assert parse({"made": "4"}) == (View(), ())


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (7, "the view's field made_up declares nothing"),
        (declared(1, "step", values.number(1, 9)), "the link's parameter step has two fields"),
        (declared(1, "made", values.number(1, 9), renews=("stride",)), "the field made_up names stride, which is no field"),
        (
            declared(1, "made", values.number(1, 9), stated_with="stride"),
            "the field made_up names stride, which is no field",
        ),
        (declared(1, "made", values.number(1, 9), drops=("stride",)), "the field made_up names stride, which is no field"),
    ],
)
def test_a_wrong_declaration_is_refused(field, message):
    made = dataclasses.make_dataclass("Made", [("made_up", int, field)], bases=(View,), frozen=True)
    with pytest.raises(ValueError, match=message):
        fields(made)


def test_an_unknown_consequence_is_refused():
    with pytest.raises(ValueError, match="undo is 'always'; expected one of no, "):
        declared(1, "made", values.number(1, 9), undo="always")


def test_the_same_branch_twice_is_one():
    assert parse({"branch": "5-6~7~5-6"}) == (View(branches=((5, 6), (7,))), ())


def test_as_many_branches_as_there_may_be_fit_into_a_link():
    each = MAX_BRANCH_TOKENS // MAX_BRANCHES
    branches = tuple((*range(7000, 7000 + each - 1), 7900 + n) for n in range(MAX_BRANCHES))
    view = View(branches=branches)
    assert len(link(view)["branch"]) <= MAX_LINK_TEXT
    assert parse(link(view)) == (view, ())
