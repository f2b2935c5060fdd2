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
    from viz.kit.page_context import PageContext


def tables(shown: PageContext) -> tuple[Table, ...]:
    """The parts of the sum and what came by way of each token; or what each reading says of each source word."""
    if chosen_tokens.shows_readings(shown.view, shown.page_data):
        return (_readings(shown),)
    found = _sum(shown)
    return _parts(shown, found), _tokens(shown, found)


def _asked(shown: PageContext) -> tuple[int, int, int]:
    """Step from 0, token and rival; of a classifier two labels."""
    return *chosen_tokens.asked(shown.view, shown.page_data), chosen_tokens.chosen(shown.view, shown.page_data)


def _sum(shown: PageContext) -> DirectLogits:
    return computations.direct_logits(shown.page_data.request, shown.view.device, *_asked(shown))


def _parts(shown: PageContext, found: DirectLogits) -> Table:
    """All of them, and the difference that they add up to."""
    read = logit_sum.read(found, shown.analysis.trace)
    rows: list[tuple[Cell, ...]] = [(logit_sum.name(writer, read), value) for writer, value in found.ranked]
    rows += [("what the parts miss", found.remainder), ("difference of the logits", found.difference)]
    return Table(f"sum-step-{found.step + 1}", ("part", "nats"), tuple(rows))


def _tokens(shown: PageContext, found: DirectLogits) -> Table:
    trace = shown.analysis.trace
    sides = {"encoder": trace.source, "cross": trace.source, "decoder": trace.inputs}
    rows = [
        (kind, place, label, float(value))
        for kind, values in found.by_kind.items()
        if sides.get(kind) is not None
        for place, (label, value) in enumerate(zip(sides[kind].labels, values, strict=False), 1)
    ]
    return Table(f"by-token-step-{found.step + 1}", ("attention", "position", "token", "nats"), tuple(rows))


def _tested(shown: PageContext) -> tuple[int, int, str]:
    """Step, rival and scope, as the part of the readings asks."""
    step, _, rival = _asked(shown)
    return (step, rival, "step") if chosen_tokens.tested(shown.view, shown.page_data) == "step" else (0, 0, "whole")


def _readings(shown: PageContext) -> Table:
    found = computations.faithfulness(shown.page_data.request, shown.view.device, *_tested(shown), lambda share: None)
    shares = found.shares if found.is_conclusive else dict.fromkeys(READINGS)
    rows = [
        (READINGS[name].label, shares[name], place, word, float(value))
        for name in shares
        for place, (word, value) in enumerate(zip(found.words.labels, found.importance[name], strict=True), 1)
    ]
    return Table("readings", ("reading", "area", "position", "word", "importance"), tuple(rows))


def python(shown: PageContext) -> str:
    """The same as Python."""
    code = Code.of(shown.analysis.request, shown.view.device)
    step, token, rival = _asked(shown)
    if shown.analysis.trace.classes:
        code.add(
            f"found = label_logits(checkpoint, analysis, {token}, {rival})",
            "numbers of the label and of its rival",
            model__readings__logits__direct_logits=("label_logits",),
        )
        return _parts_code(code)
    if chosen_tokens.shows_readings(shown.view, shown.page_data):
        step, rival, scope = _tested(shown)
        code.add(
            f"found = faithfulness_test(checkpoint, analysis, {step}, {rival}, {scope!r})",
            "step from 0, id of the rival",
            model__experiments__faithfulness=("faithfulness_test",),
        )
        code.add("importance, shares = found.importance, found.shares", "of found.words, by the name of the reading")
        return code.text
    if chosen_tokens.fills_in(shown.page_data):
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
