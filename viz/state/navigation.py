"""The current page, changes of page, and the callbacks that change edits; each change is one step of undo."""

from __future__ import annotations

import dataclasses
from typing import Any
from urllib.parse import unquote, urlsplit

import streamlit as st

from model.edits.intervention import BASELINE, switch_of
from model.edits.kinds import EditError
from model.edits.kinds import parse as parse_edit
from model.inference.request import Request
from viz import pages
from viz.state import session
from viz.state.links import link
from viz.state.session_data import data
from viz.state.view import MASK_PARAMETERS, View


def go_to(page: str, large: int = View.large) -> None:
    """Goes to a page by name; called from callbacks. `large` is the number of its picture in lecture mode."""
    data().next_page = pages.find(page).file
    session.change(large=large)


def current_page() -> str:
    """Returns the name of the page of this run."""
    return data().page or pages.PAGES[0].name


def switch_page() -> None:
    """Switches to the page that a callback requested, if any.

    The link is passed on, so the history gets one entry for the page and none without a link.
    """
    session_data = data()
    page, session_data.next_page = session_data.next_page, None
    if page:
        st.switch_page(page, query_params=link(session.current_view()))


def unknown_page_name() -> str:
    """Returns the last part of the address if it names no page, in a visitor's first run only; else an empty string.

    Streamlit decides whether this part names a page or belongs to the lab's own address.
    """
    if data().view or data().lost is not None:
        return ""
    name = unquote(urlsplit(st.context.url or "").path.rstrip("/").rpartition("/")[2])
    return "" if name in [page.name for page in pages.PAGES[1:]] else name


def go_to_first_page(name: str) -> None:
    """Switches to the first page, which reports the unknown address. The link stays."""
    first = pages.PAGES[0]
    data().lost = () if name == first.name else (pages.unknown_address(name),)
    st.switch_page(first.file, query_params=st.query_params.to_dict())


def toggle_edit(code: str) -> None:
    """Adds an edit, or removes it if present; called from callbacks. An impossible edit only shows a message."""
    now = session.current_view().intervention
    has = any(code == each for each, _ in now.codes_and_texts())
    try:
        if not has and (larger := now.covering_text(code)):
            session.show_message(f"A larger edit ({larger}) already switches this off. Remove it first.")
            return
        after = now.without_edit(code) if has else now.with_edit(code)
        session.change(intervention=after, **({} if has else _fields_of_place(code)))
    except EditError as fault:
        session.show_message(str(fault))


def _fields_of_place(code: str) -> dict[str, Any]:
    """Returns the view's site, layer and head of a new edit, so that the page shows it."""
    place = None if switch_of(code) else getattr(parse_edit(code), "place", None)
    if place is None:
        return {}
    place_fields: dict[str, Any] = {"kind": place.kind}
    if place.layer is not None:
        place_fields["layer"] = place.layer
        if place.head is not None:
            place_fields["head"] = place.head
    return place_fields


def toggle_mask(name: str) -> None:
    """Switches a mask of the intervention, by its attribute; called from callbacks."""
    now = session.current_view().intervention
    session.change(intervention=dataclasses.replace(now, **{name: not getattr(now, name)}))


def mask_toggle(view: View, key: str) -> dict[str, Any]:
    """Returns the arguments that bind a widget to the mask of a link parameter; the parameter is its key."""
    name, _ = MASK_PARAMETERS[key]
    return session.bind(
        key,
        "intervention",
        getattr(view.intervention, name),
        read=lambda on: dataclasses.replace(session.current_view().intervention, **{name: on}),
    )


def clear_edits() -> None:
    """Removes all edits and the padding, as one step of undo; called from callbacks."""
    session.change(intervention=BASELINE, pad=0)


def show_request(request: Request, experiment: str, text_view: View | None = None, typed: str = "") -> None:
    """Shows the view of a ready experiment; called from callbacks.

    Args:
        text_view: the view with the text, if the experiment ran on one sentence of several.
        typed: the visitor's own text, which the link keeps while another is shown.
    """
    text = {"source": request.source}
    if text_view is not None and request.source in text_view.sentences:
        text = {name: getattr(text_view, name) for name in ("source", "sentence", "split")}
    session.change(
        intervention=request.intervention,
        **text,
        second=request.second_sentence,
        checkpoint=request.checkpoint,
        target=request.target,
        pad=request.extra_padding,
        mode=request.mode,
        step=View.step,
        experiment=experiment,
        own_text=typed if typed != text["source"] else "",
    )
