"""The presenter view, a page served without Streamlit. It talks to the tab of the lecture in the same browser only.

GET /presenter?screen=ID    stops, notes, time and buttons for the tab with this number
"""

from __future__ import annotations

import functools
import hashlib

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from viz.classroom.rooms import documents
from viz.kit.offline_parts import joined


def routes() -> list[Route]:
    """Returns the routes of the page and its files."""
    files = [
        Route(f"/presenter/presenter.{kind}", documents.file_route(text, documents.KINDS[kind]), methods=["GET"])
        for kind, text in _files().items()
    ]
    return [*files, Route("/presenter", _page, methods=["GET"])]


async def _page(request: Request) -> Response:
    return Response(_document(), media_type="text/html", headers=documents.HEADERS | {"cache-control": "no-cache"})


@functools.cache
def _document() -> str:
    text = (documents.HERE / "presenter.html").read_text(encoding="utf-8")
    for kind, content in _files().items():
        digest = hashlib.sha256(content.encode()).hexdigest()[:12]
        text = text.replace(f'"presenter.{kind}"', f'"/presenter/presenter.{kind}?{digest}"')
    return text


@functools.cache
def _files() -> dict[str, str]:
    """Returns the files of the page by suffix."""
    script = f'"use strict";\n(() => {{\n{joined(documents.HERE / "presenter.js")}\n}})();\n'
    mark = (documents.HERE.parents[1] / "mark.svg").read_text(encoding="utf-8")
    return {"css": documents.style("presenter.css"), "js": script, "svg": mark}
