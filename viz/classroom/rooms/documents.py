"""The page that a room shows, as one document for all who follow: made once, and kept for the next who comes."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import gzip
import hashlib
import html
import logging
import threading
import weakref
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

from cachetools import LRUCache

from viz import cache, pages
from viz.classroom.rooms.store import Away, Gone
from viz.offline import html_export
from viz.state import uploads
from viz.state.fields import fields
from viz.state.links import parse
from viz.state.view import OF_A_LECTURE, View
from viz.state.work_queue import turn

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint

MOST = 8  # documents that are kept, packed: of 70 to 200 kB
OF_THE_LECTURER = (*OF_A_LECTURE, "lesson", "guess")  # fields that no document shows
OWN = "The lecture is at a checkpoint that its lecturer brought as a zip, which is not sent along: look at the screen."
NO_FILE = f"The lecture is at {{}}, {html_export.NOT_SENT}"
UNFORESEEN = "This page could not be made for you: look at the screen, or open it in the lab."
STYLE = (
    ":root{color-scheme:light dark}body{font:18px/1.5 system-ui,sans-serif;max-width:32em;margin:15vh auto;padding:0 24px}"
    "a{color:inherit}"
)
SCRIPT = 'parent.postMessage({lab:"none"},"*")'  # to the page around it: nothing here can be led


class NoDocument(Exception):
    """Why there is no document of an address, one sentence."""

    def __init__(self, sentence: str, address: str) -> None:
        super().__init__(sentence)
        self.address = address


@dataclasses.dataclass(frozen=True)
class Document:
    """A page of HTML, packed with gzip."""

    packed: bytes
    tag: str
    of: Callable[[], Checkpoint | None] = lambda: None
    device: str = ""

    def holds(self) -> bool:
        """True as long as the checkpoint that it was made of is the one of its name."""
        loaded = self.of()
        return loaded is not None and cache.holds(loaded, self.device)


class Documents:
    """The documents of all rooms of a process."""

    def __init__(self) -> None:
        self._kept: LRUCache[tuple[str, View], Document] = LRUCache(MOST)
        self._known: LRUCache[str, tuple[str, View]] = LRUCache(64)  # which of them an address shows
        self._changing = threading.Lock()
        self._turns: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._begun: set[asyncio.Task[None]] = set()
        self._threads = ThreadPoolExecutor(2, "documents")

    async def of(self, code: str, address: Callable[[], Awaitable[str]]) -> Document:
        """What a room shows once it is its turn: one is made at a time, and who waited has that one, or a newer one.

        Raises NoDocument where its page makes none, and what `address` raises.
        """
        lock = self._turns.setdefault(code, asyncio.Lock())
        async with lock:
            shown = await address()
            if found := self._at(shown):
                return found
            try:
                return await asyncio.get_running_loop().run_in_executor(self._threads, self._made, shown)
            except ValueError as fault:
                raise NoDocument(str(fault), shown) from None
            except Exception as fault:  # it is told in one sentence, as on the pages
                logging.getLogger(__name__).error("A document could not be made", exc_info=fault)
                raise NoDocument(UNFORESEEN, shown) from None

    def begin(self, code: str, address: Callable[[], Awaitable[str]]) -> None:
        """Makes what a room shows before anybody asks."""

        async def made() -> None:
            with contextlib.suppress(NoDocument, Gone, Away):
                await self.of(code, address)

        self._begun.add(task := asyncio.create_task(made()))
        task.add_done_callback(self._begun.discard)

    def _at(self, address: str) -> Document | None:
        with self._changing:
            found = self._kept.get(self._known.get(address, ("", View())))
        return found if found and found.holds() else None

    def _made(self, address: str) -> Document:
        """In a thread: the document of an address, which another one may share."""
        name, view = asked(address)
        page_data = cache.page_data(view)
        page_data = dataclasses.replace(page_data, view=page_data.view.within(len(page_data.analysis.trace.places)))
        identity = name, html_export.same_for(name, page_data)
        with self._changing:
            self._known[address] = identity
            found = self._kept.get(identity)
        if found and found.holds():
            return found
        with turn(long=False):
            packed = gzip.compress(html_export.file_of(name, page_data), 5, mtime=0)
        tag = hashlib.sha256(packed).hexdigest()[:32]
        made = Document(packed, tag, weakref.ref(page_data.loaded), page_data.view.device)
        with self._changing:
            self._kept[identity] = made
        return made


def asked(address: str) -> tuple[str, View]:
    """The page of an address that can be sent along, and its view; ValueError, one sentence, for another one."""
    parts = urlsplit(address)
    name = parts.path.strip("/") or pages.PAGES[0].name
    if name not in html_export.names():
        known = {page.name: page.title for page in pages.PAGES}
        raise ValueError(NO_FILE.format(f"“{known[name]}”" if name in known else "a page"))
    view, _ = parse(dict(parse_qsl(parts.query, keep_blank_values=True)))
    if uploads.is_uploaded(view.checkpoint) or (name == "compare" and uploads.is_uploaded(view.other_checkpoint)):
        raise ValueError(OWN)
    return name, dataclasses.replace(view, **{each: getattr(View(), each) for each in OF_THE_LECTURER})


def in_the_lab(address: str, code: str) -> str:
    """The address without what is the lecturer's alone, and with the way back to the room of a code."""
    parts, private = urlsplit(address), {fields(View)[name].parameter for name in OF_A_LECTURE}
    query = [(name, text) for name, text in parse_qsl(parts.query, keep_blank_values=True) if name not in private]
    return f"{parts.path}?{urlencode([*query, (fields(View)['room'].parameter, code)])}"


def sentence_page(sentence: str, address: str = "", code: str = "") -> Document:
    """A small page that says why there is no other, with a link into the lab where an address is given."""
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
    """What the small page may do."""
    style, script = (base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in (STYLE, SCRIPT))
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'"
    )
