"""Page for followers of a lecture, served without Streamlit.

GET /follow         form for a room's code
GET /follow/CODE    the lecturer's current page
"""

from __future__ import annotations

import hashlib
import html
import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from viz import pages, theme
from viz.classroom.rooms.room import LENGTH, LETTERS, MAX_WORD, code_of
from viz.kit.offline_parts import joined

HERE = Path(__file__).parent
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src 'self'; frame-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
HEADERS = {"content-security-policy": POLICY, "x-content-type-options": "nosniff"}
CACHE_HEADERS = {"cache-control": "public, max-age=31536000, immutable"}  # the address contains a hash of the content


def routes() -> list[Route]:
    """Returns the routes of the page and its files."""
    return [
        *(Route(f"/follow/follow.{kind}", _file(text, KINDS[kind]), methods=["GET"]) for kind, text in _files().items()),
        Route("/follow", _page, methods=["GET"]),
        Route("/follow/{code}", _page, methods=["GET"]),
    ]


async def _page(request: Request) -> Response:
    typed = request.path_params.get("code", "")
    try:
        code = code_of(typed) if typed else ""
    except ValueError:
        code = typed  # the page shows the error
    if code != typed:
        return RedirectResponse(f"/follow/{code}", headers=HEADERS)
    return Response(_document(), media_type="text/html", headers=HEADERS | {"cache-control": "no-cache"})


def _file(text: str, kind: str):
    async def answered(request: Request) -> Response:
        return Response(text, media_type=kind, headers=HEADERS | CACHE_HEADERS)

    return answered


@cache
def _document() -> str:
    """Returns the HTML, the same for every room."""
    settings = {
        "letters": LETTERS,
        "length": LENGTH,
        "longest": MAX_WORD,
        "pages": {pages.address_of(page): page.title for page in pages.PAGES},
    }
    text = (HERE / "follow.html").read_text(encoding="utf-8")
    for kind, content in _files().items():
        text = text.replace(f"follow.{kind}", f"/follow/follow.{kind}?{hashlib.sha256(content.encode()).hexdigest()[:12]}")
    return text.replace("{settings}", html.escape(json.dumps(settings)))


@cache
def _files() -> dict[str, str]:
    """Returns the files of the page by suffix."""
    script = f'"use strict";\n(() => {{\n{joined(HERE / "follow.js")}\n}})();\n'
    mark = (HERE.parents[1] / "mark.svg").read_text(encoding="utf-8")
    return {"css": _style(), "js": script, "svg": mark}


def _style() -> str:
    """Returns the stylesheet with the lab's colours and typeface."""
    palettes = [theme.PALETTES[mode].css_variables() for mode in get_args(theme.Mode)]
    light, dark = (";".join(f"{name}:{value}" for name, value in palette.items()) for palette in palettes)
    colours = f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    return colours + _typeface() + (HERE / "follow.css").read_text(encoding="utf-8")


def _typeface() -> str:
    """Returns the font rule for Streamlit's typeface; empty if the file is missing."""
    spec = find_spec("streamlit")
    media = Path(spec.origin).parent / "static" / "static" / "media" if spec and spec.origin else None
    file = next(iter(sorted(media.glob("SourceSansVF-Upright*.woff2"))), None) if media else None
    if not file:
        return ""
    source = f'url("/static/media/{file.name}") format("woff2")'
    return f'@font-face{{font-family:"Source Sans";font-weight:200 900;font-display:swap;src:{source}}}\n'
