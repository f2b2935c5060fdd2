"""The widgets of the What if page beside its list of edits.

The edits of the page What if: their list with its history, and the editor in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.edits import edit, switches
from model.edits.kinds import KINDS, EditError, Place
from model.inference.predictions import kl_divergence
from viz.kit import controls, edit_list, lazy, site_texts
from viz.state import navigation, session
from viz.state.view import View
from viz.what_if import what_if_texts
from viz.what_if.switchboard import NAMES

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.experiments.effects import HeadEffect
    from model.inference.analysis import Analysis
    from model.task import Task

SHOWN = 5


def matrix_picks(view: View, kinds: Sequence[str]) -> None:
    """Whose mask is shown, and how far a click on it reaches."""
    reach = what_if_texts.reach(view)
    with st.container(key="matrix_picks", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.site_title(view.kind, "Who may see whom")
        st.space("stretch")
        if len(kinds) > 1:
            st.segmented_control(
                "Attention",
                kinds,
                required=True,
                format_func=str.capitalize,
                label_visibility="collapsed",
                **session.bind("kind", "kind", view.kind),
            )
        options = [name for name in reach if name != "head" or view.head is not None]
        shown = view.scope if view.scope in options else "layer"
        st.selectbox(
            "A click blocks at",
            options,
            format_func=reach.__getitem__,
            label_visibility="collapsed",
            **session.bind("scope", "scope", shown, text=reach[shown]),
        )
    site_texts.note(
        "Colour is attention weight; rows ask, columns answer. Click a cell to block it, a token to block its row or "
        "column, a head to switch it off.",
        "attention weight",
    )


def head_picks(view: View, loaded: Checkpoint) -> None:
    """Which layer and head the three maps show."""
    with st.container(key="head_picks", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.site_title(view.kind, "Pattern")
        st.space("stretch")
        controls.layer_pick(view, max(loaded.config.encoder_layers, loaded.config.decoder_layers))
        controls.head_pick(view, loaded.config.heads)


def largest_changes_head(analysis: Analysis) -> None:
    """What is ranked below."""
    site_texts.write('<h3 class="lab-label">Largest changes</h3>')
    site_texts.note(
        f"Ablation of each head alone: by how many nats the {_ranked(analysis)} changes.",
        "ablation",
        "head",
        "nats",
        "log-probability",
        "baseline",
    )


def _ranked(analysis: Analysis) -> str:
    if analysis.trace.filled_axis is not None:
        return analysis.score_label
    named = {"target": "tokens"}.get(analysis.scored_tokens, analysis.scored_tokens)
    return f"log-probability of the baseline’s {named}"


def largest_changes(effects: Sequence[HeadEffect]) -> None:
    """The heads that matter most for this sentence; a click switches one off or on."""
    ranked = sorted(effects, key=lambda e: -abs(e.change))
    with st.container(key="ranking"):
        for effect in ranked[:SHOWN]:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.button(
                    head_name(effect),
                    key=f"rank {effect.edit.code}",
                    type="tertiary",
                    on_click=navigation.toggle_edit,
                    args=(effect.edit.code,),
                )
                site_texts.signed(effect.change)
    label = f"All {len(ranked)} heads" if len(ranked) > 1 else "The only head"
    with lazy.popover(label, "all heads", type="tertiary") as is_open:
        if is_open:
            rows = [{"head": head_name(e), "change in nats": round(e.change, 3)} for e in ranked]
            st.dataframe(rows, hide_index=True, width=280, height=320)


def head_name(effect: HeadEffect) -> str:
    kinds = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross"}
    return f"{kinds[effect.site.kind]}, L{effect.site.layer + 1} head {effect.head + 1}"


def mode_picks(view: View, causal: bool, task: Task) -> None:
    """Given target or decode again, and what each of them can tell; a model that writes nothing just reads again."""
    if task.is_classifier:
        site_texts.write('<h2 class="lab-label">Which label it gets</h2>')
        site_texts.note("The text is read again under the edits: what becomes of its label?")
        return
    if not task.has_decoder:
        site_texts.write('<h2 class="lab-label">What it says of each place</h2>')
        site_texts.note("The model reads the sentence again under the edits and scores its tokens.")
        return
    with st.container(key="mode_picks", horizontal=True, vertical_alignment="center"):
        site_texts.write(f'<h2 class="lab-label">{task.output_noun.capitalize()}</h2>', inline=True)
        st.space("stretch")
        controls.modes(view)
    site_texts.note(what_if_texts.mode_note(view, causal))


def largest_step(analysis: Analysis, view: View) -> None:
    """The way to the step at which the edits change the most of what may come next."""
    base = analysis.baseline
    if base is None or analysis.comparable_steps < 2:
        return
    steps = slice(analysis.comparable_steps)
    moved = kl_divergence(base.trace.log_probs[steps], analysis.trace.log_probs[steps])  # [comparable]
    most = max(base.trace.scorable_rows[: len(moved)], key=moved.__getitem__, default=0)  # no end, which nobody asks for
    if most != view.step and moved[most] >= 0.0005:
        at, said = "step" if analysis.task.has_decoder else "place", base.trace.predicted_axis.labels[most]
        label = controls.plain_label(f"Go to {at} {most + 1}, “{said}”: it changes the most")
        st.button(label, key="largest step", type="tertiary", on_click=session.change, kwargs={"step": most})


ALL = "all"


def edit_bar(view: View, analysis: Analysis, loaded: Checkpoint, aside: Sequence[str] = ()) -> None:
    """Every edit in words with a way to take it back; undo, redo, clear; and the editor. `aside` holds the codes of those
    that cannot be made here."""
    parts = view.intervention.codes_and_texts(analysis.labels)
    base = analysis.baseline or analysis
    branched = what_if_texts.branched(base, loaded.target_tokenizer)
    with st.container(key="edit_bar", horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(key="chips", horizontal=True, vertical_alignment="center", gap="small"):
            site_texts.write('<h2 class="lab-label">Edits</h2>', inline=True)
            if not parts and not view.pad and not branched:
                site_texts.label("None yet: click a cell, a token or a head below, or try a question.")
            if branched:
                rest = {"branches": tuple(each for each in view.branches if each != base.branch), "path": ()}
                label = controls.plain_label(f"{branched[:1].upper()}{branched[1:]} ×")
                st.button(label, key="branch chip", help="Take this branch back", on_click=session.change, kwargs=rest)
            edit_list.chips(parts, aside)
            if view.pad:
                pads = f"{view.pad} pad{'s' if view.pad > 1 else ''} after the source ×"
                st.button(pads, key="pad chip", help="Take the padding away", on_click=session.change, kwargs={"pad": 0})
        with lazy.popover("Add edit", "add_edit") as is_open:
            if is_open:
                _editor(analysis, loaded)
        for name in ("undo", "redo"):
            then = session.peek_history(name)
            what, told = what_if_texts.stepped(view, then) if then else ("", None)
            label = f"{name.capitalize()}: {what}" if what else name.capitalize()
            st.button(label, key=name, help=told, disabled=then is None, on_click=session.undo_or_redo, args=(name,))
        st.button("Clear", key="clear", disabled=not (parts or view.pad), on_click=navigation.clear_edits)


# -- the editor in words ----------------------------------------------------------------------------------------------


def _editor(analysis: Analysis, loaded: Checkpoint) -> None:
    offered = {each.name: each for each in (*KINDS.values(), *switches.FORMS)}
    chosen = _chosen("What", list(offered), "kind", lambda name: offered[name].title)
    try:
        code = _answered(offered[chosen].form(bool(loaded.mean_z)), analysis, loaded)
    except EditError as fault:
        site_texts.note(str(fault), warn=True)
        return
    st.button("Add", key="editor add", type="primary", on_click=_add, args=(code,))


def _answered(form: edit.Form, analysis: Analysis, loaded: Checkpoint) -> str:
    """Draws question after question, and returns the code that the answers make."""
    try:
        question = next(form)
        while True:
            question = form.send(_asked_in_words(question, analysis, loaded))
    except StopIteration as end:
        return end.value


def _add(code: str) -> None:
    if all(code != each for each, _ in session.current_view().intervention.codes_and_texts()):
        navigation.toggle_edit(code)


def _asked_in_words(question: edit.Question, analysis: Analysis, loaded: Checkpoint) -> object:
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
    """What is chosen of some options; where a browser sends what none of them is, the first."""
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
    left, right = st.columns(2)
    with left:
        layer = _number("Layer", layers, "layer", with_all=True)
    with right:
        head = _number("Head", config.heads, "head", with_all=True) if layer is not None else None
    return Place(kind, layer, head)


def _there(kind: str, kinds: Sequence[str]) -> str:
    """The kind of attention; EditError where the checkpoint does not have it."""
    if kind not in kinds:
        raise EditError(f"This checkpoint has no {NAMES[kind].lower()}: choose another.")
    return kind


def _token(asked: edit.TokenQuestion, analysis: Analysis) -> int | None:
    """A choice of a token by its number and text; None for what `extra` names."""
    trace = analysis.trace
    _there(asked.kind, trace.kinds)
    site = next(site for site in trace.patterns if site.kind == asked.kind)
    tokens = {"query": trace.queries, "key": trace.keys}[asked.axis](site)
    choices = [*([asked.extra] if asked.extra else []), *range(len(tokens))]
    names = {i: f"{i + 1} {token}" for i, token in enumerate(tokens)}
    chosen = _chosen(asked.label, choices, asked.axis, lambda i: names.get(i, str(i)), asked.default_index)
    return None if chosen == asked.extra else chosen
