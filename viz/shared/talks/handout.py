"""The handout of a talk: what each stop shows, as it is printed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from viz import cache, hosts, turns, uploads
from viz.offline import take
from viz.offline.handout import Leaf, handout
from viz.rooms import qr
from viz.talks.talk import Stop, Talk
from viz.view import View

if TYPE_CHECKING:
    from viz.cache import PageData

OF_A_PAGE = ("part", "why", "compared")  # fields that choose a part of a page: its file shows the first of them
NO_PICTURE = "No picture of this can be printed: open its link to see it."
LONGEST = 500  # letters of an address in a QR code that a telephone can read from paper
GUESS = "To be guessed first. My guess:"


def of(talk: Talk, view: View, home: str = "") -> bytes:
    """The file of a talk, computed where the view is. `home`: where its author found the lab; others are led to where they
    find it. Who asks for something long meanwhile has a turn between two stops."""
    found = urlsplit(home)
    shared = hosts.address_for_others(found.scheme, found.netloc) if home else None
    leaves = []
    for stop in talk.stops:
        with turns.turn(long=True):
            leaves.append(_leaf(stop, view.device, home, shared))
    with turns.turn(long=True):
        return handout(talk.title, leaves)


def _leaf(stop: Stop, device: str, home: str, shared: str | None) -> Leaf:
    """A stop; where nothing can be shown, with the sentence that its page would have."""
    view = dataclasses.replace(stop.view, device=device)
    address = (f"{shared}{urlsplit(home).path}" if shared else home) + stop.address()
    code = qr.svg(address).decode() if shared and len(address) <= LONGEST else ""
    leaf = Leaf(stop.place.name, stop.place.title, stop.line, address or "./", code=code)
    if stop.faults:
        return dataclasses.replace(leaf, told=" ".join(stop.faults))
    try:
        page_data = cache.page_data(view)
        leaf = dataclasses.replace(leaf, facts=_facts(page_data, view))
        if view.guess:
            return dataclasses.replace(leaf, told=GUESS)
        return _drawn(leaf, page_data)
    except ValueError as fault:
        return dataclasses.replace(leaf, told=str(fault))


def _drawn(leaf: Leaf, page_data: PageData) -> Leaf:
    """With the components of its page, as a file of it has them; where that would show something else, without."""
    if leaf.name not in take.names():
        return dataclasses.replace(leaf, told=NO_PICTURE)
    taken = take.taken_of(take.page_of(leaf.name, page_data.analysis.task))
    view = page_data.view.within(len(page_data.analysis.trace.places))
    page_data = dataclasses.replace(page_data, view=view)
    looked = taken.look(page_data)
    if any(getattr(looked, name) != getattr(view, name) for name in OF_A_PAGE):
        return dataclasses.replace(leaf, told=NO_PICTURE)
    page_data = dataclasses.replace(page_data, view=looked)
    parts = taken.parts(page_data, taken.compute(page_data), looked, "light")
    return dataclasses.replace(leaf, parts=parts, rounded=taken.rounded)


def _facts(page_data: PageData, view: View) -> tuple[str, ...]:
    """The sentence and what became of it, where it is not to be guessed; what else is not the usual."""
    analysis, request = page_data.analysis, page_data.request
    said = analysis.translation.strip() if analysis.trace.outputs is not None and not view.guess else ""
    facts = [" ".join(filter(None, (request.source.strip(), request.second))) + (f" → {said}" if said else "")]
    if view.checkpoint != View.checkpoint:
        facts.append(f"Checkpoint {uploads.shown(analysis.checkpoint)}")
    if request.intervention:
        facts.append("; ".join(text for _, text in request.intervention.parts(analysis.labels)))
    return tuple(facts)
