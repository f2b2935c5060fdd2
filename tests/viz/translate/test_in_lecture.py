"""The first page in lecture mode: what is told of an edit, and what its keys say that they do."""

from __future__ import annotations

import pytest

from model import Request, analyse, format, load
from model.edits.intervention import Intervention
from tests.support.viz_helpers import Lab
from viz import cache, state
from viz.translate import in_lecture
from viz.view import View

TEXT = "The dog didn't cross the street because it was too shy."


@pytest.mark.parametrize("code", ["skip_dec.1.cross", "window-9"])
def test_what_an_edit_changed_is_told_of_this_very_view(code):
    loaded = load("en-fr")
    edited = Intervention().with_edit(code)
    given = analyse(loaded, Request(TEXT, intervention=edited))
    told = in_lecture.changes(given, loaded)
    sums = [format.decimal(each.trace.token_log_probs.sum()) for each in (given.baseline, given)]
    assert f"{sums[0]} → {sums[1]}" in told["told"] and "was" not in told
    again = analyse(loaded, Request(TEXT, intervention=edited, mode="again"))
    told = in_lecture.changes(again, loaded)
    assert told["edits"].lower() == edited.describe(again.labels).lower()
    if again.translation == again.baseline.translation:
        assert told["told"].endswith("does not change") and "was" not in told
        return
    assert "".join(piece for piece, _ in told["was"]).strip() == again.baseline.translation
    now = loaded.target_tokenizer.segments(again.trace.outputs.ids)
    stays = [piece.strip() for piece, new in zip(now, told["changed"], strict=True) if not new]
    assert any(told["changed"]) and [piece.strip() for piece, gone in told["was"] if not gone] == stays


def keys(**link: str) -> dict[str, str]:
    """The keys of the page with a link, and what each says that it does."""
    told = Lab(text="I am tired. It rains.", lecture="on", **link)._mounted(".lecture")["keys"]
    return {name: does for name, does, *_ in told}


def test_a_key_says_what_it_would_bring_about_now():
    plain, other = keys(), keys(large="2", causal="off", mode="again", rows="training", sentence="2")
    assert (plain["v"], other["v"]) == ("view: the maps", "view: the cache")
    assert (plain["m"], other["m"]) == ("causal mask off", "causal mask on")
    assert (plain["s"], other["s"]) == ("sentence 2 of 2", "sentence 1 of 2")
    assert (plain["r"], other["r"]) == ("rows: shifted", "rows: one row")
    assert "t" in other and "t" not in plain
    lab = Lab(text="I am tired.", lecture="on", large="2", guess="first")
    assert lab._mounted("large_maps") is None  # they would give the next tokens away
    assert lab.timeline["hall"]["steps"] is True and "v" not in keys(guess="first")


def test_the_cache_is_a_lecture_picture(monkeypatch):
    chosen, shown = (Lab(text="I am tired.", lecture="on", step="3", **link) for link in ({"large": "3"}, {"show": "cache"}))
    for lab in (chosen, shown):  # what the page shows outside of a lecture is shown in it
        assert lab.timeline["hall"]["steps"] is False
        told = lab._mounted("key_values")
        assert (told["step"], told["trace"]) == (3, lab.timeline["trace"]) and told["above"] > 0
    assert keys(show="cache")["v"] == keys(large="3")["v"] == "view: the steps"
    lab = Lab(text="I am tired.", lecture="on", large="2")
    view = {"view": lab.at.session_state["view"], "link": lab.link}
    with monkeypatch.context() as patch:
        patch.setattr(state.st, "session_state", view)
        task = cache.task(view["view"].checkpoint, view["view"].device)
        for large, shown in ((3, "cache"), (1, View.show), (2, View.show)):  # and back on the page the same is seen
            in_lecture._turn(task)
            assert (view["view"].large, view["view"].show) == (large, shown)
    peeking = Lab(text="I am tired.", lecture="on", large="3", causal="off", mode="again")
    assert peeking._mounted("key_values") is None and any("Nothing can be kept" in text for text in peeking.html)
    hidden = Lab(text="I am tired.", lecture="on", show="cache", guess="first")
    assert hidden._mounted("key_values") is None and hidden.timeline["hall"]["steps"] is True
