"""Any request at the routes of rooms is answered or refused in one line, and only the secret changes what a room shows."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support import strategies
from tests.support.room_helpers import exchange, run
from viz.classroom.rooms.documents import Documents
from viz.classroom.rooms.room import LETTERS
from viz.classroom.rooms.routes import Rooms
from viz.classroom.rooms.store import MemoryStore

ODD = ("", "é", "\0", "<b>", "../..", "\ud800", "//evil.example", "/\\evil.example", "a" * 9000, "il", "/heads?layer=3", " ")
VALUES = (None, True, 0, 1, -1, 1e308, float("nan"), [], {}, ["il", "elle"], [0.5, 0.4], "next", "head", "k" * 8)
FIELDS = ("address", "pointer", "blank", "kind", "text", "options", "model", "answer", "voter", "number", "word", "é")
KINDS = (b"application/json", b"text/plain", b"", b"application/json; charset=utf-8")
PARTS = ("", "/show", "/ask", "/reveal", "/end", "/vote", "/events", "/page", "/qr.svg", "/x")
STATUSES = (200, 201, 204, 307, 400, 403, 404, 405, 409, 413, 415, 429)
OWN, SMALL = "own", "own in small letters"

one = st.sampled_from((*ODD, *VALUES))
value = one | st.lists(one, max_size=20) | st.dictionaries(st.sampled_from(ODD), one, max_size=2)
said = st.dictionaries(st.sampled_from(FIELDS), value, max_size=5)
raw = st.binary(max_size=99) | st.sampled_from((b"[" * 40_000, b"9" * 9000, b"x" * 99_000))
request = st.fixed_dictionaries(
    {
        "code": st.sampled_from((OWN, OWN, SMALL, *ODD)) | st.text(LETTERS, min_size=6, max_size=6),
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
