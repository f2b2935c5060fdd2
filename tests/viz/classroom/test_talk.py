"""A talk: kept views in an order, as text in a link and as a file; what comes back is checked."""

import base64
import dataclasses
import json
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viz.classroom import talk as known
from viz.classroom.talk import MAX_NOTES, Stop, Talk, TalkError, file_of, find_talk, make_stop, pack, read, unpack
from viz.state.fields import fields
from viz.state.values import MAX_LINK_TEXT
from viz.state.view import View

VIEW = View(source="The fox & the “boat” = 50% <b>?", step=2, kind="cross", head=None, target="Le renard; et ~ 🦊")
FIRST, LAST = make_stop("heads", VIEW, "Look at the fox."), make_stop("what-if", VIEW, "  Qui\n  mord ? ")
TALK = Talk("Renards & bateaux", (FIRST, make_stop("translate", View(), ""), LAST))


def deflated(text: bytes) -> str:
    made = zlib.compressobj(9, wbits=-15)
    return "~" + base64.urlsafe_b64encode(made.compress(text) + made.flush()).decode().rstrip("=")


def written(**more) -> bytes:
    return json.dumps({"talk": 1, "title": "T", "stops": [{"line": "l", "page": "heads", "view": {}}]} | more).encode()


def lines(talk: Talk) -> list[str]:
    return [stop.line for stop in talk.stops]


def test_a_kept_view_comes_back_as_it_was():
    stop = TALK.stops[0]
    assert (stop.view, stop.faults, stop.place.name) == (VIEW, (), "heads")
    assert stop.address(talk="masks").startswith("heads?") and stop.address(talk="masks").endswith("&talk=masks")
    assert TALK.stops[1].address() == "" and TALK.stops[2].line == "Qui mord ?"


def test_what_belongs_to_the_visit_is_not_kept():
    around = {"device": "cpu", "lesson": "unsure", "talk": "masks", "stop": 4, "lecture": True}
    around |= {"room": "ABC", "own_text": "Mine.", "of_lessons": "homework"}
    around |= {"assignment": "first-contact", "exercise": 2, "author": True}
    visit = {name: value for name, value in around.items() if name in fields(View)}
    assert set(visit) == set(known.AROUND) & set(fields(View))
    kept = make_stop("heads", dataclasses.replace(VIEW, **visit), "")
    assert kept.view == VIEW
    assert Stop("heads", f"{kept.query}&lesson=unsure&device=cpu&stop=4&own=Mine.").view == VIEW


@pytest.mark.parametrize("back", [lambda talk: unpack(pack(talk)), lambda talk: read(file_of(talk))])
def test_as_text_and_as_a_file_it_is_the_same(back):
    assert (back(TALK), back(Talk())) == (TALK, Talk())


def test_stops_are_kept_moved_and_removed():
    a, b, c = (Stop("heads", "", line) for line in "abc")
    talk = Talk().with_stop(a).with_stop(c).with_stop(b, after=1)
    assert lines(talk) == ["a", "b", "c"]
    assert lines(talk.moved(1, 3)) == ["b", "c", "a"]
    assert lines(talk.moved(3, 2)) == ["a", "c", "b"]
    assert lines(talk.without(2)) == ["a", "c"]
    assert lines(talk.with_line(2, "new\tline")) == ["a", "new line", "c"]
    for same in (talk.moved(1, 4), talk.moved(0, 1), talk.without(4), talk.with_line(0, "x"), talk.moved(-1, 1)):
        assert same == talk
    assert (talk.stop(0), talk.stop(3), talk.stop(4), talk.stop(-1)) == (None, c, None, None)
    assert talk.titled(" ").title == known.UNTITLED


def test_what_is_too_much_is_refused():
    with pytest.raises(TalkError, match=f"at most {known.MAX_STOPS} stops; this one would have {known.MAX_STOPS + 1}"):
        Talk(stops=(Stop("heads", ""),) * known.MAX_STOPS).with_stop(Stop("heads", ""))
    with pytest.raises(TalkError, match="stop 2 has 401 characters; expected at most 400"):
        TALK.with_line(2, "x" * (known.MAX_LINE + 1))
    with pytest.raises(TalkError, match="too long for a stop"):
        make_stop("heads", View(source="x" * (MAX_LINK_TEXT + 1)), "")


BAD = [
    (b"\xff\xfe", "expected JSON"),
    (b"[" * 100_000, "expected JSON"),
    (b"[]", "key “talk”"),
    (written(talk=2), "version 2; expected version 1"),
    (written(talk=True), "version True; expected version 1"),
    (written(title="x" * 81), "has 81 characters; expected at most 80"),
    (written(stops=[{}] * 61), "not a list of at most"),
    (written(stops=[{"page": "heads"}, 3]), "stop 2 is not an object"),
    (written(stops=[{"line": "x" * 401}]), "stop 1: its line has 401 characters"),
    (written(stops=[{"view": {"text": "\ud800"}}]), "stop 1: its view is not valid text"),
    (b" " * (known.MAX_FILE + 1), "at most 262,144"),
]


@pytest.mark.parametrize(("raw", "fault"), BAD, ids=[fault for _, fault in BAD])
def test_a_bad_talk_is_one_sentence(raw, fault):
    with pytest.raises(TalkError, match=fault) as found:
        read(raw)
    assert "\n" not in str(found.value) and str(found.value).endswith(".")
    if len(raw) <= known.MAX_FILE:
        with pytest.raises(TalkError, match=fault):
            unpack(deflated(raw))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.sampled_from(("line", "page", "view", "step")), each),
)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.dictionaries(st.sampled_from(("title", "stops")), JSON | st.lists(JSON, max_size=3)))
def test_any_file_is_a_talk_or_one_sentence(more):
    try:
        talk = read(written(**more))
    except TalkError as fault:
        assert "\n" not in str(fault) and str(fault).endswith(".")
    else:
        assert read(file_of(talk)) == talk and all(isinstance(stop.view, View) for stop in talk.stops)


@pytest.mark.parametrize(
    "text",
    ["~", "~@", "~" + "A" * 50, pack(TALK)[:-9], "~ü", "~" + "A" * (3 * known.MAX_FILE), deflated(b" " * (1 << 24))],
    ids=["empty", "sign", "noise", "cut", "letter", "long", "bomb"],
)
def test_a_broken_link_is_told(text):
    with pytest.raises(TalkError, match="The talk in this link is damaged"):
        unpack(text)
    assert find_talk(text) == (None, "The talk in this link is damaged. Copy the complete link again.")


def test_what_is_wrong_with_a_stop_is_told_at_the_stop():
    stops = [
        {"line": "a", "page": "nowhere", "view": {"step": 4}},
        {"line": "b", "page": "heads", "view": {"layer": "x", "head": 3, "utm": "z"}},
    ]
    first, second = read(written(stops=stops)).stops
    assert first.place.name == "translate" and first.view.step == 3
    assert [fault.startswith("There is no page at /nowhere") for fault in first.faults] == [True]
    assert second.view == View(head=2) and "layer is “x”" in second.faults[0] and len(second.faults) == 1


def test_a_talk_is_known_by_its_name():
    assert find_talk("") == (None, "")
    assert find_talk("masks")[0].title == "Masks"
    assert find_talk("nothing")[1].startswith("There is no talk “nothing”; expected 20-minutes, ")
    assert find_talk(pack(TALK)) == (TALK, "")


def test_notes_of_a_stop_are_kept_in_links_and_files():
    talk = Talk("One", (Stop("heads", "layer=2"),)).with_notes(1, "Ask first.\n\n  Wait   ten seconds.\x07\n")
    assert talk.stops[0].notes == "Ask first.\n\nWait ten seconds."
    assert unpack(pack(talk)) == read(file_of(talk)) == talk
    assert talk.with_notes(2, "none") == talk and b'"notes"' not in file_of(talk.with_notes(1, ""))
    for wrong in ("x" * (MAX_NOTES + 1), "x\n" * (MAX_NOTES // 2 + 1)):
        with pytest.raises(TalkError, match="The notes of stop 1"):
            talk.with_notes(1, wrong)
    with pytest.raises(TalkError, match="its notes are not text"):
        read(b'{"talk": 1, "stops": [{"page": "heads", "notes": 3}]}')


def test_a_link_names_the_notes_of_the_lab_and_holds_others():
    ready = known.ready_talks()["20-minutes"]
    edited = ready.with_notes(2, "Wait.").titled("Mine")
    assert unpack(pack(edited)) == edited == read(file_of(edited))
    assert len(pack(edited)) < len(pack(dataclasses.replace(edited, stops=edited.stops * 2))) < MAX_LINK_TEXT
    unknown = Talk("T", (Stop("heads", "", "", "=20-minutes 99"),))
    assert unpack(pack(unknown)) == unknown
