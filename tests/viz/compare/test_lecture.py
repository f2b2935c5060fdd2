"""Compare in lecture mode: one picture of both sides, what differs by key, and patching with its best piece told."""

import pytest

from tests.support.viz_helpers import COMPARE, Lab
from viz.state import session as state

TIRED = "The dog is tired."


def lecture(**link: str) -> Lab:
    return Lab(COMPARE, **({"text": TIRED, "lecture": "on"} | link))


def pressed(lab: Lab, key: str):
    """The view after a key of the page."""
    session = {"view": lab.app_test.session_state["view"], "link": {}}
    call = next(call for name, _, call, _ in lab.app_test.session_state["lecture keys"] if name == key)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state.st, "session_state", session)
        call()
    return session["view"]


def shown(lab: Lab) -> dict:
    return lab._mounted(".side_by_side")


@pytest.mark.parametrize(("large", "picture"), [("1", "maps"), ("2", "difference"), ("3", "heads"), ("9", "maps")])
def test_each_picture_has_the_numbers_of_the_page(large, picture):
    found, usual = shown(lecture(large=large)), shown(Lab(COMPARE, text=TIRED))
    assert found["large"]["picture"] == picture and usual["large"] is None
    assert {name: found[name] for name in ("maps", "difference", "grids", "tokens")} == {
        name: usual[name] for name in ("maps", "difference", "grids", "tokens")
    }


def test_keys_lead_to_the_head_that_differs_most():
    lab = lecture(large="3")
    assert pressed(lab, "v").compared == "patching" and pressed(lecture(compared="patching"), "v").compared == "maps"
    view = pressed(lab, "h")
    grids = {grid["kind"]: grid["values"] for grid in shown(lab)["grids"]}
    most = max(value for grid in grids.values() for row in grid for value in row)
    assert grids[view.kind][view.layer - 1][view.head - 1] == most
    assert shown(lab)["large"]["most"].endswith(f"{most:.2f}")


def test_the_key_skips_differences_without_a_second_side():
    assert pressed(lecture(), "x").differs == "checkpoint"  # no second sentence is typed
    assert pressed(lecture(differs="checkpoint"), "x").differs == "head"  # nothing is edited
    assert pressed(lecture(differs="checkpoint", causal="off"), "x").differs == "edits"
    assert pressed(lecture(differs="step"), "x").differs == "word"


@pytest.mark.parametrize(("large", "picture"), [("1", "encoder"), ("2", "heads"), ("3", "decoder")])
def test_the_best_piece_is_patched_in(large, picture):
    lab = lecture(compare="patching", large=large)
    data = lab._mounted("patch_grids")
    own = [grid for grid in data["grids"] if (grid["title"].startswith("Heads")) == (picture == "heads")]
    own = [grid for grid in own if picture in ("heads", grid["hue"])]
    cells = {
        code: value
        for grid in own
        for row, codes in zip(grid["values"], grid["codes"], strict=True)
        for value, code in zip(row, codes, strict=True)
        if value is not None
    }
    assert data["large"]["picture"] == picture and data["chosen"] == [max(cells, key=cells.get)]
    assert f"{round(100 * max(cells.values()))}% of the way" in data["large"]["told"].replace("−", "-")
    assert [name for name, _ in data["large"]["rows"]] == ["this one", "the other", "patched"]
    after = pressed(lab, "n").patched.edits
    assert [edit.code for edit in after] == [sorted(cells, key=lambda code: -cells[code])[1]]
