"""Roles of a head over many sentences, with share, interval and count: a carried route, and the published names of
`head_roles` by its bars. Heads, Training and the summary of a corpus take them from here."""

from __future__ import annotations

from ...text.head_statistics import HeadStatistics, Mean
from ...text.route_heads import CARRIES, ROLE, RouteHeads
from .head_roles import ROLES, RoleMatch

# The metric behind each role, and its words: the share counts rows that have such a token, or weight.
_POSITIONAL = {
    "previous-token head": ("previous_peak", "rows that have a token before", "that token"),
    "same-token head": ("same_peak", "rows", "their own token"),
    "next-token head": ("next_peak", "rows that have a token after", "that token"),
}
_SINKS = {"attention sink on <s>": ("start", "weight", "<s>"), "attention sink on </s>": ("end", "weight", "</s>")}


def corpus_roles(head: HeadStatistics, routes: RouteHeads | None = None) -> list[RoleMatch]:
    """Returns the roles of a head: the route that it carries by `routes`, then those whose mean reaches the bar."""
    found = route_roles(routes, head.site, head.layer, head.head)
    for name, (metric, counted, where) in (_POSITIONAL | _SINKS).items():
        statistics, bar = head.metrics.get(metric), ROLES[name].bar
        if statistics is None or statistics.mean.value < bar:
            continue
        share, count = format_share(statistics.mean), f"{statistics.sentences:,} sentences"
        if name in _POSITIONAL:
            said = f"In {share} of the {counted}, over {count}, its largest weight is on {where}. "
            said += f"Voita et al. 2019 call a head positional from {bar:.0%}."
        else:
            said = f"Over {count}, {share} of its {counted} goes to {where}. "
            said += f"Gu et al. 2025 call a token the sink of a head above {bar:.0%}."
        found.append(RoleMatch(name, statistics.mean.value, said))
    return found


def route_roles(routes: RouteHeads | None, site: str, layer: int, head: int) -> list[RoleMatch]:
    """Returns the role of a head (from 0) that carries the route of a pronoun; nothing for another head."""
    found = []
    for each in routes.heads if routes else ():
        if (each.site, each.layer, each.head) == (site, layer, head) and each.share >= CARRIES:
            share, low, high = (round(100 * value) for value in (each.share, each.low, each.high))
            said = (
                f"In {share}% ({low} to {high}) of {routes.sentences} made sentences in which the model prefers the right "
                "pronoun, cutting the strongest link of the choice in this head alone takes away at least a tenth of the "
                "lead. Why shows routes."
            )
            found.append(RoleMatch(f"{ROLE}: {share}% of {routes.sentences} sentences", each.share, said))
    return found


def format_share(mean: Mean) -> str:
    """Returns a share with its 95% interval in percent, such as `93% (92 to 94)`."""
    value = f"{mean.value:.0%}"
    return value if mean.low is None or mean.high is None else f"{value} ({100 * mean.low:.0f} to {100 * mean.high:.0f})"
