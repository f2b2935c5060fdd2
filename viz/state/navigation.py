"""Where in the lab a visitor is, and how they come to another page: with the link, and with the view.

What callbacks do to the edits of the view, each as one step that can be undone."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

import streamlit as st

from model.edits.intervention import BASELINE
from model.edits.kinds import EditError
from model.edits.kinds import parse as parse_edit
from model.edits.switches import switch_of
from model.inference.request import Request
from viz import pages
from viz.state import session
from viz.state.links import link
from viz.state.view import View, with_intervention


def go_to(page: str, large: int = View.large) -> None:
    """Goes to another page, by its name, at the next run, and takes the view along; called from callbacks. `large`: which of
    its large pictures, for every page numbers its own."""
    st.session_state["next page"] = pages.find(page).file
    session.change(large=large)


def page() -> str:
    """The name of the page of this run."""
    return st.session_state.get("page", pages.PAGES[0].name)


def leave() -> None:
    """Ends the run and begins that of the page which a callback has asked for; nothing where none has. The link goes along:
    the history then has one entry of that page, not one without a link before it."""
    if page := st.session_state.pop("next page", None):
        st.switch_page(page, query_params=link(session.current()))


def lost() -> str:
    """The last part of the address that a visitor has come to, where no page stands there; empty otherwise, and in every run
    but a visitor's first. Streamlit decides whether this part is a page's place or belongs to the lab's own address."""
    if "view" in st.session_state or "lost" in st.session_state:
        return ""
    name = unquote(urlsplit(st.context.url or "").path.rstrip("/").rpartition("/")[2])
    return "" if name in [page.name for page in pages.PAGES[1:]] else name


def lead_back(name: str) -> None:
    """Ends the run and begins that of the first page, which says that no page stands at this address. The link is kept."""
    first = pages.PAGES[0]
    st.session_state["lost"] = () if name == first.name else (pages.unknown_address(name),)
    st.switch_page(first.file, query_params=st.query_params.to_dict())


def address() -> str:
    """Where this visitor found the lab, with a / at its end; empty where the browser did not say."""
    found = urlsplit(st.context.url or "")
    home, _, last = found.path.rstrip("/").rpartition("/")
    home = home if last in [page.name for page in pages.PAGES] else found.path.rstrip("/")
    return f"{found.scheme}://{found.netloc}{home}/" if found.netloc else ""


def toggle_edit(code: str) -> None:
    """Takes an edit away where it is there, and makes it where it is not; called from callbacks.

    An edit that cannot be made is told at the next run, and changes nothing.
    """
    now = session.current().intervention
    has = any(code == each for each, _ in now.parts())
    try:
        if not has and (larger := now.covering(code)):
            session.tell(f"A larger edit ({larger}) has switched this off already: take that back first.")
            return
        after = now.without(code) if has else now.with_edit(code)
        session.change(**with_intervention(after), **({} if has else _where(code)))
    except EditError as fault:
        session.tell(str(fault))


def _where(code: str) -> dict[str, Any]:
    """The fields of the view at which a new edit has its place: what is shown follows what is edited."""
    place = None if switch_of(code) else getattr(parse_edit(code), "place", None)
    if place is None:
        return {}
    found: dict[str, Any] = {"kind": place.kind}
    if place.layer is not None:
        found["layer"] = place.layer + 1
        if place.head is not None:
            found["head"] = place.head + 1
    return found


def clear_edits() -> None:
    """Takes all edits away, padding with them, as one step that can be undone; called from callbacks."""
    session.change(**with_intervention(BASELINE), pad=0)


def show_request(request: Request, experiment: str, whose: View | None = None, typed: str = "") -> None:
    """Makes the view that of a ready experiment; called from callbacks. `whose`: the view whose text it was asked of, where
    it was not asked of a sentence alone; `typed`: a visitor's own text, which the link keeps while another is shown."""
    text = {"source": request.source}
    if whose is not None and request.source in whose.sentences:
        text = {name: getattr(whose, name) for name in ("source", "sentence", "split")}
    session.change(
        **with_intervention(request.intervention),
        **text,
        second=request.second,
        checkpoint=request.checkpoint,
        target=request.target,
        pad=request.pad,
        mode=request.mode,
        step=1,
        experiment=experiment,
        own_text=typed if typed != text["source"] else "",
    )
