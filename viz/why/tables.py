"""The numbers of the page Why, and the lines of Python that compute them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from model.export.code import Code
from model.export.csv_tables import Cell, Table
from model.readings.tokens.word_readings import READINGS
from viz import computations
from viz.why import chosen_tokens, logit_sum

if TYPE_CHECKING:
    from model.readings.logits.direct_logits import DirectLogits
    from viz.page_context import PageContext


def tables(context: PageContext) -> tuple[Table, ...]:
    """The parts of the sum and what came by way of each token; or what each reading says of each source word."""
    if chosen_tokens.shows_readings(context.view, context):
        return (_readings(context),)
    found = _sum(context)
    return _parts(context, found), _tokens(context, found)


def _asked(context: PageContext) -> tuple[int, int, int]:
    """Step from 0, token and rival; of a classifier two labels."""
    return *chosen_tokens.asked(context.view, context), chosen_tokens.chosen(context.view, context)


def _sum(context: PageContext) -> DirectLogits:
    return computations.direct_logits(context.request, context.view.device, *_asked(context))


def _parts(context: PageContext, found: DirectLogits) -> Table:
    """All of them, and the difference that they add up to."""
    read = logit_sum.read(found, context.analysis.trace)
    rows: list[tuple[Cell, ...]] = [(logit_sum.name(writer, read), value) for writer, value in found.ranked]
    rows += [("what the parts miss", found.remainder), ("difference of the logits", found.difference)]
    return Table(f"sum-step-{found.step + 1}", ("part", "nats"), tuple(rows))


def _tokens(context: PageContext, found: DirectLogits) -> Table:
    trace = context.analysis.trace
    sides = {"encoder": trace.source, "cross": trace.source, "decoder": trace.inputs}
    rows = [
        (kind, place, label, float(value))
        for kind, values in found.by_kind.items()
        if sides.get(kind) is not None
        for place, (label, value) in enumerate(zip(sides[kind].labels, values, strict=False), 1)
    ]
    return Table(f"by-token-step-{found.step + 1}", ("attention", "position", "token", "nats"), tuple(rows))


def _tested(context: PageContext) -> tuple[int, int, str]:
    """Step, rival and scope, as the part of the readings asks."""
    step, _, rival = _asked(context)
    return (step, rival, "step") if chosen_tokens.tested(context.view, context) == "step" else (0, 0, "whole")


def _readings(context: PageContext) -> Table:
    found = computations.faithfulness(context.request, context.view.device, *_tested(context), lambda share: None)
    shares = found.shares if found.is_conclusive else dict.fromkeys(READINGS)
    rows = [
        (READINGS[name].label, shares[name], place, word, float(value))
        for name in shares
        for place, (word, value) in enumerate(zip(found.words.labels, found.importance[name], strict=True), 1)
    ]
    return Table("readings", ("reading", "area", "position", "word", "importance"), tuple(rows))


def python(context: PageContext) -> str:
    """The same as Python."""
    code = Code.of(context.analysis.request, context.view.device)
    step, token, rival = _asked(context)
    if context.analysis.trace.classes:
        code.add(
            f"found = label_logits(checkpoint, analysis, {token}, {rival})",
            "numbers of the label and of its rival",
            model__readings__logits__direct_logits=("label_logits",),
        )
        return _parts_code(code)
    if chosen_tokens.shows_readings(context.view, context):
        step, rival, scope = _tested(context)
        code.add(
            f"found = faithfulness_test(checkpoint, analysis, {step}, {rival}, {scope!r})",
            "step from 0, id of the rival",
            model__experiments__faithfulness=("faithfulness_test",),
        )
        code.add("importance, shares = found.importance, found.shares", "of found.words, by the name of the reading")
        return code.text
    if chosen_tokens.fills_in(context):
        code.add(
            f"found = blank_logits(checkpoint, analysis, {step}, {token}, {rival})",
            "place from 0, ids of the token and of its rival",
            model__readings__logits__direct_logits=("blank_logits",),
        )
        return _parts_code(code)
    code.add(
        f"found = direct_logits(checkpoint, analysis, {step}, {token}, {rival})",
        "step from 0, ids of the token and of its rival",
        model__readings__logits__direct_logits=("direct_logits",),
    )
    return _parts_code(code)


def _parts_code(code: Code) -> str:
    code.add("parts = found.ranked", "who wrote it and how much, in nats; they add up to found.difference")
    code.add("by_token = found.by_kind")
    return code.text
