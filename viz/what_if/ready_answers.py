"""The ready experiments: each asked of a sentence that fits it or of the visitor's own, and the way back from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from model.edits.intervention import BASELINE
from model.inference.request import Request
from viz import cache, computations
from viz.kit.button_groups import Button, ButtonGroup
from viz.state import navigation, session, uploads
from viz.state.session_data import data
from viz.state.view import View, without_edits
from viz.what_if import what_if_texts

if TYPE_CHECKING:
    from model.experiments.ready_questions import Answer, Experiment


def questions(view: View, language: str, kinds: Sequence[str]) -> ButtonGroup:
    """Returns the menu of the ready experiments that suit these kinds of attention, in the checkpoint's language."""
    from model.experiments.ready_questions import EXPERIMENTS

    buttons = {}
    for known in EXPERIMENTS:
        if set(known.needs) <= set(kinds):
            sentence = known.sentence_in(language)
            title = f"Asked of “{sentence}”" if sentence else ""
            press = partial(run, known, view, sentence)
            buttons[f"try {known.name}"] = Button(known.question, press, title, is_on=known.name == view.experiment)
    return ButtonGroup("Try a question", buttons, "menu", follows=True)


def find(view: View) -> Experiment | None:
    """Returns the ready experiment of a view, or None."""
    from model.experiments.ready_questions import EXPERIMENTS

    return next((known for known in EXPERIMENTS if known.name == view.experiment), None)


def measure(view: View) -> Answer | None:
    """Returns the measured answer of the view's experiment; None without one. Raises ValueError with one sentence."""
    return None if view.experiment is None else computations.answer(view.experiment, request_of(view), view.device)


def answer(view: View) -> ButtonGroup:
    """Returns the measured answer with buttons: its counterpart, its edits, the visitor's own sentence, and the way back.

    Raises ValueError with one sentence.
    """
    known, own, measured = find(view), _own(view), measure(view)
    buttons = {} if measured is None else buttons_of_answer(view, measured)
    if own is not None:
        whose = "the" if _is_linked(view) else "your"  # who opens a link need not be who has typed
        if known is not None and own.source != view.source:
            typed = " that was typed" if whose == "the" else ""
            label = f"Ask it of {whose} sentence{typed}, “{_short(own)}”"
            buttons["ask own"] = Button(label, partial(run, known, own, None))
        yours = "sentence" if own.source != view.source else "checkpoint"
        back = "the sentence that was typed" if whose == "the" else f"your {yours}"
        buttons["back to own"] = Button(f"Back to {back}", partial(_back, own))
    if known is None or measured is None:
        return ButtonGroup("Back", buttons, "links", is_label_hidden=True)
    return ButtonGroup(known.question, buttons, "answer", note=" ".join(filter(None, (measured.text, swapped(view, own)))))


def buttons_of_answer(view: View, measured: Answer) -> dict[str, Button]:
    """Returns the button that makes the edits of an answer or, if the page shows them, the one of its counterpart."""
    name = view.experiment or ""
    if not is_shown(view, measured):
        there = measured.request
        text = (
            f"Show it: {uploads.display_name(there.checkpoint)}, given that translation"
            if there.target
            else "Make these edits"
        )
        return {"see it": Button(text, partial(show, there, name, view), "the edits of the answer")}
    if measured.counterpart is None:
        return {}
    there = measured.counterpart if measured.counterpart.source != view.source else measured.request
    text = f"The same for “{what_if_texts.cut(there.source)}”"
    return {"also": Button(text, partial(show, there, name), "the counterpart of the experiment")}


def is_shown(view: View, measured: Answer) -> bool:
    """True if the page shows the request of the answer; a link may ask a question without its edits."""
    now = view.request()
    names = ("source", "checkpoint", "target", "extra_padding", "mode", "intervention")
    return any(
        all(getattr(now, name) == getattr(each, name) for name in names)
        for each in (measured.request, measured.counterpart)
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
    """Asks the question of an experiment about a sentence, or the view's own, and shows its request or a message."""
    try:
        measured = computations.answer(known.name, request_of(view, sentence), view.device)
    except ValueError as fault:
        session.show_message(str(fault))
        return
    show(measured.request, known.name, view if sentence is None else None)


def show(request: Request, name: str, whose: View | None = None) -> None:
    """Makes the view that of an experiment, and keeps the visitor's own for the way back."""
    now, stored = session.current_view(), data().view_before_question
    if (own := _own(now)) is not None:
        typed = now.own_text
    elif _is_own(now):
        own, _, typed = stored
    else:
        own, typed = now, "" if session.is_default_text() else now.source
    data().view_before_question = own, request.source, typed
    navigation.show_request(request, name, whose, typed)


def _own(view: View) -> View | None:
    """The visitor's own view, where a question has put another sentence or checkpoint in the place of its own. Whoever comes
    by a link has the text of it alone."""
    if _is_linked(view):
        return _of_link(view)
    own, sentence, _ = data().view_before_question or (None, None, "")
    if own is None or (view.source != sentence and not _is_kept(view)):
        return None
    elsewhere = view.experiment is not None and view.checkpoint != own.checkpoint
    return own if view.source != own.source or elsewhere else None


def _is_linked(view: View) -> bool:
    """Whether the sentence in whose place another stands is known from a link alone."""
    return view.own_text not in ("", view.source) and not _is_kept(view)


def _is_kept(view: View) -> bool:
    """Whether what the visitor typed is what was kept, whichever question has put another sentence in its place."""
    *_, typed = data().view_before_question or ("",)
    return view.own_text != "" and view.own_text == typed


def _of_link(view: View) -> View:
    """The visitor's own view, of which a link has kept the text."""
    plain = {"second": "", "target": None, "pad": 0, "mode": View.mode, "step": View.step, "experiment": None}
    return dataclasses.replace(view, intervention=BASELINE, source=view.own_text, own_text="", **plain)


def _is_own(view: View) -> bool:
    """Whether a question is asked of the visitor's own sentence: then what was there before it is kept already."""
    own, *_ = data().view_before_question or (None,)
    return own is not None and view.experiment is not None and view.source == own.source


def _back(own: View) -> None:
    session.change(**session.fields_to_restore(own))


def request_of(view: View, sentence: str | None = None) -> Request:
    """Returns the request of an experiment: a sentence alone, or that of the view, with the model's own translation."""
    request = dataclasses.replace(cache.fit_request(without_edits(view.request()), view.device)[0], target=None)
    if sentence is None:
        return request
    return dataclasses.replace(
        request, source=sentence, second_sentence="", other_sentences=(), branches=(), path=(), extra_padding=0
    )


def _short(view: View) -> str:
    chosen = view.sentences[min(view.sentence, len(view.sentences) - 1)] if view.sentences else view.source.strip()
    return what_if_texts.cut(chosen)
