"""The controls of the page What if: choices, list of edits with the history, editor in words, and lecture mode."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.edits import edit, intervention
from model.edits.kinds import KINDS, EditError, Place
from model.trace import SITE_KINDS
from viz import theme
from viz.classroom import lecture
from viz.kit import button_groups, controls, site_texts
from viz.kit.button_groups import Button, ButtonGroup
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.session_data import data, store_from_event
from viz.state.view import SCOPES, View
from viz.what_if import ready_answers, what_if_texts

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.experiments.ready_questions import Answer, Experiment
    from model.inference.analysis import Analysis

ALL = "all"
NAMES = {kind: of.name[:1].upper() + of.name[1:] for kind, of in SITE_KINDS.items()}


def scope_of(view: View) -> str:
    """Returns the scope of a click on the mask; without a head it is at least the layer."""
    return "layer" if view.scope == "head" and view.head is None else view.scope


def options(context: PageContext) -> ButtonGroup:
    """Returns the choices of mode, layer, head and scope of a click, behind one button."""
    view, config, has_decoder = context.view, context.loaded.config, context.analysis.task.has_decoder
    scopes = {name: text for name, text in what_if_texts.scopes(view).items() if name != "head" or view.head is not None}
    heads = {None: "mean", **{head: str(head + 1) for head in range(config.heads)}}
    layers = {layer: str(layer + 1) for layer in range(context.layers)}
    groups = [
        *([dataclasses.replace(controls.mode_choice(view), is_label_hidden=False)] if has_decoder else []),
        button_groups.choice("Layer", "layer", layers, view.layer, is_label_hidden=False),
        button_groups.choice("Head", "head", heads, view.head, is_label_hidden=False),
        button_groups.choice("Click blocks", "scope", scopes, scope_of(view), "list", is_label_hidden=False),
    ]
    label = f"Options: {'mode, ' if has_decoder else ''}layer, head"
    return ButtonGroup(label, {}, "options", follows=True, groups=groups)


def edits(context: PageContext) -> list[ButtonGroup]:
    """Returns a button for each edit that removes it, the editor, questions, options, undo, redo and clear."""
    view, analysis = context.view, context.analysis
    aside = [code for code, _ in context.skipped_edits]
    buttons = button_groups.buttons(view.intervention.codes_and_texts(analysis.labels), aside)
    base = analysis.baseline or analysis
    if branched := what_if_texts.branched(base, context.loaded.target_tokenizer):
        rest = {"branches": tuple(each for each in view.branches if each != base.branch), "path": ()}
        buttons = {"branch chip": button_groups.remove_button(branched, partial(session.change, **rest)), **buttons}
    if view.pad:
        buttons["pad chip"] = button_groups.remove_button(
            button_groups.describe_padding(view.pad), partial(session.change, pad=0)
        )
    note = "" if buttons else "Click a head, a layer, a token or a cell to switch it off."
    is_open, history = data().is_edit_list_open, {}
    for name in ("undo", "redo"):
        then = session.peek_history(name)
        what, title = what_if_texts.stepped(view, then) if then else ("", "")
        label = f"{name.capitalize()}: {what}" if what else name.capitalize()
        history[name] = Button(label, partial(session.undo_or_redo, name), title, is_disabled=then is None)
    toggle = Button("Add edit", partial(store_from_event, data(), is_edit_list_open=not is_open), is_on=is_open)
    clear = button_groups.clear_button(is_disabled=not (view.intervention or view.pad))
    return [
        ButtonGroup("Edits", buttons, note=note),
        ButtonGroup("Add", {"add_edit": toggle}, "links", is_label_hidden=True, follows=True),
        ready_answers.questions(view, context.loaded.languages[0], context.loaded.config.kinds),
        options(context),
        ButtonGroup("History", {**clear, **history}, "history", is_label_hidden=True, follows=True),
    ]


# -- the editor in words ----------------------------------------------------------------------------------------------


def draw_editor(analysis: Analysis, loaded: Checkpoint) -> None:
    """Draws the questions about a new edit in a row, if the editor is open."""
    if data().is_edit_list_open:
        with st.container(key="editor", horizontal=True, vertical_alignment="bottom", gap="small", border=True):
            _editor(analysis, loaded)


def _editor(analysis: Analysis, loaded: Checkpoint) -> None:
    offered = {each.name: each for each in (*KINDS.values(), *intervention.FORMS)}
    chosen = _chosen("What", list(offered), "kind", lambda name: offered[name].title)
    try:
        code = _read_answers(offered[chosen].form(bool(loaded.mean_z)), analysis, loaded)
    except EditError as fault:
        site_texts.note(str(fault), warn=True)
        return
    st.button("Add", key="editor add", type="primary", on_click=_add, args=(code,))


def _read_answers(form: edit.Form, analysis: Analysis, loaded: Checkpoint) -> str:
    """Draws question after question, and returns the code that the answers make."""
    try:
        question = next(form)
        while True:
            question = form.send(_ask(question, analysis, loaded))
    except StopIteration as end:
        return end.value


def _add(code: str) -> None:
    if all(code != each for each, _ in session.current_view().intervention.codes_and_texts()):
        navigation.toggle_edit(code)


def _ask(question: edit.Question, analysis: Analysis, loaded: Checkpoint) -> object:
    """Draws a question, and returns what is answered now."""
    match question:
        case edit.HeadsQuestion():
            return _place(loaded)
        case edit.TokenQuestion():
            return _token(question, analysis)
        case edit.LayerQuestion(key, kind):
            return _number("Layer", loaded.config.layers[_there(kind, loaded.config.kinds)], key)
        case edit.TextQuestion(key, label, value):
            return st.text_input(label, value, key=f"editor {key}", on_change=session.mark_user_event)
        case edit.NumberQuestion(key, label, low, high, value):
            return int(st.number_input(label, low, high, value, key=f"editor {key}", on_change=session.mark_user_event))
        case edit.NameQuestion(key, label, options, note):
            chosen = _chosen(label, list(options), key, options.__getitem__)
            if note:
                site_texts.note(note)
            return chosen
    raise ValueError(f"the editor was given {question!r}; expected one of the questions of model.edits.edit")


def _chosen(label: str, options: list, key: str, shown: Callable[[Any], str] = str, first: int = 0) -> Any:
    """Returns the chosen option; the first if a browser sends another value."""
    chosen = st.selectbox(label, options, first, format_func=shown, key=f"editor {key}", on_change=session.mark_user_event)
    return chosen if chosen in options else options[first]


def _number(label: str, options: int, key: str, with_all: bool = False) -> int | None:
    """A choice of 1 to `options`, from 0; None for all."""
    choices = [*([ALL] if with_all else []), *range(1, options + 1)]
    chosen = _chosen(label, choices, key)
    return None if chosen == ALL else chosen - 1


def _place(loaded: Checkpoint) -> Place:
    config = loaded.config
    kind = _chosen("Attention", list(config.kinds), "site", NAMES.__getitem__)
    layers = config.layers[kind]
    layer = _number("Layer", layers, "layer", with_all=True)
    head = _number("Head", config.heads, "head", with_all=True) if layer is not None else None
    return Place(kind, layer, head)


def _there(kind: str, kinds: Sequence[str]) -> str:
    """The kind of attention; EditError where the checkpoint does not have it."""
    if kind not in kinds:
        raise EditError(f"This checkpoint has no {NAMES[kind].lower()}: choose another.")
    return kind


def _token(question: edit.TokenQuestion, analysis: Analysis) -> int | None:
    """A choice of a token by its number and text; None for what `extra` names."""
    trace = analysis.trace
    _there(question.kind, trace.kinds)
    site = next(site for site in trace.patterns if site.kind == question.kind)
    tokens = {"query": trace.queries, "key": trace.keys}[question.axis](site)
    choices = [*([question.extra] if question.extra else []), *range(len(tokens))]
    names = {i: f"{i + 1} {token}" for i, token in enumerate(tokens)}
    chosen = _chosen(question.label, choices, question.axis, lambda i: names.get(i, str(i)), question.default_index)
    return None if chosen == question.extra else chosen


SWITCHES = 3  # the number of the picture whose clicks have a scope


def answer_of(context: PageContext) -> Answer | None:
    """Returns the measured answer to the question of the view; None without one."""
    try:
        return ready_answers.measure(context.view)
    except ValueError:
        return None


def verdict(context: PageContext, result: Any) -> str:
    """Returns the effect of the edits as markup."""
    return f'<div class="lab-hall-words">{site_texts.verdict_line(context.analysis)}</div>'


def draw(context: PageContext) -> None:
    """Draws the choice of the mode, and the button that shows the edits of an answer or its counterpart; adds the keys."""
    _add_keys(context)
    groups, answer = [], answer_of(context)
    if context.analysis.task.has_decoder:
        groups.append(controls.mode_choice(context.view))
    if answer is not None:
        buttons = ready_answers.buttons_of_answer(context.view, answer)
        groups.append(ButtonGroup("Answer", buttons, is_label_hidden=True, follows=True))
    if groups:
        button_groups.draw("what_if.bar", groups)


def _add_keys(context: PageContext) -> None:
    from model.experiments.ready_questions import EXPERIMENTS  # imports torch

    view, loaded, kinds = context.view, context.loaded, context.analysis.trace.kinds
    language, answer = loaded.languages[0], answer_of(context)
    if ready := [each for each in EXPERIMENTS if set(each.needs) <= set(kinds)]:
        following, earlier = (partial(_try, ready, language, by) for by in (1, -1))
        lecture.add_key(lecture.EXPERIMENT, "the next ready experiment", following, quiet=True)
        lecture.add_key(lecture.EARLIER, "the one before it", earlier, quiet=True)
    for button in (ready_answers.buttons_of_answer(view, answer) if answer else {}).values():
        lecture.add_key(lecture.ANSWER, button.title, button.press, quiet=True)
    if "decoder" in kinds:
        other = partial(session.change, mode="again" if view.mode == "given" else "given")
        lecture.add_key(lecture.MODE, "given target, or decode again", other, quiet=True)
    if view.large == SWITCHES:
        lecture.add_key(lecture.REACH, "scope of a click: all layers, one layer, one head", _next_scope, quiet=True)
    if len(kinds) > 1:
        names = ", ".join(theme.SITE_NAMES[kind].lower() for kind in kinds)
        lecture.add_key(lecture.KIND, f"the attention: {names}", partial(_next_kind, kinds), quiet=True)


def help_text() -> str:
    """Returns the first steps, by the keys that every run has."""
    return (
        f"{lecture.EXPERIMENT.key} tries the next ready experiment, {lecture.HEAD_OFF.key} switches the shown head off, "
        f"{lecture.CAUSAL.key} and {lecture.PADDING.key} switch the masks, "
        f"{lecture.PICTURE.key} shows the maps and the switches."
    )


def _next_kind(kinds: Sequence[str]) -> None:
    """Shows the next kind of attention. For callbacks."""
    session.change(kind=kinds[(kinds.index(session.current_view().kind) + 1) % len(kinds)])


def _next_scope() -> None:
    """Chooses the next scope of a click. For callbacks."""
    view = session.current_view()
    names = [name for name in SCOPES if name != "head" or view.head is not None]
    session.change(scope=names[(names.index(scope_of(view)) + 1) % len(names)])


def _try(ready: list[Experiment], language: str, by: int) -> None:
    """Asks the next or previous question about its own sentence, and makes its edits. For callbacks."""
    view: View = session.current_view()
    names = [each.name for each in ready]
    number = names.index(view.experiment) + by if view.experiment in names else min(by, 0)
    known = ready[number % len(ready)]
    ready_answers.run(known, view, known.sentence_in(language))
