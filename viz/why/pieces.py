"""The part of a sum that is chosen: what it wrote, what switching it off does, and the ways to where it is at home."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.edits.kinds import EditError
from model.readings.logits.direct_logits import DirectLogits, Writer
from model.trace import Site, Trace
from viz import cache, pages
from viz.kit import site_texts
from viz.state import navigation, session
from viz.state.values import MAX_WORD
from viz.state.view import View
from viz.why import chosen_tokens, logit_sum, why_texts

if TYPE_CHECKING:
    from model.inference.request import Request
    from viz.page_context import PageContext
    from viz.why.logit_sum import Way

OFF = {"head": "Switch it off", "feed-forward": "Skip it", "position": "Take the positions away"}
IS_OFF = {"head": "Switched off", "feed-forward": "Skipped", "position": "Positions taken away"}


def chosen(view: View, found: DirectLogits) -> Writer | None:
    """The writer that the view looks at, where this sum has it."""
    site = Site(view.kind, view.layer)  # type: ignore[arg-type]
    wanted = {
        "head": Writer("head", site, -1 if view.head is None else view.head),
        "ff": Writer("feed-forward", layer=view.layer),
        "token": Writer("token"),
        "position": Writer("position"),
    }.get(view.piece)
    return wanted if wanted in found.writers else None


def choose_head(kind: str, layer: int, head: int) -> None:
    """A head; called from callbacks."""
    session.change(piece="head", kind=kind, layer=layer, head=head, key=None)


def choose_piece(piece: str, layer: int) -> None:
    """Another piece of the view, in a layer where it has one; called from callbacks."""
    session.change(piece=piece, **({"layer": layer} if piece == "ff" else {}))


def choose_step(step: int) -> None:
    """A step; called from callbacks."""
    session.change(step=step)


def draw(context: PageContext, found: DirectLogits, writer: Writer, pair: tuple[str, str]) -> None:
    """What the sum says of the part, what becomes of the difference without it, and where it can be looked at."""
    trace, code = context.analysis.trace, code_of(writer, context.analysis.trace)
    value = dict(zip(found.writers, map(float, found.values), strict=True))[writer]
    name = logit_sum.name(writer, logit_sum.read(found, trace))
    if writer.kind == "head":
        assert writer.site is not None and writer.head is not None
        text = why_texts.head_told(found, trace, writer.site, writer.head, pair)
    else:
        text = why_texts.part_told(name, value, pair)
    after = without(context, (code,), found) if code else None
    if after is not None:
        off = IS_OFF[writer.kind]
        how = off if writer.kind == "position" else f"{site_texts.begin(name)} {off.lower()}"
        text = why_texts.describe_removal(how, text, value, found.difference, after)
    site_texts.note(text)
    with st.container(key="why_ways", horizontal=True, gap="small"):
        for label, key, act, args in _ways(context, found, writer, code):
            st.button(label, key=key, type="tertiary", on_click=act, args=args)


def draw_way(context: PageContext, found: DirectLogits, way: Way, pair: tuple[str, str]) -> None:
    """What came by way of a token, what becomes of the difference where nobody may look at it, and the ways to try it."""
    after = without(context, way.codes, found)
    site_texts.note(why_texts.describe_way(way, found.difference, after, pair))
    with st.container(key="why_ways", horizontal=True, gap="small"):
        if after is not None:
            st.button("Hide it in What if", key="why hide", type="tertiary", on_click=_hide, args=(way.codes,))
        if way.piece == "source":
            judges = context.analysis.task.is_classifier
            st.button("Test all words", key="why words", type="tertiary", on_click=_to_words, args=(judges,))


def _to_words(judges: bool) -> None:
    """To the readings of all words, which a classifier has on its first page."""
    if judges:
        navigation.go_to(pages.PAGES[0].name)
    else:
        session.change(why="readings")


def _hide(codes: tuple[str, ...]) -> None:
    for code in codes:
        navigation.toggle_edit(code)
    navigation.go_to("what-if")


def code_of(writer: Writer, trace: Trace) -> str:
    """The edit that takes a part away; empty where there is none."""
    stack, side = ("enc", "source") if trace.outputs is None else ("dec", "target")
    if writer.kind == "head":
        assert writer.site is not None and writer.head is not None
        return f"off_{writer.site.spec.code}.{writer.site.layer + 1}.{writer.head + 1}"
    if writer.kind == "feed-forward":
        assert writer.layer is not None
        return f"skip_{stack}.{writer.layer + 1}.ff"
    return f"{side}-positions_off" if writer.kind == "position" else ""


def _ways(
    context: PageContext, found: DirectLogits, writer: Writer, code: str
) -> list[tuple[str, str, Callable[..., None], tuple[Any, ...]]]:
    """Label, key, callback and its arguments of each way."""
    read = logit_sum.read(found, context.analysis.trace)
    word = read if read.isalpha() and len(read) <= MAX_WORD else ""  # `<s>` and its like are no word to look up
    asks = {"token": found.step} if chosen_tokens.fills_in(context) else {}  # who asks in an encoder
    ways: dict[str, list[tuple[str, str, Callable[..., None], tuple[Any, ...]]]] = {
        "head": [
            ("See its map", "why heads", navigation.go_to, ("heads",)),
            ("Why does it look there?", "why there", _to_inside, ({"part": "writers", "key": None} | asks,)),
            ("Unfold it", "why inside", _to_inside, ({"part": "stages"} | asks,)),
        ],
        "feed-forward": [("What the layers say", "why inside", _to_inside, ({"part": "lens"},))],
        "token": [("Its neighbours", "why inside", _to_inside, ({"part": "embeddings", "near": word},))],
        "position": [("How positions are made", "why positions", navigation.go_to, ("positions",))],
    }
    if not read:
        ways["token"] = []
    off = [(OFF[writer.kind], "why off", _switch, (code,))] if code else []
    return [*ways[writer.kind], *off]


def without(context: PageContext, codes: tuple[str, ...], found: DirectLogits) -> float | None:
    """The difference under these edits as well, over the same target; None where the target would be another one, where one
    of them is made already, and where the edits that are made have no place for it."""
    request: Request = context.request
    if request.mode == "again" and request.intervention:
        return None
    after = request.intervention
    try:
        for code in codes:
            if any(code == each for each, _ in after.codes_and_texts()) or after.covering_text(code):
                return None
            after = after.with_edit(code)
        edited = dataclasses.replace(request, intervention=after, mode="given")
    except EditError:
        return None
    row = cache.analyse(edited, context.view.device).trace.log_probs[found.step]
    return float(row[found.token] - row[found.rival])


def _to_inside(wanted: dict[str, Any]) -> None:
    session.change(**wanted)
    navigation.go_to("inside")


def _switch(code: str) -> None:
    navigation.toggle_edit(code)
    navigation.go_to("what-if")
