"""Pages for followers of a lecture, served without Streamlit.

GET /follow         form for a room's code
GET /follow/CODE    the lecturer's current page, a document: one HTML file, cached for all followers
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import functools
import gzip
import hashlib
import html
import json
import logging
import threading
import weakref
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, get_args
from urllib.parse import parse_qsl, urlencode, urlsplit

from cachetools import LRUCache
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from viz import cache, page_context, pages, theme
from viz.classroom.rooms.room import LENGTH, LETTERS, code_of
from viz.classroom.rooms.room_question import MAX_WORD
from viz.classroom.rooms.store import Away, Gone
from viz.kit.offline_parts import joined
from viz.offline import html_export
from viz.state import uploads
from viz.state.fields import fields
from viz.state.links import parse
from viz.state.view import OF_A_LECTURE, View
from viz.state.work_queue import work_slot

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint

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
        *(
            Route(f"/follow/follow.{kind}", file_route(text, KINDS[kind]), methods=["GET"])
            for kind, text in _files().items()
        ),
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


def file_route(text: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    """Returns the answer of a file that the browser keeps."""

    async def answered(request: Request) -> Response:
        return Response(text, media_type=kind, headers=HEADERS | CACHE_HEADERS)

    return answered


@functools.cache
def _document() -> str:
    """Returns the HTML, the same for every room."""
    settings = {
        "letters": LETTERS,
        "length": LENGTH,
        "longest": MAX_WORD,
        "pages": {pages.address_of(page): page.title for page in pages.PAGES},
        "kinds": {pages.address_of(page): View.kind for page in pages.PAGES if page.has_kind},
    }
    text = (HERE / "follow.html").read_text(encoding="utf-8")
    for kind, content in _files().items():
        text = text.replace(f"follow.{kind}", f"/follow/follow.{kind}?{hashlib.sha256(content.encode()).hexdigest()[:12]}")
    return text.replace("{settings}", html.escape(json.dumps(settings)))


@functools.cache
def _files() -> dict[str, str]:
    """Returns the files of the page by suffix."""
    script = f'"use strict";\n(() => {{\n{joined(HERE / "follow.js")}\n}})();\n'
    mark = (HERE.parents[1] / "mark.svg").read_text(encoding="utf-8")
    return {"css": style("follow.css"), "js": script, "svg": mark}


def style(name: str) -> str:
    """Returns a stylesheet of this folder with the lab's colours and typeface."""
    palettes = [theme.PALETTES[mode].css_variables() for mode in get_args(theme.Mode)]
    light, dark = (";".join(f"{name}:{value}" for name, value in palette.items()) for palette in palettes)
    colours = f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    return colours + _typeface() + (HERE / name).read_text(encoding="utf-8")


def _typeface() -> str:
    """Returns the font rule for Streamlit's typeface; empty if the file is missing."""
    spec = find_spec("streamlit")
    media = Path(spec.origin).parent / "static" / "static" / "media" if spec and spec.origin else None
    file = next(iter(sorted(media.glob("SourceSansVF-Upright*.woff2"))), None) if media else None
    if not file:
        return ""
    source = f'url("/static/media/{file.name}") format("woff2")'
    return f'@font-face{{font-family:"Source Sans";font-weight:200 900;font-display:swap;src:{source}}}\n'


MAX_DOCUMENTS = 8  # cached documents, 70 to 200 kB each
OF_THE_LECTURER = (*OF_A_LECTURE, "lesson", "guess")  # fields without effect on a document
OWN = "This page uses the lecturer's own checkpoint. It is only on the big screen."
NO_FILE = f"The lecture shows {{}}. {html_export.NOT_SENT}"
UNFORESEEN = "This page could not be created. Open it in the lab."
STYLE = (
    ":root{color-scheme:light dark}body{font:18px/1.5 system-ui,sans-serif;max-width:32em;margin:15vh auto;padding:0 24px}"
    "a{color:inherit}"
)
SCRIPT = 'parent.postMessage({lab:"none"},"*")'  # tells the outer page that this document cannot be controlled


class NoDocument(Exception):
    """An address has no document; the message says why."""

    def __init__(self, sentence: str, address: str) -> None:
        super().__init__(sentence)
        self.address = address


@dataclasses.dataclass(frozen=True)
class Document:
    """An HTML page, compressed with gzip."""

    packed: bytes
    tag: str
    of: Callable[[], Checkpoint | None] = lambda: None
    device: str = ""

    def is_current(self) -> bool:
        """Returns True while its checkpoint is still the loaded one."""
        loaded = self.of()
        return loaded is not None and cache.is_current(loaded, self.device)


class Documents:
    """The documents of all rooms of a process."""

    def __init__(self) -> None:
        self._cache: LRUCache[tuple[str, View], Document] = LRUCache(MAX_DOCUMENTS)
        self._known: LRUCache[str, tuple[str, View]] = LRUCache(64)  # document of an address
        self._changing = threading.Lock()
        self._turns: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._tasks: set[asyncio.Task[None]] = set()
        self._threads = ThreadPoolExecutor(2, "documents")

    async def of(self, code: str, address: Callable[[], Awaitable[str]]) -> Document:
        """Returns the document of a room; one is made at a time, and waiting requests share the newest one.

        Raises NoDocument if the page has no document, and the errors of `address`.
        """
        lock = self._turns.setdefault(code, asyncio.Lock())
        async with lock:
            current = await address()
            if document := self._cached(current):
                return document
            try:
                return await asyncio.get_running_loop().run_in_executor(self._threads, self._make, current)
            except ValueError as fault:
                raise NoDocument(str(fault), current) from None
            except Exception as fault:  # followers see one sentence
                logging.getLogger(__name__).error("A document could not be made", exc_info=fault)
                raise NoDocument(UNFORESEEN, current) from None

    def begin(self, code: str, address: Callable[[], Awaitable[str]]) -> None:
        """Prepares the document of a room in the background."""

        async def prepare() -> None:
            with contextlib.suppress(NoDocument, Gone, Away):
                await self.of(code, address)

        self._tasks.add(task := asyncio.create_task(prepare()))
        task.add_done_callback(self._tasks.discard)

    def _cached(self, address: str) -> Document | None:
        with self._changing:
            document = self._cache.get(self._known.get(address, ("", View())))
        return document if document and document.is_current() else None

    def _make(self, address: str) -> Document:
        """Returns the document of an address, cached by its view. Runs in a thread."""
        name, view = page_and_view(address)
        context = page_context.build(view)
        context = page_context.at_a_step(context, len(context.analysis.trace.step_axis))
        identity = name, html_export.same_for(name, context)
        with self._changing:
            self._known[address] = identity
            document = self._cache.get(identity)
        if document and document.is_current():
            return document
        with work_slot(is_long=False):
            packed = gzip.compress(html_export.file_of(name, context), 5, mtime=0)
        tag = hashlib.sha256(packed).hexdigest()[:32]
        document = Document(packed, tag, weakref.ref(context.loaded), context.view.device)
        with self._changing:
            self._cache[identity] = document
        return document


def page_and_view(address: str) -> tuple[str, View]:
    """Returns page name and view of an address; raises ValueError if followers get no HTML file of the page."""
    parts = urlsplit(address)
    name = parts.path.strip("/") or pages.PAGES[0].name
    if name not in html_export.names() or not pages.find(name).has_sentence:
        known = {page.name: page.title for page in pages.PAGES}
        raise ValueError(NO_FILE.format(f"“{known[name]}”" if name in known else "a page"))
    view, _ = parse(dict(parse_qsl(parts.query, keep_blank_values=True)))
    if uploads.is_uploaded(view.checkpoint) or (name == "compare" and uploads.is_uploaded(view.other_checkpoint)):
        raise ValueError(OWN)
    return name, dataclasses.replace(view, **{each: getattr(View(), each) for each in OF_THE_LECTURER})


def in_the_lab(address: str, code: str) -> str:
    """Returns the address without the lecturer's private parameters, with the code of the room."""
    parts, private = urlsplit(address), {fields(View)[name].parameter for name in OF_A_LECTURE}
    query = [(name, text) for name, text in parse_qsl(parts.query, keep_blank_values=True) if name not in private]
    return f"{parts.path}?{urlencode([*query, (fields(View)['room'].parameter, code)])}"


def sentence_page(sentence: str, address: str = "", code: str = "") -> Document:
    """Returns a small page with a message, and a link into the lab if an address is given."""
    link = (
        f'<p><a href="{html.escape(in_the_lab(address, code))}" target="_blank" rel="noopener">Open it in the lab</a></p>'
        if address
        else ""
    )
    text = (
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Attention Lab</title><style>{STYLE}</style><p>{html.escape(sentence)}</p>{link}"
        f"<script>{SCRIPT}</script></html>"
    )
    packed = gzip.compress(text.encode(), mtime=0)
    return Document(packed, hashlib.sha256(packed).hexdigest()[:32])


def sentence_policy() -> str:
    """Returns the content security policy of the small page."""
    style, script = (base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in (STYLE, SCRIPT))
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'"
    )
