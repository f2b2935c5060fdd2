"""What if in lecture mode: what was changed, and one picture of what came of it, over the whole page."""

from __future__ import annotations

import html
from collections.abc import Sequence
from functools import partial

import streamlit as st

from model.experiments.ready_questions import EXPERIMENTS, Answer, Experiment
from model.inference.request import Request
from model.trace import Site
from viz import computations, theme
from viz.classroom import lecture
from viz.kit import controls, file_maps, sides, site_texts
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.view import SCOPES, View
from viz.what_if import ready_answers, switchboard, what_if_parts, what_if_texts

LARGE = ("Words", "Maps", "Switches")  # the pictures, from 1
MOST = 5  # edits that are told
UNCHANGED = "Nothing is changed"


def draw(context: PageContext) -> None:
    """One picture, and its keys."""
    view, analysis = context.view, context.analysis
    large = lecture.picture(view, len(LARGE))
    with context.places.bar:
        _bar(view, large, analysis.task.has_decoder)
    with context.places.notes:
        site_texts.sentence_notes(
            [note for note in analysis.notes if note not in analysis.warning_sentences], context.faults
        )
    with context.places.body:
        answer = _answer(view)
        _keys(context, large, answer)
        (_words, _maps, _switches)[large - 1](context, answer)


def _bar(view: View, large: int, writes: bool) -> None:
    lecture.picture_buttons(LARGE, large)
    if writes:
        controls.modes(view)


def _answer(view: View) -> Answer | None:
    """What was measured of the question that is asked; what cannot be asked is told."""
    if view.experiment is None:
        return None
    try:
        return computations.answer(view.experiment, ready_answers.asked(view), view.device)
    except ValueError as fault:
        site_texts.fault(str(fault))
        return None


# -- the pictures -----------------------------------------------------------------------------------------------------


def _words(context: PageContext, answer: Answer | None) -> None:
    """Left what was changed and both translations, right the probability of every token before and after."""
    view, analysis, loaded = context.view, context.analysis, context.loaded
    with st.container(key="hall_words"):
        left, right = st.columns([46, 54], gap="medium")
    with left, st.container(key="hall_told", gap="small"):
        known = next((each for each in EXPERIMENTS if each.name == view.experiment), None)
        if known is not None and answer is not None:
            site_texts.write(f'<h2 class="lab-hall-question">{html.escape(known.question)}</h2>')
        _changes(context)
        if analysis.baseline is not None:
            given = view.mode == "given" and analysis.task.has_decoder
            site_texts.both_translations(analysis, loaded, same_target=given, where="on the right")
        elif analysis.task.has_decoder:
            what_if_texts.translation(analysis.translation, loaded.languages[1])
        if analysis.baseline is not None:
            site_texts.verdict(analysis)
        if answer is not None:
            site_texts.write(f'<p class="lab-hall-answer" role="status">{html.escape(answer.text)}</p>')
            _ways(view, answer)
        elif analysis.baseline is None:
            site_texts.write(f'<p class="lab-hall-answer">{help_text()}</p>')
    with right:
        file_maps.mount_change_in_lecture(file_maps.change_data(analysis, view.step), "hall change")


def _ways(view: View, answer: Answer) -> None:
    """To what the answer speaks of, and to its counterpart: as the key does."""
    with st.container(key="hall_ways", horizontal=True, gap="small"):
        if not ready_answers.is_shown(view, answer):
            st.button(
                "Make these edits",
                key="hall edits",
                on_click=ready_answers.show,
                args=(answer.request, view.experiment, view),
            )
        elif (there := _counterpart(view, answer)) is not None:
            label = controls.plain_label(f"The same for “{what_if_texts.cut(there.source, 30)}”")
            st.button(label, key="hall also", on_click=ready_answers.show, args=(there, view.experiment))


def _counterpart(view: View, answer: Answer) -> Request | None:
    """The other request of an experiment that has two."""
    if answer.counterpart is None:
        return None
    return answer.counterpart if answer.counterpart.source != view.source else answer.request


def _changes(context: PageContext) -> None:
    """Lists what was changed, in words."""
    changes = _described(context)
    more = [f"And {len(changes) - MOST} more"] if len(changes) > MOST else []
    lines = "".join(f"<li>{html.escape(each)}</li>" for each in [*changes[:MOST], *more])
    site_texts.write(f'<ul class="lab-hall-changes">{lines or f"<li>{UNCHANGED}</li>"}</ul>')


def _described(context: PageContext) -> list[str]:
    """Describes each edit, the padding and the forced token."""
    view, analysis = context.view, context.analysis
    changes = [text for _, text in view.intervention.codes_and_texts(analysis.labels)]
    if view.pad:
        changes.append(f"{view.pad} pad{'s' if view.pad > 1 else ''} after the source")
    base = analysis.baseline or analysis
    if branched := what_if_texts.branched(base, context.loaded.target_tokenizer):
        changes.insert(0, branched)
    return [each[:1].upper() + each[1:] for each in changes]


def _maps(context: PageContext, answer: Answer | None) -> None:
    """The map of one head before the edits and after them."""
    view, analysis = context.view, context.analysis
    site, head = Site(view.kind, view.layer), view.head  # type: ignore[arg-type]
    _line(context)
    if site not in analysis.trace.patterns:
        site_texts.note(f"This checkpoint has no layer {view.layer + 1} here.")
        return
    which = "mean of the heads" if head is None else f"head {head + 1}"
    name = f"{theme.SITE_NAMES[site.kind]}, layer {site.layer + 1}, {which}"
    seen = {"before": analysis.baseline, "after": analysis} if analysis.baseline else {"": analysis}
    maps = [
        file_maps.one(
            f"{what_if_texts.MAP_NAMES[when]}: {name}" if when else name,
            sides.label_map(each.trace.view(site, head), each.trace, site),
            site.kind,
        )
        for when, each in seen.items()
        if each is not None
    ]
    file_maps.mount_in_lecture(file_maps.map_data(maps, view.step, context.mode, alike=True), "hall maps")


def _switches(context: PageContext, answer: Answer | None) -> None:
    """Who may see whom, and every head of that attention as a switch."""
    _line(context)
    board, progress = st.container(key="board"), st.empty()
    view, analysis = context.view, context.analysis
    with board:
        costs = what_if_parts.costs(context, progress)
        if any(view.place.covers_layer(*site) for site in analysis.trace.patterns):
            data = what_if_parts.board(analysis.request, view.device, view.place, context.mode, costs)
            name = switchboard.NAMES[view.kind]
            title = f"{name}, {what_if_texts.reach(view)[_reach(view)]}: who may see whom"
            own = [grid for grid in data["grids"] if grid["name"] == name]
            switchboard.switchboard(
                data, navigation.toggle_edit, "hall board", {"grids": own, "large": True, "title": title}
            )
        else:
            site_texts.note(f"This checkpoint has no layer {view.layer + 1} here.")


def _line(context: PageContext) -> None:
    """What was changed and what came of it, in one line."""
    said = "; ".join(_described(context)) or UNCHANGED
    with st.container(key="hall_line", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.write(f'<p class="lab-hall-line">{html.escape(said)}</p>')
        if context.analysis.baseline is not None:
            site_texts.write(site_texts.verdict_line(context.analysis), inline=True)


# -- the keys ---------------------------------------------------------------------------------------------------------


def _keys(context: PageContext, large: int, answer: Answer | None) -> None:
    view, loaded, kinds = context.view, context.loaded, context.analysis.trace.kinds
    language = loaded.languages[0]
    lecture.add_key(
        lecture.PICTURE,
        f"the picture: {', '.join(name.lower() for name in LARGE)}",
        lambda: lecture.next_picture(len(LARGE)),
        quiet=True,
    )
    if ready := [each for each in EXPERIMENTS if set(each.needs) <= set(kinds)]:
        lecture.add_key(
            lecture.EXPERIMENT,
            "the next ready experiment",
            lambda: _try(session.current_view(), ready, language, 1),
            quiet=True,
        )
        lecture.add_key(
            lecture.EARLIER, "the one before it", lambda: _try(session.current_view(), ready, language, -1), quiet=True
        )
    if answer is not None and view.experiment is not None:
        name = view.experiment
        if not ready_answers.is_shown(view, answer):
            speaks = partial(ready_answers.show, answer.request, name, view)
            lecture.add_key(lecture.ANSWER, "what the answer speaks of", speaks, quiet=True)
        elif (there := _counterpart(view, answer)) is not None:
            lecture.add_key(
                lecture.ANSWER, "the counterpart of the experiment", lambda: ready_answers.show(there, name), quiet=True
            )
    if "decoder" in kinds:
        if loaded.config.causal or not view.intervention.causal_mask:  # else there is none to switch
            lecture.add_key(
                lecture.CAUSAL, "the causal mask on and off", partial(navigation.toggle_mask, "causal_mask"), quiet=True
            )
        other = partial(session.change, mode=_other(view.mode))
        lecture.add_key(lecture.MODE, "given target, or decode again", other, quiet=True)
    lecture.add_key(
        lecture.PADDING, "the padding mask on and off", partial(navigation.toggle_mask, "padding_mask"), quiet=True
    )
    if large == len(LARGE):
        lecture.add_key(
            lecture.REACH,
            "how far a click reaches: all layers, one, one head",
            lambda: session.change(scope=_next_reach(session.current_view())),
            quiet=True,
        )
    if len(kinds) > 1:
        names = ", ".join(theme.SITE_NAMES[kind].lower() for kind in kinds)
        lecture.add_key(lecture.KIND, f"the attention: {names}", partial(_next_kind, kinds), quiet=True)


def help_text() -> str:
    """What to do first, by the keys that this run has."""
    masks = [letter.key for letter in (lecture.CAUSAL, lecture.PADDING) if lecture.has_key(letter)]
    told = [
        f"{lecture.EXPERIMENT.key} tries the next ready experiment" * lecture.has_key(lecture.EXPERIMENT),
        f"{' and '.join(masks)} switch the masks" if len(masks) > 1 else f"{masks[0]} switches the padding mask",
        f"{lecture.PICTURE.key} turns to the maps and the switches",
    ]
    return ", ".join(filter(None, told)) + "."


def _next_kind(kinds: Sequence[str]) -> None:
    """Another kind of attention; called from callbacks."""
    session.change(kind=kinds[(kinds.index(session.current_view().kind) + 1) % len(kinds)])


def _reach(view: View) -> str:
    """What a click on the mask edits; where no head is shown it can be none."""
    return "layer" if view.scope == "head" and view.head is None else view.scope


def _next_reach(view: View) -> str:
    names = [name for name in SCOPES if name != "head" or view.head is not None]
    return names[(names.index(_reach(view)) + 1) % len(names)]


def _other(mode: str) -> str:
    return "again" if mode == "given" else "given"


def _try(view: View, ready: list[Experiment], language: str, by: int) -> None:
    """Asks the next question of its own sentence, in a language that has one, and makes its edits."""
    names = [each.name for each in ready]
    at = names.index(view.experiment) + by if view.experiment in names else min(by, 0)
    known = ready[at % len(ready)]
    ready_answers.run(known, view, known.sentence_in(language))
