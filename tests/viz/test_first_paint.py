"""The first page comes with its stylesheet; all else is passed on as it is."""

from __future__ import annotations

import asyncio
import re

import pytest

from viz import hosts
from viz.first_paint import with_stylesheet


def served(kind: bytes, parts: list[bytes], accept: bytes = b"text/html") -> tuple[dict[bytes, bytes], bytes]:
    """Headers and body that reach a browser of what an app answers in parts."""

    async def app(scope, receive, send):
        headers = [(b"content-type", kind), (b"etag", b"1"), (b"content-length", str(len(b"".join(parts))).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for i, part in enumerate(parts):
            await send({"type": "http.response.body", "body": part, "more_body": i + 1 < len(parts)})

    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "headers": [(b"accept", accept)]}
    asyncio.run(with_stylesheet(app)(scope, None, send))
    return dict(sent[0]["headers"]), b"".join(message["body"] for message in sent[1:])


def test_the_first_page_has_its_stylesheet_and_length():
    headers, body = served(b"text/html; charset=utf-8", [b"<head></head><bo", b"dy>here</body>"])
    assert body.startswith(b"<head></head><body><style>:root{--lab-page:") and body.endswith(b"</script>here</body>")
    assert b"</style><script>" in body
    assert int(headers[b"content-length"]) == len(body) and b"etag" not in headers


@pytest.mark.parametrize("shared", ["http://192.168.1.20:8501", None])
def test_the_first_page_says_where_others_find_the_lab(monkeypatch, shared):
    monkeypatch.setattr(hosts, "_shared", shared)
    body = served(b"text/html", [b"<body></body>"])[1]
    assert re.findall(rb'<meta name="attention-lab-shared" content="([^"]*)">', body) == (
        [shared.encode()] if shared else []
    )


@pytest.mark.parametrize(("kind", "accept"), [(b"text/javascript", b"text/html"), (b"text/html", b"*/*")])
def test_what_is_no_page_is_passed_on_as_it_is(kind, accept):
    headers, body = served(kind, [b"<body>", b"1"], accept)
    assert (body, headers[b"content-length"], headers[b"etag"]) == (b"<body>1", b"7", b"1")
