"""Heads in lecture mode without a browser: its keys, the head that comes next, what is edited."""

from __future__ import annotations

import pytest

from tests.support.viz_helpers import HEADS, Lab
from viz import state
from viz.heads import in_lecture
from viz.view import View

KINDS = ("encoder", "decoder", "cross")
SENTENCE = "The dog sleeps."


def heads(**link: str) -> Lab:
    return Lab(HEADS, lecture="on", text=SENTENCE, **link)


def keys(lab: Lab) -> list[str]:
    return [name for name, *_ in lab._mounted(".lecture")["keys"]]


@pytest.mark.parametrize(
    ("link", "large", "sites"), [({}, 1, False), ({"large": "3", "sites": "all"}, 3, True), ({"large": "9"}, 1, False)]
)
def test_one_picture_is_large(link, large, sites):
    lab = heads(**link)
    assert (lab.all_heads["large"], lab.all_heads["sites"], lab.all_heads["together"]) == (large, sites, None)
    assert lab.faults == [] and keys(lab) == ["v", "k", "n", "p", "o", "w"]


def test_kinds_go_round(monkeypatch):
    for large, expected in ((1, ["decoder", "cross", "encoder"]), (in_lecture.ALL, ["decoder", "cross", None, "encoder"])):
        view, seen = View(kind="encoder"), []
        for _ in expected:
            wanted = in_lecture._next_kind(view, large, KINDS)
            view = view.__class__(**{**{"kind": view.kind}, **wanted})
            seen.append(None if view.together else view.kind)
        assert seen == expected


@pytest.mark.parametrize("by", [1, -1])
def test_a_key_walks_through_all_heads_in_their_order(monkeypatch, by):
    session = {"view": View(layer=1, head=2), "link": {}}
    monkeypatch.setattr(state.st, "session_state", session)
    ordered = [(2, 1), (1, 2), (1, 1), (2, 2)]
    seen = []
    for _ in ordered:
        in_lecture._walk(state.current(), ordered, by)
        seen.append((session["view"].layer, session["view"].head))
    assert sorted(seen) == sorted(ordered) and seen[0] == ((1, 1) if by == 1 else (2, 1))
    state.change(head=None)
    in_lecture._walk(state.current(), ordered, by)
    assert (session["view"].layer, session["view"].head) == ordered[0]


def test_the_order_is_that_of_the_link():
    for link, first in (({"find": "encoder_2_3"}, "find"), ({"order": "entropy"}, "entropy"), ({}, "position")):
        data = heads(**link).all_heads
        view = View(kind="encoder", order=link.get("order", "position"))
        grid = data["grids"][0]
        ordered = in_lecture._ordered({"grids": data["grids"]}, data, view)
        order = data["find"]["order"] if first == "find" else grid["orders"][first]
        assert ordered == [tuple(grid["places"][n]) for n in order] and len(set(ordered)) == len(grid["places"])
