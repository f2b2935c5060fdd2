"""The page Why's sentences about a route, from the numbers of this choice."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from model.inference.predictions import is_near_tie
from model.io import numbers
from viz.kit import site_texts, terms
from viz.why import why_texts

if TYPE_CHECKING:
    from model.config import ModelConfig
    from model.experiments.routes import Cell, Route, RouteLink
    from model.readings.logits.direct_logits import DirectLogits
    from model.trace import Trace

NAMED = 2  # links of the first hop in the sentence


def query_label(cell: Cell, trace: Trace) -> str:
    """Returns the token of the row of a cell."""
    side = trace.source if cell.kind == "encoder" else trace.inputs
    return side.labels[cell.query]


def key_label(cell: Cell, trace: Trace) -> str:
    """Returns the token that a cell looks at."""
    side = trace.inputs if cell.kind == "decoder" else trace.source
    return side.labels[cell.key]


def describe_link(link: RouteLink, trace: Trace) -> str:
    """Returns the numbers of a link for its tooltip."""
    site, head, effect = link.head
    supports = "supports the token" if link.effect < 0 else "supports its rival"
    text = (
        f"{query_label(link.cell, trace)} looks at {key_label(link.cell, trace)} ({link.cell.kind}): cut "
        f"{numbers.signed(link.effect)} logits, {supports}. Largest weight {numbers.probability(link.weight)}. "
        f"Most in {site.head_name(head)} ({numbers.signed(effect)})."
    )
    if link.differs:
        text += f" With the weight set to 0 instead: {numbers.signed(link.zeroed)}."
    return text


def reads_row(config: ModelConfig) -> bool:
    """True if one row predicts the token. A classifier with mean pooling reads all rows."""
    return not (config.classes and config.pooling == "mean")


def answer(
    route: Route,
    trace: Trace,
    pair: tuple[str, str],
    log_probs: tuple[float, float],
    is_row: bool,
    parts: str = "",
    is_edited: bool = False,
) -> str:
    """Returns the answer as markup: the lead, the links that carry it, and both shares.

    Args:
        is_row: see `reads_row`.
        parts: a sentence for a choice without a short route.
        is_edited: True while the page has edits, which the answer leaves out.
    """
    token, rival = map(_mono, pair)
    probabilities = [math.exp(each) for each in log_probs]
    first, second = map(site_texts.probability_markup, probabilities)
    if route.is_near_tie or is_near_tie(*probabilities):
        lead = f"{token} ({first}) and {rival} ({second}) are a near-tie."
    else:
        ahead, behind = (token, rival) if route.difference >= 0 else (rival, token)
        first, second = (first, second) if route.difference >= 0 else (second, first)
        logits = terms.term("logit", "logits")
        lead = (
            f"{ahead} leads {behind} by <b>{numbers.three_digits(abs(route.difference))}</b> {logits} "
            f"({first} against {second})."
        )
    if is_edited:
        lead = f"Without edits: {lead}"
    links = _sentence(route, trace, _row_label(route, trace, token) if is_row else None)
    if route.is_near_tie:
        return f'<p class="lab-why">{lead} {links}</p>'
    if not route.explains:
        none = f"No short route carries this choice. {_missing(route)} {html.escape(parts)}"
        return f'<p class="lab-why">{lead}</p><p class="lab-note">{none}</p>'
    return f'<p class="lab-why">{lead} {links}</p>{_shares(route, token, rival)}'


def strongest_part(found: DirectLogits, trace: Trace, pair: tuple[str, str]) -> str:
    """Returns what the sum of parts says where there is no short route."""
    return f"The sum of all parts: {why_texts.strongest(found, trace, pair)}"


def _row_label(route: Route, trace: Trace, token: str) -> str:
    """Returns the row of the choice as markup: `qu' → elle`, or the token of a text that is read at once."""
    if trace.inputs is None:
        return _mono(trace.source.labels[route.row])
    return f"{_mono(trace.inputs.labels[route.row])} → {token}"


def _sentence(route: Route, trace: Trace, row: str | None) -> str:
    """Returns the strongest links that support the leading token: `qu' → elle looks at hard (cut: −8.42)`.

    Without a `row`, the links of the first hop begin at the tokens of their own rows.
    """
    sign = -1 if route.difference >= 0 else 1
    supporting = [link for link in route.links if link.effect * sign > 0 and not link.cell.is_own]
    near = [link for link in supporting if link.hop == 1][:NAMED]
    looks = " and at ".join(_target(link, trace) for link in near)
    parts = [f"{row} looks at {looks}."] if near and row else [_whole(link, "looks", trace) for link in near]
    for each in near:
        far = (link for link in supporting if link.hop == 2 and _reads(link.cell) == _leads_to(each.cell))
        parts += [_whole(link, "had looked", trace) for link in list(far)[:1]]
    return " ".join(dict.fromkeys(parts)).replace("(cut:", f"({terms.term('cut')}:", 1)


def _whole(link: RouteLink, verb: str, trace: Trace) -> str:
    return f"{_mono(query_label(link.cell, trace))} {verb} at {_target(link, trace)}."


def _target(link: RouteLink, trace: Trace) -> str:
    return f"{_mono(key_label(link.cell, trace))} (cut: {numbers.signed(link.effect)})"


def _reads(cell: Cell) -> tuple[str, int]:
    """Returns the side and the position of the row of a cell."""
    return ("source" if cell.kind == "encoder" else "target", cell.query)


def _leads_to(cell: Cell) -> tuple[str, int]:
    """Returns the side and the position that a cell looks at."""
    return ("target" if cell.kind == "decoder" else "source", cell.key)


def _mono(label: str) -> str:
    return f'<span class="lab-mono">{html.escape(label.removeprefix("·") or "·")}</span>'


def _missing(route: Route) -> str:
    """Returns what cutting all links does where they do not explain the lead."""
    share = route.completeness
    if not route.links or share is None:
        return "No single cut changes it by more than 5%."
    return (
        f"With all links cut, {100 * share:.0f}% of the lead goes." if share >= 0 else "With all links cut, the lead grows."
    )


def _shares(route: Route, token: str, rival: str) -> str:
    """Returns both shares with what is so then: who leads with all links cut, and with these links alone."""
    completeness, faithfulness = route.completeness, route.faithfulness
    assert completeness is not None and faithfulness is not None
    cut, kept = (_leader(value, token, rival) for value in (route.cut_difference, route.kept_difference))
    return (
        f'<p class="lab-note">{terms.term("completeness", "Completeness")} {numbers.decimal(completeness)}: '
        f"with all links cut, {cut}. {terms.term('faithfulness', 'Faithfulness')} {numbers.decimal(faithfulness)}: "
        f"with these links alone, {kept}. {_control(route)}</p>"
    )


def _control(route: Route) -> str:
    """Returns how little the other cuts change, as a control."""
    if route.control is None:
        return ""
    others = route.tested - len(route.links)
    return f"Median of {others} other cut{'' if others == 1 else 's'}: {numbers.three_digits(route.control)} logits."


def _leader(difference: float, token: str, rival: str) -> str:
    """Returns who leads at a difference of logits, in words."""
    from model.experiments.routes import NEAR_TIE

    if abs(difference) < NEAR_TIE:
        return "it is a near-tie"
    return f"{token if difference > 0 else rival} leads"


def probabilities(pieces: Sequence[str], before: Sequence[float], after: Sequence[float], is_kept: bool) -> str:
    """Returns the probabilities of the token and its rival before and after the edits, as markup.

    `is_kept`: the edited text differs before this step, and these are the probabilities after the text without edits.
    """
    kept = "With the text before this step kept: " if is_kept else ""
    each = (
        f"{_mono(piece)} {site_texts.probability_markup(old)} → <b>{site_texts.probability_markup(new)}</b>"
        for piece, old, new in zip(pieces, before, after, strict=True)
    )
    return f'<p class="lab-note lab-odds">{kept}{", ".join(each)}</p>'
