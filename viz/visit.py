"""Where in the lab a visitor is, and how they come to another page: with the link, and with the view."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import streamlit as st

from viz import pages, state
from viz.links import link
from viz.view import View


def go_to(page: str, large: int = View.large) -> None:
    """Goes to another page, by its name, at the next run, and takes the view along; called from callbacks. `large`: which of
    its large pictures, for every page numbers its own."""
    st.session_state["next page"] = pages.find(page).file
    state.change(large=large)


def page() -> str:
    """The name of the page of this run."""
    return st.session_state.get("page", pages.PAGES[0].name)


def leave() -> None:
    """Ends the run and begins that of the page which a callback has asked for; nothing where none has. The link goes along:
    the history then has one entry of that page, not one without a link before it."""
    if page := st.session_state.pop("next page", None):
        st.switch_page(page, query_params=link(state.current()))


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
