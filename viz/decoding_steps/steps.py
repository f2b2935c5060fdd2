"""The timeline, and the candidates of its step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from model.decoding.strategy import Decoding
from model.inference.request import Request
from viz import cache, theme
from viz.decoding_steps import candidates, decoding_controls, timeline
from viz.kit.found_head import linking_head
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.result_cache import cached_figure
from viz.state.view import View


def draw(view: View, context: PageContext, mode: theme.Mode, hall: dict[str, Any] | None = None) -> None:
    """`hall`: what the components are told in lecture mode; None outside of it."""
    head = view.head
    data = timeline_data(context.request, view.device, view.layer, head, mode)
    left, right = places(hall)
    rows = candidate_rows(context.request, view.device, view.controls, data["trace"])
    with left:
        follow = {
            "step": view.step + 1,
            "rows": view.rows,
            "guess": view.guess,
            "reasons": candidates.reasons(rows),
            "hall": hall,
        }
        timeline.timeline(
            data,
            follow,
            on_step=lambda step: session.change(step=step),
            on_rows=lambda rows: session.change(rows=rows),
            on_why=lambda kind, query, key: to_heads(context.request, kind, query, key),
            on_reason=to_the_reason,
            on_again=decoding_controls.draw_again,
        )
    with right:
        told = session.complaint("word")
        candidates.candidates(
            rows,
            {"step": view.step + 1, "guess": view.guess, "fault": told[1] if told else "", "hall": bool(hall)},
            on_branch=lambda step, token: decoding_controls.branch(context, step, token),
            on_word=lambda step, text: decoding_controls.word(context, step, text),
            on_guess=lambda on: session.change(guess=on),
            on_reason=to_the_reason,
        )


def places(hall: dict[str, Any] | None) -> Sequence[DeltaGenerator]:
    """The places of timeline and candidates: beside each other, or, in lecture mode, where their styles put them."""
    with st.container(key="steps", gap=None):
        return [st.container(gap=None), st.container(gap=None)] if hall else st.columns([760, 240], gap="medium")


def to_heads(request: Request, kind: str, query: int, key: int) -> None:
    """To the heads, ranked by how much they link two tokens; the best of them is shown large."""
    find, step = (kind, query, key), {"step": query} if kind != "encoder" else {}
    session.change(find=find, **({"kind": kind} | step | linking_head(request, session.current_view(), find)))
    navigation.go_to("heads")


def to_the_reason(step: int, rival: int) -> None:
    """To what speaks for the token of a step, and what for its rival."""
    session.change(step=step, rival=rival)
    navigation.go_to("why")


@cached_figure
def timeline_data(request: Request, device: str, layer: int, head: int | None, mode: theme.Mode) -> dict[str, Any]:
    """What the timeline needs; layer and head count from 0."""
    analysis = cache.analyse(request, device)
    return timeline.payload(analysis, cache.checkpoint(request.checkpoint, device), layer, head, 0, mode)


@cached_figure
def candidate_rows(request: Request, device: str, sampled: Decoding | None, trace: str) -> dict[str, Any]:
    """What the candidates need; `sampled`: what the controls of sampling would draw by."""
    tokenizer = cache.checkpoint(request.checkpoint, device).target_tokenizer
    return candidates.payload(cache.analyse(request, device), tokenizer, sampled, trace)
