"""The panel of patching: one sentence runs with a piece of the other put in, piece after piece."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import Edit, PatchZ, TokenLabels, parse
from model.export.csv_tables import Table
from model.inference.predictions import changed_words
from model.inference.request import Request
from viz import cache, computations
from viz.classroom import lecture
from viz.compare import patch_grids
from viz.compare.pair import Pair, pair
from viz.kit import button_groups, mount, site_texts
from viz.kit.button_groups import Button, ButtonGroup
from viz.kit.panel import NotChosenError, Panel, Picture
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.view import without_edits

if TYPE_CHECKING:
    from model.experiments.patching import Patching
    from model.export.code import Code
    from model.inference.analysis import Analysis
    from model.text.tokenizer import Tokenizer
    from viz.computations import Call
    from viz.kit.mount import Event

SENTENCES = ("word", "sentence")  # what differs if there are two sentences
NEEDS = "Patching needs two sentences: choose “A word” or “Sentence” above."
GROUPS = ("encoder", "heads", "decoder")  # of pieces; one is the large picture, by the view's `large`
MAX_WALKED = 12  # pieces that keys walk through, those with the largest share


def call(context: PageContext) -> Call:
    """Returns the computation of all patches. Raises ValueError if there are no two sentences."""
    if context.view.differs not in SENTENCES:
        raise NotChosenError(NEEDS)
    return computations.PATCHING(_requests(pair(context.view, context))[1], context.view.patched_step)


def _requests(both: Pair) -> tuple[Request, Request]:
    return without_edits(both.first.request), without_edits(both.second.request)


def _sides(context: PageContext) -> tuple[Analysis, Analysis]:
    """Returns the analyses of both sentences without edits."""
    first, second = _requests(pair(context.view, context))
    return cache.analyse(first, context.view.device), cache.analyse(second, context.view.device)


def _edits(context: PageContext, result: Patching) -> tuple[Edit, ...]:
    """Returns the pieces that are put in; in lecture mode a piece of the large picture is the default."""
    if context.view.patched.edits:
        return context.view.patched.edits
    return (_ranked(result, _group(context))[0],) if context.view.lecture else result.best


def _payload(context: PageContext, result: Patching) -> dict[str, Any]:
    first, _ = _sides(context)
    codes = tuple(edit.code for edit in _edits(context, result))
    return patch_grids.payload(result, first.labels, codes, context.mode)


def _events(context: PageContext, result: Patching) -> dict[str, Event]:
    return {"piece": (mount.one_of({edit.code for edit, _ in result.patches}), choose)}


def put_in(
    requests: tuple[Request, Request], edits: Sequence[Edit], device: str
) -> tuple[Request, Sequence[tuple[str, str]], Analysis]:
    """Returns the request of the first sentence with pieces of the other, code and reason of pieces that do not fit, and the
    analysis. Raises ValueError as `cache.analyse`.
    """
    donor = dataclasses.replace(BASELINE, donor=requests[1].source, edits=tuple(edits))
    request, aside = cache.fit_request(dataclasses.replace(requests[0], intervention=donor, mode="again"), device)
    return request, aside, cache.analyse(request, device)


def _put_in(context: PageContext, result: Patching) -> tuple[Request, Sequence[tuple[str, str]], Analysis]:
    both = _requests(pair(context.view, context))
    return put_in(both, _edits(context, result), context.view.device)


def _text(context: PageContext, result: Patching) -> str:
    """Returns the pairing of tokens, the answer, and the three translations."""
    (first, second), tokenizer, question = _sides(context), context.loaded.target_tokenizer, result.request
    tokens = patch_grids.names(question, tokenizer)
    notes = [patch_grids.WITHOUT] if context.request.intervention else []
    notes.append(patch_grids.alignment(question, first.labels.source, second.labels.source))
    probabilities = np.exp(first.trace.log_probs[question.step, list(question.tokens)])
    lines = patch_grids.answer(result, tokens, first.labels, patch_grids.tie(*probabilities))
    answer = f'<div class="lab-answer" role="status">{"<br>".join(map(html.escape, lines))}</div>'
    warnings: list[str] = []
    try:
        _, aside, patched = _put_in(context, result)
        warnings = [reason for _, reason in aside]
    except ValueError as fault:
        patched, warnings = None, [str(fault)]
    code = site_texts.language_code(context.loaded.languages[1])
    return "".join(
        [
            *map(site_texts.note_markup, notes),
            answer,
            patch_grids.compared(first, second, patched, tokenizer, code),
            *(site_texts.note_markup(warning, warn=True) for warning in warnings),
        ]
    )


def _details(context: PageContext, result: Patching) -> None:
    """Draws the choice of the step, and the effect of the pieces that are put in, with buttons."""
    first, second = _sides(context)
    steps = {step: f"{step + 1}  {first.labels.query('decoder', step)}" for step in range(len(result.request.target))}
    chosen = result.request.step
    step = button_groups.choice("Measured at step", "patched_step", steps, chosen, "list", is_label_hidden=False)
    if context.view.patched_step is None:
        step = dataclasses.replace(step, note=patch_grids.why_here(first.translation == second.translation))
    button_groups.draw("compare.patching.choices", [step, *_effect(context, result, second.translation)])


def _effect(context: PageContext, result: Patching, other: str) -> list[ButtonGroup]:
    """Returns the effect of the pieces as a group, with buttons that open and remove them; none without pieces."""
    try:
        request, _, patched = _put_in(context, result)
        given = cache.analyse(dataclasses.replace(request, mode="given"), context.view.device)
    except ValueError:
        return []
    if not (edits := request.intervention.edits):
        return []
    first, second = (given.trace.logit(result.request.step, token) for token in result.request.tokens)
    translation = patched.translation
    turned = given.baseline is not None and translation != given.baseline.translation
    text = patch_grids.effect(result, edits, first - second, given.labels, turned and translation == other, turned)
    args = request.intervention, result.request.step
    buttons = {"patch what if": Button("Open in What if", partial(_open, *args))}
    if context.view.patched.edits:
        buttons["patch out"] = Button("Take it out", partial(session.change, patched=BASELINE))
    return [ButtonGroup("Effect", buttons, "links", is_label_hidden=True, note=text)]


# -- lecture mode ------------------------------------------------------------------------------------------------------


def _group(context: PageContext) -> str:
    return GROUPS[lecture.picture(context.view, len(GROUPS)) - 1]


def _large(context: PageContext, result: Patching) -> dict[str, Any]:
    """Returns the question, the three translations, and the pieces that are put in."""
    (first, second), tokenizer = _sides(context), context.loaded.target_tokenizer
    edits, own = _edits(context, result), first.trace.outputs.ids
    try:
        *_, patched = _put_in(context, result)
        patched_ids = patched.trace.outputs.ids
    except ValueError:
        patched_ids = ()
    rows = (("this one", own), ("the other", second.trace.outputs.ids), ("patched", patched_ids))
    large = {
        "picture": _group(context),
        "asked": patch_grids.asked(result.request, patch_grids.names(result.request, tokenizer)),
        "rows": [[name, _marked(ids, own, tokenizer)] for name, ids in rows],
        "told": _describe_pieces(result, edits, first.labels),
    }
    return {"large": large}


def _describe_pieces(result: Patching, edits: Sequence[Edit], labels: TokenLabels) -> str:
    """Returns the pieces that are put in, and the effect of a single one."""
    value = dict(result.patches).get(edits[0]) if len(edits) == 1 else None
    put = "; ".join(patch_grids.told(edit, labels) for edit in edits)
    return f"Put in: {put}" + ("." if value is None else f". {patch_grids.far(result, value)}.")


def _ranked(result: Patching, picture: str) -> list[Edit]:
    """Returns the pieces of a picture, those with the largest share first."""
    own = [
        (edit, float(result.share(value)))
        for edit, value in result.patches
        if (picture == "heads") == isinstance(edit, PatchZ) and picture in ("heads", getattr(edit, "stack", ""))
    ]
    return [edit for edit, _ in sorted(own, key=lambda each: -each[1])]


def _marked(ids: Sequence[int], own: Sequence[int], tokenizer: Tokenizer) -> list[list[Any]]:
    """Returns a translation in pieces of text, each with True if the first translation differs."""
    return [list(each) for each in zip(tokenizer.segments(ids), changed_words(own, ids)[1], strict=True)]


def _keys(context: PageContext, result: Patching) -> None:
    ranked = _ranked(result, _group(context))
    walk = partial(_walk, ranked[:MAX_WALKED], ranked[0])
    lecture.add_walk_keys("the next piece", "the piece before", walk)
    lecture.add_key(lecture.INNER, "encoder, heads, decoder", _next_group, quiet=True)


def _walk(known: list[Edit], usual: Edit, by: int) -> None:
    """Puts in the next or previous piece. For callbacks."""
    edits = session.current_view().patched.edits or (usual,)
    number = known.index(edits[0]) if len(edits) == 1 and edits[0] in known else None
    choose((known[0] if number is None else known[(number + by) % len(known)]).code)


def _next_group() -> None:
    """Shows the next group of pieces, with its own best piece. For callbacks."""
    number = lecture.picture(session.current_view(), len(GROUPS))
    session.change(large=number % len(GROUPS) + 1, patched=BASELINE)


# -- numbers -----------------------------------------------------------------------------------------------------------


def _tables(context: PageContext, result: Patching) -> tuple[Table, ...]:
    """Returns every patch by its code, the difference of logits under it, and its share of the way, if defined."""
    rows = [
        (edit.code, value, value - result.before, None if result.is_near else float(result.share(value)))
        for edit, value in result.patches
    ]
    whole = [
        ("nothing put in", result.before, 0.0, None),
        ("the other sentence", result.other, result.other - result.before, None),
    ]
    return (Table("patches", ("patch", "difference_of_logits", "change", "share"), (*whole, *rows)),)


def _code(code: Code, context: PageContext, result: Patching) -> None:
    first, second = _requests(pair(context.view, context))
    code.add("patched = result")
    code.add("pieces = {edit.code: difference for edit, difference in patched.patches}", "patched.before: nothing put in")
    donor = dataclasses.replace(BASELINE, donor=second.source, edits=_edits(context, result))
    code.analyse(dataclasses.replace(first, intervention=donor, mode="again"), into="chosen")


def choose(code: str) -> None:
    """Puts a piece in, or takes it out if it is the only one. For callbacks."""
    edits = (parse(code),)
    is_in = session.current_view().patched.edits == edits
    session.change(patched=BASELINE if is_in else dataclasses.replace(BASELINE, edits=edits))


def _open(intervention: Intervention, step: int) -> None:
    session.change(intervention=intervention, mode="again", step=step)
    navigation.go_to("what-if")


PATCHES = Panel(
    "compare.patching",
    "Patching",
    patch_grids.COMPONENT,
    _payload,
    _events,
    call=call,
    text=_text,
    details=_details,
    tables=_tables,
    code=_code,
    is_visible=lambda context: context.view.compared == "patching" and context.view.differs != "family",
    pictures=tuple(
        Picture(f"Patch {name}", data=_large, fields={"compared": "patching"}, number=number)
        for number, name in enumerate(GROUPS, 1)
    ),
    keys=_keys,
)
