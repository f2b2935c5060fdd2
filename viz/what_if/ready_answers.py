"""The ready experiments: each asked of a sentence that fits it or of the visitor's own, and the way back from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from model.edits.intervention import BASELINE
from model.inference.request import Request
from viz import cache, computations
from viz.kit import controls, site_texts
from viz.state import navigation, session, uploads
from viz.state.view import View, without_edits
from viz.what_if import what_if_texts

if TYPE_CHECKING:
    from model.experiments.ready_questions import Answer, Experiment

OWN = "view before questions"  # session key: the visitor's own view, the sentence that a question has put in its place, and
# the text that the visitor had given, empty where none was


def questions(view: View, language: str, kinds: Sequence[str]) -> None:
    """The ready experiments, one click each, that make sense with these kinds of attention; `language` is what the
    checkpoint reads."""
    from model.experiments.ready_questions import EXPERIMENTS

    with st.container(key="questions", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.write('<b class="lab-label">Try</b>', inline=True)
        for known in EXPERIMENTS:
            if not set(known.needs) <= set(kinds):
                continue
            sentence = known.sentence_in(language)
            st.button(
                known.question,
                key=f"try {known.name}",
                type="primary" if known.name == view.experiment else "tertiary",
                help=f"Asked of “{sentence}”" if sentence else None,
                on_click=run,
                args=(known, view, sentence),
            )


def answer(view: View) -> None:
    """The question that was asked last and its measured answer; its other sentence, the visitor's own, and the way back."""
    from model.experiments.ready_questions import EXPERIMENTS

    known, own = next((known for known in EXPERIMENTS if known.name == view.experiment), None), _own(view)
    if view.experiment is not None:
        found = computations.answer(view.experiment, asked(view), view.device)
        what_if_texts.measured(known.question, found.text, swapped(view, own))
    with st.container(key="asked", horizontal=True, vertical_alignment="center", gap="small"):
        if known is not None and found.counterpart is not None:
            there = found.counterpart if found.counterpart.source != view.source else found.request
            label = controls.plain_label(f"The same for “{there.source}”")
            st.button(label, key="also", type="tertiary", on_click=show, args=(there, known.name))
        if known is not None and not is_shown(view, found):
            there = found.request
            label = (
                f"See it below: {uploads.display_name(there.checkpoint)}, given that translation"
                if there.target
                else "Make these edits"
            )
            st.button(
                controls.plain_label(label), key="see it", type="tertiary", on_click=show, args=(there, known.name, view)
            )
        if own is None:
            return
        whose = "the" if _is_linked(view) else "your"  # who opens a link need not be who has typed
        if known is not None and own.source != view.source:
            typed = " that was typed" if whose == "the" else ""
            label = controls.plain_label(f"Ask it of {whose} sentence{typed}, “{_short(own)}”")
            st.button(label, key="ask own", type="tertiary", on_click=run, args=(known, own, None))
        yours = "sentence" if own.source != view.source else "checkpoint"
        back = "the sentence that was typed" if whose == "the" else f"your {yours}"
        st.button(f"Back to {back}", key="back to own", on_click=_back, args=(own,))


def is_shown(view: View, found: Answer) -> bool:
    """Whether the page shows what the answer speaks of; not where a link has asked the question of a view as it is."""
    now = view.request()
    names = ("source", "checkpoint", "target", "pad", "mode", "intervention")
    return any(
        all(getattr(now, name) == getattr(each, name) for name in names)
        for each in (found.request, found.counterpart)
        if each
    )


def swapped(view: View, own: View | None) -> str:
    """What a question has put in the place of the visitor's own checkpoint and sentence, in one line; or empty."""
    if own is None:
        return ""
    uses = [f"the checkpoint {uploads.display_name(view.checkpoint)}"] * (view.checkpoint != own.checkpoint)
    uses += [f"the sentence “{_short(view)}”"] * (view.source != own.source)
    if _is_linked(view):
        return f"This question uses {' and '.join(uses)}; the sentence that was typed comes back afterwards."
    return f"This question uses {' and '.join(uses)}; {'yours come' if len(uses) > 1 else 'yours comes'} back afterwards."


def run(known: Experiment, view: View, sentence: str | None) -> None:
    """Asks an experiment's question of a sentence, or of the view's own, and shows its request; what cannot be asked is
    told."""
    try:
        found = computations.answer(known.name, asked(view, sentence), view.device)
    except ValueError as fault:
        session.show_message(str(fault))
        return
    show(found.request, known.name, view if sentence is None else None)


def show(request: Request, name: str, whose: View | None = None) -> None:
    """Makes the view that of an experiment, and keeps the visitor's own for the way back."""
    now, kept = session.current_view(), session.get(OWN)
    if (own := _own(now)) is not None:
        typed = now.own_text
    elif _is_own(now):
        own, _, typed = kept
    else:
        own, typed = now, "" if session.is_default_text() else now.source
    session.put(OWN, (own, request.source, typed))
    navigation.show_request(request, name, whose, typed)


def _own(view: View) -> View | None:
    """The visitor's own view, where a question has put another sentence or checkpoint in the place of its own. Whoever comes
    by a link has the text of it alone."""
    if _is_linked(view):
        return _of_link(view)
    own, sentence, _ = session.get(OWN) or (None, None, "")
    if own is None or (view.source != sentence and not _is_kept(view)):
        return None
    elsewhere = view.experiment is not None and view.checkpoint != own.checkpoint
    return own if view.source != own.source or elsewhere else None


def _is_linked(view: View) -> bool:
    """Whether the sentence in whose place another stands is known from a link alone."""
    return view.own_text not in ("", view.source) and not _is_kept(view)


def _is_kept(view: View) -> bool:
    """Whether what the visitor typed is what was kept, whichever question has put another sentence in its place."""
    *_, typed = session.get(OWN) or ("",)
    return view.own_text != "" and view.own_text == typed


def _of_link(view: View) -> View:
    """The visitor's own view, of which a link has kept the text."""
    plain = {"second": "", "target": None, "pad": 0, "mode": View.mode, "step": View.step, "experiment": None}
    return dataclasses.replace(view, intervention=BASELINE, source=view.own_text, own_text="", **plain)


def _is_own(view: View) -> bool:
    """Whether a question is asked of the visitor's own sentence: then what was there before it is kept already."""
    own, *_ = session.get(OWN) or (None,)
    return own is not None and view.experiment is not None and view.source == own.source


def _back(own: View) -> None:
    session.change(**session.fields_to_restore(own))


def asked(view: View, sentence: str | None = None) -> Request:
    """What an experiment is asked of: a sentence alone, or the view's, with the model's own translation."""
    request = dataclasses.replace(cache.fit_request(without_edits(view.request()), view.device)[0], target=None)
    if sentence is None:
        return request
    return dataclasses.replace(request, source=sentence, second="", other_sentences=(), branches=(), path=(), pad=0)


def _short(view: View) -> str:
    chosen = view.sentences[min(view.sentence, len(view.sentences) - 1)] if view.sentences else view.source.strip()
    return what_if_texts.cut(chosen)
