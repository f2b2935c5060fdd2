"""Any link, widget value or request at the routes of rooms is answered in bounded time or refused in one line."""

from __future__ import annotations

import json
import logging
import math
import time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates

from tests.support import strategies
from tests.support.link_examples import GOOD
from tests.support.room_helpers import exchange, run
from tests.support.viz_helpers import Lab, address
from viz import pages
from viz.classroom.rooms.documents import Documents
from viz.classroom.rooms.room import LETTERS
from viz.classroom.rooms.room_server import Rooms
from viz.classroom.rooms.store import MemoryStore
from viz.state import links
from viz.state.fields import fields
from viz.state.view import View, can_hold

logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context").disabled = True  # there is none here
MOST_SECONDS = 30.0  # of one run, on a busy machine
NAMES = tuple(name for each in fields(View).values() for name in (each.parameter, *each.attributes))
SENTENCES = ("I saw a cat.", "The red fox. It sleeps.", "“" * 300, "cat " * 60, "", " ", "<b>&amp;", "a\nb", "\U0001f600")
SENTENCES += ("’" * 9000,)


def words(text: str) -> list[str]:
    return text.split()


EDITS = words("scaling-off window-3 off_cross.3.5 skip_dec.2.ff source-positions_off off_dec.1 block_dec_2-2")
KNOWN = {  # texts that mean something to a parameter, beside numbers and words of other parameters
    "text": SENTENCES,
    "target": SENTENCES,
    "edits": (*EDITS, "~".join(EDITS), "~".join(EDITS * 40)),
    "checkpoint": words("en-fr en-fr-learned en-fr-peek nothere my(model)"),
    "decode": words("beam sample greedy yours"),
    "part": words("stages writers map scale length lens tokens embeddings"),
    "show": words("attention mask decoding"),
    "kind": words("encoder decoder cross"),
}
KNOWN = {name: [text] for name, text in GOOD.items()} | KNOWN
ODD = ("", "-1", "nan", "inf", "1e9", "0.5", "9" * 5000, "None", "../..", "a" * 7000, "\x00", "٣", "{}", "~", "-", "_")
COUNTS = (0, 1, 2, 3, 4, 7, 8, 16, 64, 512, 999)
LISTS = st.lists(st.lists(st.integers(0, 9000).map(str), min_size=1, max_size=126).map("-".join), min_size=1, max_size=20)


def parameter(name: str) -> st.SearchStrategy[str]:
    """Returns values of a parameter of a link."""
    known = st.sampled_from(KNOWN.get(name, COUNTS)).map(str)
    return known | LISTS.map("~".join) | st.sampled_from(ODD) | st.text(max_size=30) | st.sampled_from(COUNTS).map(str)


@st.composite
def addresses(draw: st.DrawFn) -> dict[str, str]:
    names = draw(st.sets(st.sampled_from(NAMES), min_size=1, max_size=8))
    return {name: draw(parameter(name)) for name in sorted(names)}


PAGE = st.sampled_from(pages.PAGES).map(lambda page: None if page == pages.PAGES[0] else page.file)


def check(lab: Lab, began: float) -> None:
    """Asserts what holds after every run."""
    assert time.monotonic() - began < MOST_SECONDS, f"a run took {time.monotonic() - began:.0f} s"
    view = lab.view
    wrong = [name for name in fields(View) if not can_hold(name, getattr(view, name))]
    assert wrong == [], f"the view has {wrong[0]} = {getattr(view, wrong[0])!r:.80}"
    assert links.parse(address(lab.app_test))[1] == ()
    menu = any('data-lab-popover="checkpoint ' in text for text in lab.html) or lab.app_test.selectbox(key="checkpoint")
    assert menu, "the menu of checkpoints is gone"


@strategies.few(4)
@given(page=PAGE, link=addresses())
def test_any_link_opens_its_page(page, link):
    began = time.monotonic()
    check(Lab(page, **link), began)


WORDS = words("encoder cross none steps source typed map heads dark off_cross.3.5 block_enc_1-1")
KEYS = words("kind layer head query key step token text of word done side to merge mass average combine")
NUMBERS = st.sampled_from((0, 1, 2, 3, -1, 10**400, 0.5, math.nan, math.inf, 1e300))
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.sampled_from((*WORDS, "x" * 70, "\ud800", "")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=6,
)
TYPED = st.sampled_from((*SENTENCES, *ODD, "en-fr-peek", "/tmp", "../checkpoints/en-fr", "beam", "mean", "q" * 30_000))
REAL = st.sampled_from((0.0, 1.0, -1.0, 1e300, math.nan, math.inf)) | st.floats(-99, 999)


def widget_state(draw: Any, widget: str, kind: str, events: list[str]) -> WidgetState:
    """A value of a widget's kind. Streamlit itself ends a run on a value of another kind."""
    made, event = WidgetState(id=widget), draw(st.sampled_from(events or [""]))
    match kind:
        case "json_value":
            made.json_value = json.dumps({event: draw(JSON)})
        case "json_trigger_value":
            made.json_trigger_value = json.dumps([{"event": event, "value": draw(JSON)}] * draw(st.integers(1, 2)))
        case "trigger_value":
            made.trigger_value = True
        case "bool_value":
            made.bool_value = draw(st.booleans())
        case "int_value":
            made.int_value = draw(st.integers(-(2**40), 2**40))
        case "double_value":
            number = draw(REAL)
            made.double_value = number if abs(number) < 2**50 else 0.0
        case "string_value":
            made.string_value = draw(TYPED)
        case "double_array_value":
            made.double_array_value.data.extend(draw(st.lists(REAL, max_size=2)))
        case "string_array_value":
            made.string_array_value.data.extend(draw(st.lists(TYPED, max_size=2)))
        case "int_array_value":
            made.int_array_value.data.extend(draw(st.lists(st.integers(-9, 99), max_size=2)))
        case _:
            raise AssertionError(f"no value is known for {kind}")
    return made


@strategies.few(3)
@given(
    data=st.data(),
    page=PAGE,
    link=st.fixed_dictionaries({name: st.sampled_from(KNOWN[name]) for name in ("part", "decode", "show")}),
    text=st.sampled_from(SENTENCES[:3]),
)
def test_any_values_of_widgets_are_run(data, page, link, text):
    lab = Lab(page, text=text, **link)
    for _ in range(3):
        known = lab.app_test._session_state._state._new_widget_state.widget_metadata
        kinds = {widget: each.value_type for widget, each in known.items()}
        chosen = data.draw(st.sets(st.sampled_from(sorted(known)), min_size=1, max_size=3))
        sent = [widget_state(data.draw, each, kinds[each], list(known[each].callbacks or ())) for each in sorted(chosen)]
        began = time.monotonic()
        others = [each for each in lab.app_test._tree.get_widget_states().widgets if each.id not in chosen]
        lab.app_test._run(WidgetStates(widgets=[*others, *sent]))
        lab._checked()
        check(lab, began)


ODD_REQUEST = (
    "",
    "é",
    "\0",
    "<b>",
    "../..",
    "\ud800",
    "//evil.example",
    "/\\evil.example",
    "a" * 9000,
    "il",
    "/heads?layer=3",
    " ",
)
VALUES = (None, True, 0, 1, -1, 1e308, float("nan"), [], {}, ["il", "elle"], [0.5, 0.4], "next", "head", "k" * 8)
FIELDS = ("address", "pointer", "blank", "kind", "text", "options", "model", "answer", "voter", "number", "word", "é")
KINDS = (b"application/json", b"text/plain", b"", b"application/json; charset=utf-8")
PARTS = ("", "/show", "/ask", "/reveal", "/end", "/vote", "/events", "/page", "/qr.svg", "/x")
STATUSES = (200, 201, 204, 307, 400, 403, 404, 405, 409, 413, 415, 429)
OWN, SMALL = "own", "own in small letters"

one = st.sampled_from((*ODD_REQUEST, *VALUES))
value = one | st.lists(one, max_size=20) | st.dictionaries(st.sampled_from(ODD_REQUEST), one, max_size=2)
said = st.dictionaries(st.sampled_from(FIELDS), value, max_size=5)
raw = st.binary(max_size=99) | st.sampled_from((b"[" * 40_000, b"9" * 9000, b"x" * 99_000))
request = st.fixed_dictionaries(
    {
        "code": st.sampled_from((OWN, OWN, SMALL, *ODD_REQUEST)) | st.text(LETTERS, min_size=6, max_size=6),
        "part": st.sampled_from(PARTS),
        "key": st.sampled_from((OWN, "", "cut", "x", None, None)),
        "kind": st.sampled_from(KINDS),
        "method": st.sampled_from(("GET", "POST", "POST", "HEAD", "PUT")),
        "body": said.map(lambda made: json.dumps(made).encode())
        | said.map(lambda made: json.dumps(list(made)).encode())
        | raw,
    }
)


class Silent(Documents):
    """Documents that are never made."""

    def begin(self, code: str, address: Any) -> None:
        pass

    async def of(self, code: str, address: Any) -> Any:
        raise ValueError(f"{await address():.1} is shown.")


@strategies.few(60)
@given(requests=st.lists(request, min_size=1, max_size=8))
def test_any_request_is_answered_or_refused(requests):
    async def story() -> None:
        made = Rooms(MemoryStore())
        made.documents = Silent()
        room, secret = await made.store.open("/heads")
        await made.store.change(room.code, lambda room: room.asks("next", "What?", ["il", "elle"], [0.5, 0.4], room.moved))
        before = await made.store.get(room.code)
        for each in requests:
            code = {OWN: room.code, SMALL: room.code.lower()}.get(each["code"], each["code"])
            key = {OWN: secret, "cut": secret[:-1]}.get(each["key"], each["key"])
            headers = [(b"host", b"lab:1"), (b"content-type", each["kind"])]
            headers += [(b"authorization", f"Bearer {key}".encode())] if key is not None else []
            path = f"/rooms/{code}{each['part']}" if code or each["part"] else "/rooms"
            messages = await exchange(made.router, each["method"], path, headers, each["body"])
            status, text = messages[0]["status"], b"".join(message.get("body", b"") for message in messages).decode()
            assert status in STATUSES, status
            if status >= 400 and each["method"] != "HEAD":
                assert text and len(text) < 1200 and "\n" not in text and "Traceback" not in text, text
        if not any(each["key"] == OWN for each in requests):
            after = await made.store.get(room.code)
            assert (after.address, after.pointer, after.blank, after.question.answer) == (before.address, "", False, None)

    run(story())
