"""Why in lecture mode: one picture of the sum, walked through by key, and what is said of the part that is chosen."""

import pytest

from tests.support.viz_helpers import WHY, Lab
from viz import state
from viz.why import sum as sums


def lecture(**link: str) -> Lab:
    return Lab(WHY, **({"step": "11", "lecture": "on"} | link))


def pressed(lab: Lab, *keys: str):
    """The view after keys of the page, each pressed on what this run has shown."""
    session = {"view": lab.at.session_state["view"], "link": {}}
    own = {name: call for name, _, call, _ in lab.at.session_state["lecture keys"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state.st, "session_state", session)
        for key in keys:
            own[key]()
    return session["view"]


def test_the_largest_parts_add_up():
    shown, usual = lecture().sum, Lab(WHY, step="11").sum
    assert shown["total"] == usual["total"] and shown["rows"] == usual["rows"][: sums.FEW] and usual["large"] is None
    assert sum(row["value"] for row in shown["rows"]) + shown["rest"][1] == pytest.approx(shown["total"], abs=2e-4)
    assert len(shown["rows"]) + shown["rest"][0] == shown["count"]
    large = shown["large"]
    assert large["asked"] == f"Why “{large['pair'][0]}”, and not “{large['pair'][1]}”?"
    assert large["before"].endswith("parce qu'") and large["p"][0] > large["p"][1]


@pytest.mark.parametrize("picture", ["1", "2", "3"])
def test_keys_walk_through_the_picture(picture):
    lab = lecture(large=picture)
    view = pressed(lab, "n")
    keys = [row["key"] for row in lab.sum["rows"]]
    first = {"1": keys[0], "2": next(key for key in keys if key[0] == "head"), "3": ["source"]}[picture]
    shown = {"head": [view.piece, view.kind, view.layer, view.head], "ff": [view.piece, view.layer]}
    assert shown.get(first[0], [view.piece]) == first
    link = {"large": picture, "piece": view.piece, "kind": view.kind, "layer": str(view.layer), "head": str(view.head)}
    there = lecture(**link, key=str(view.key))
    assert there.sum["chosen"] is not None
    assert pressed(there, "n") != view and pressed(there, "p") != view


def test_the_readings_are_one_large_chart_or_all_in_rows():
    link = {"text": "She bought a red car.", "step": "6", "why": "readings"}
    one = lecture(**link)._mounted(".curves")
    assert one["grid"][0] == 0 and {line["end"] for line in one["lines"]} == {"first", "last"}
    assert all(len(line["values"]) == len(line["taken"]) == len(one["grid"]) for line in one["lines"])
    low, mean, high = one["chance"]
    assert all(a <= b <= c for a, b, c in zip(low, mean, high, strict=True))
    table = lecture(**link, large="2")._mounted(".ranking")
    assert table["said"] == one["said"] and Lab(WHY, **link)._mounted(".ranking")["said"] == ""
