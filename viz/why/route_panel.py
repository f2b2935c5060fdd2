"""The route of a choice: both sentences, and between them the links whose cut changes the choice most.

The route belongs to the sentence without edits. A click cuts a link or hides a token on every page, and the second panel
shows what the model writes then.
"""

from __future__ import annotations

import dataclasses
import html
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from model.edits.kinds import BlockCells, Edit, Place
from model.export.csv_tables import Table
from viz import cache, computations
from viz.classroom import lecture
from viz.kit import button_groups, glosses, mount, site_texts
from viz.kit.button_groups import Button, ButtonGroup
from viz.kit.panel import FileOptions, Panel, Picture, where
from viz.page_context import PageContext
from viz.state import session
from viz.state.view import FIRST_SENTENCE
from viz.why import chosen_tokens, route_texts
from viz.why.chosen_tokens import baseline_context
from viz.why.sum_panel import bar, limit_steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from model.edits.intervention import Intervention
    from model.experiments.routes import Route, RouteLink
    from model.export.code import Code
    from model.inference.analysis import Analysis
    from model.trace import AttentionKind, Trace
    from viz.computations import Call
    from viz.kit.mount import Event
    from viz.state.view import View

PART = {"why": "route"}


@dataclass(frozen=True)
class ReadySentence:
    """A sentence with a measured route: what is chosen, the step (from 0), a cut, and the token that the cut makes.

    `grammar` says what the two tokens mean; `looks_at` is the token that the cut hides.
    """

    name: str
    text: str
    step: int
    cut: str
    token: str
    grammar: str
    looks_at: str

    def hint(self, view: View, route: Route, rival: str) -> str:
        """Returns what to try. Empty in a task, for another choice, and if the cut does not turn the choice."""
        from model.experiments.routes import NEAR_TIE

        link = next((link for link in route.links if self.cut in codes_of(link)), None)
        is_shown = (self.text, self.step, self.token) == (view.source, view.step, rival)
        if (
            view.exercise
            or not is_shown
            or link is None
            or route.difference <= 0
            or route.difference + link.effect > -NEAR_TIE
        ):
            return ""
        return f"{self.grammar} Click the link to {self.looks_at}: then {rival} leads."


PRONOUN = "elle, la and pomme (apple) are feminine; il and chien (dog) masculine."
ARTICLE = "une is feminine like voiture (car), which is not written yet; un is masculine."
ADJECTIVE = "petite, La and maison (house) are feminine; petit masculine."
NEGATION = "ne ... rien is nothing; ne ... pas is not."
READY = (
    ReadySentence("Pronoun", FIRST_SENTENCE, 10, "block_cross_11-12", "il", PRONOUN, "hard"),
    ReadySentence("Article", "She bought a red car.", 3, "block_cross_4-5", "un", ARTICLE, "car"),
    ReadySentence("Adjective", "The house that my father built is small.", 9, "block_dec_10-2", "petit", ADJECTIVE, "La"),
    ReadySentence("Negation", "He knows nothing.", 3, "block_cross_4-3", "pas", NEGATION, "nothing"),
)
COMPONENT = mount.Component(__file__, '<div class="route"></div>', name="route")
HIDING: dict[str, tuple[AttentionKind, ...]] = {"source": ("encoder", "cross"), "target": ("decoder",)}  # of a token


def call(context: PageContext) -> Call:
    """Returns the route of the baseline's token against the rival of the view."""
    context = baseline_context(context)
    view = context.view
    return computations.ROUTE(*chosen_tokens.row_and_token(view, context), chosen_tokens.chosen(view, context))


def _payload(context: PageContext, route: Route) -> dict[str, Any]:
    context = baseline_context(context)
    trace, piece = context.analysis.trace, context.loaded.output_vocabulary.piece
    languages = context.loaded.languages
    has_decoder = trace.outputs is not None
    return {
        "source": [] if trace.source is None else list(trace.source.labels),
        "target": list(trace.inputs.labels[: route.row + 1]) if has_decoder else [],
        "words": ["", *glosses.words(trace.outputs, languages[1])[: route.row + 1]] if has_decoder else [],
        "names": [languages[0] if has_decoder else "Text", f"{languages[1]} so far" if has_decoder else ""],
        "row": route.row,
        "token": piece(route.token).removeprefix("·"),
        "rival": piece(route.rival).removeprefix("·"),
        "is_label": bool(trace.classes),
        "reads_row": route_texts.reads_row(context.loaded.config),
        "links": [_link(link, trace) for link in route.links],
        "most": max([abs(link.effect) for link in route.links] + [abs(route.difference) / 2, 1e-6]),  # the widest link
        "lang": site_texts.language_code(languages[1]),
        "large": False,
    }


def _link(link: RouteLink, trace: Trace) -> dict[str, Any]:
    kind, query, key = link.cell
    return {
        "kind": kind,
        "query": query,
        "key": key,
        "hop": link.hop,
        "effect": round(link.effect, 5),
        "detail": route_texts.describe_link(link, trace),
    }


def codes_of(link: RouteLink) -> tuple[str, ...]:
    """Returns the edit that cuts a link."""
    return (link.cell.cut().code,)


@lru_cache(512)
def hiding(side: str, position: int, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the edits that hide a token from all attention."""
    return tuple(BlockCells(Place(kind), None, position).code for kind in HIDING[side] if kind in kinds)


def _follow(context: PageContext, route: Route) -> dict[str, Any]:
    """Returns the cut links and the hidden tokens."""
    codes = {code for code, _ in context.view.intervention.codes_and_texts()}
    trace = baseline_context(context).analysis.trace
    sizes = {"source": len(trace.source or ()), "target": 0 if trace.inputs is None else route.row + 1}
    return {
        "cuts": [codes.issuperset(codes_of(link)) for link in route.links],
        "hidden": {
            side: [n for n in range(size) if codes.issuperset(hiding(side, n, trace.kinds))] for side, size in sizes.items()
        },
    }


def _events(context: PageContext, route: Route) -> dict[str, Event]:
    trace = baseline_context(context).analysis.trace
    longest = max(len(trace.source or ()), route.row + 1)
    token = mount.fields(side=mount.one_of(tuple(HIDING)), number=mount.from_one(longest))
    return {
        "cut": (mount.from_one(max(1, len(route.links))), lambda number: _toggle(codes_of(route.links[number]))),
        "hide": (token, lambda side, position: _toggle(hiding(side, position, trace.kinds))),
    }


def _toggle(codes: Sequence[str]) -> None:
    """Makes edits, or takes them back if all are made; the model decodes again. For callbacks."""
    now = session.current_view().intervention
    made = {code for code, _ in now.codes_and_texts()}
    try:
        for code in codes:
            if made.issuperset(codes):
                now = now.without_edit(code)
            elif code not in made:
                now = now.with_edit(code)
        session.change(intervention=now, mode="again")
    except ValueError as fault:
        session.show_message(str(fault))


def is_cut(edit: Edit) -> bool:
    """True for an edit that the picture of a route makes: a cell or a column of all layers."""
    return isinstance(edit, BlockCells) and edit.place.layer is None and edit.key is not None


def _without_cuts(intervention: Intervention) -> Intervention:
    return dataclasses.replace(intervention, edits=tuple(each for each in intervention.edits if not is_cut(each)))


def _restore() -> None:
    """Takes all cuts back. For callbacks."""
    session.change(intervention=_without_cuts(session.current_view().intervention))


def _open(sentence: ReadySentence) -> None:
    """Opens a sentence at its step, without the cuts of the last one. For callbacks."""
    edits = _without_cuts(session.current_view().intervention)
    session.change(source=sentence.text, step=sentence.step, rival=None, intervention=edits)


def _text(context: PageContext, route: Route) -> str:
    is_edited = bool(context.view.intervention)
    context = baseline_context(context)
    choice = chosen_tokens.choice(context)
    parts = "" if route.explains else route_texts.strongest_part(choice.found, context.analysis.trace, choice.pair)
    is_row = route_texts.reads_row(context.loaded.config)
    return route_texts.answer(route, context.analysis.trace, choice.pair, choice.log_probs, is_row, parts, is_edited)


def _tables(context: PageContext, route: Route) -> tuple[Table, ...]:
    trace = baseline_context(context).analysis.trace
    rows = [
        (
            link.hop,
            link.cell.kind,
            link.cell.query + 1,
            route_texts.query_label(link.cell, trace),
            link.cell.key + 1,
            route_texts.key_label(link.cell, trace),
            link.effect,
            link.zeroed,
            link.weight,
            link.head[0].head_name(link.head[1]),
            link.head[2],
        )
        for link in route.links
    ]
    names = ("hop", "attention", "query", "query_token", "key", "key_token", "effect", "effect_weight_zeroed", "weight")
    whole = (
        ("difference", route.difference),
        ("all links cut", route.cut_difference),
        ("only these links kept", route.kept_difference),
        ("completeness", route.completeness),
        ("faithfulness", route.faithfulness),
        ("median effect of the other cuts", route.control),
    )
    return (Table("links", (*names, "head", "effect_of_head"), tuple(rows)), Table("route", ("number", "value"), whole))


def _code(code: Code, context: PageContext, route: Route) -> None:
    code.add("links = [(link.cell, link.effect, link.weight) for link in result.links]", "effects in nats")
    code.add("shares = result.completeness, result.faithfulness")


def _keys(context: PageContext, route: Route) -> None:
    limit_steps(baseline_context(context))
    lecture.list_component_keys("Tab, Enter", "choose a link, and cut it")


def _large_text(context: PageContext, route: Route) -> str:
    """Returns the answer, or after a cut both translations and the probabilities."""
    return _text(context, route) if context.analysis.baseline is None else _cut_text(context, route)


ROUTE = Panel(
    "why.route",
    "The route of the choice",
    COMPONENT,
    _payload,
    _events,
    call=call,
    text=_text,
    tables=_tables,
    code=_code,
    is_visible=where(**PART),
    pictures=(Picture("Route", data=lambda context, route: {"large": True}, fields=PART, text=_large_text, number=1),),
    bar=lambda context, route: bar(baseline_context(context), route),
    keys=_keys,
    reads=("step", "rival"),
    follow=_follow,
    file=FileOptions(default_view=lambda context: chosen_tokens.look(context.view, context)),
)


def _cut_text(context: PageContext, route: Route) -> str:
    """Returns both translations and the probabilities of token and rival before and after the edits."""
    analysis = context.analysis
    if analysis.baseline is None:
        rival = context.loaded.output_vocabulary.piece(route.rival).removeprefix("·")
        ready = (each.hint(context.view, route, rival) for each in READY)
        hint = next(filter(None, ready), "Click a link to cut it, or a token to hide it. The model runs again.")
        return f'<p class="lab-note">{html.escape(hint)}</p>' if route.links else ""
    piece, before = context.loaded.output_vocabulary.piece, analysis.baseline.trace.log_probs[route.row]
    is_kept = not _is_comparable(context, route)
    after = (_given(context) if is_kept else analysis).trace.log_probs[route.row]
    is_given = analysis.request.mode == "given" and analysis.task.has_decoder
    return site_texts.both_translations_markup(analysis, context.loaded, same_target=is_given) + route_texts.probabilities(
        [piece(each) for each in (route.token, route.rival)],
        [float(np.exp(before[each])) for each in (route.token, route.rival)],
        [float(np.exp(after[each])) for each in (route.token, route.rival)],
        is_kept,
    )


def _given(context: PageContext) -> Analysis:
    """Returns the analysis of the edited model that reads the text without edits."""
    from model.inference.analyse import analyse

    request = dataclasses.replace(context.request, mode="given")
    return cache.analyse(request, context.view.device) if context.is_shared else analyse(context.loaded, request)


def _is_comparable(context: PageContext, route: Route) -> bool:
    """True if the edited run has the same text before the row."""
    analysis = context.analysis
    return analysis.trace.outputs is None or route.row < analysis.comparable_steps


def _cut_controls(context: PageContext, route: Route) -> None:
    """Draws links to sentences with different routes, and a button that takes all cuts back."""
    view, groups = context.view, []
    if context.loaded.languages == ("English", "French"):
        buttons = {
            f"ready {each.name}": Button(
                each.name, partial(_open, each), each.text, is_on=(each.text, each.step) == (view.source, view.step)
            )
            for each in READY
        }
        groups.append(ButtonGroup("Other routes", buttons, "links"))
    if _without_cuts(view.intervention) != view.intervention:
        restore = {"why restore": Button("Restore all links", _restore)}
        groups.append(ButtonGroup("Cuts", restore, is_label_hidden=True, follows=True))
    if groups:
        button_groups.draw("why.cuts", groups)


CUT = Panel(
    "why.cut",
    "The translation after the cut",
    call=call,
    controls=_cut_controls,
    text=_cut_text,
    is_visible=lambda context: context.view.why == "route" and not context.view.lecture,
    file=None,
)
