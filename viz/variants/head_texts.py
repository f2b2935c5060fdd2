"""What the page Variants says of heads that come back from seed to seed, from the numbers of this very record."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from model.io import numbers
from model.trace import AttentionKind, Site, site_kind
from model.variants.same_heads import Best, SameHeads, SiteMatch
from viz import theme
from viz.variants.variant_texts import count


def returns(found: SameHeads) -> str:
    """Whether heads come back, by kind of attention, in a sentence."""
    told = []
    for kind in dict.fromkeys(each.kind for each in found.sites):
        matched, other = matched_mean(found, kind)
        way = 1 - matched / other if other else 0.0
        told.append(f"{site_kind(kind).name} {way:.0%}")
    return f"From any two heads (0%) to the same head (100%), paired heads come this far: {', '.join(told)}"


def matched_mean(found: SameHeads, kind: str) -> tuple[float, float]:
    """The mean distance of paired heads of a kind, on sentences that they were not paired on if there are any, and of any
    two heads; over all pairs of seeds and layers."""
    own = [each for each in found.sites if each.kind == kind]
    held = [each.matched if each.held_out is None else each.held_out for each in own]
    return math.fsum(held) / len(own), math.fsum(each.random for each in own) / len(own)


def how_paired(found: SameHeads) -> tuple[str, str]:
    """Returns the sample, and what the distances are of."""
    pairs = len({(each.one, each.other) for each in found.sites})
    halves = all(each.held_out is not None for each in found.sites)
    where = "the other half of the sentences" if halves else "the very sentences that they are measured on"
    return count(len(found.checkpoints), "seed"), (
        f"Of {count(pairs, 'pair')} of seeds, each layer’s heads are paired so that "
        f"their patterns lie least apart over {count(found.sentences, 'dev sentence')}. Distance: total variation of two "
        f"heads’ rows, from 0 (the same) to 1 (no key in common); the pairs were chosen on {where}."
    )


def sites_table(found: SameHeads) -> str:
    """For each kind and layer, the mean over pairs of seeds, as markup."""
    head = ("Attention", "Layer", "Paired", "Any two", "The way", "Own heads", "By chance")
    rows = []
    for kind, layer in dict.fromkeys((each.kind, each.layer) for each in found.sites):
        own = [each for each in found.sites if (each.kind, each.layer) == (kind, layer)]
        paired = _mean([each.matched if each.held_out is None else each.held_out for each in own])
        other, apart, shuffled = (_mean([getattr(each, name) for each in own]) for name in ("random", "own", "shuffled"))
        way = f"{1 - paired / other:.0%}" if paired is not None and other else "–"
        cells = (_two(paired), _two(other), way, _two(apart), _two(shuffled))
        name, values = theme.SITE_NAMES[kind], "".join(f"<td>{cell}</td>" for cell in cells)
        rows.append(f'<tr><th scope="row">{name}</th><td>{layer + 1}</td>{values}</tr>')
    return _plain_table("Distances of heads", head, rows)


def roles_table(found: SameHeads, kind: str) -> str:
    """For each role in a kind of attention, in how many seeds a head has it, and each seed's best head, as markup."""
    head = ("Role", "Seeds", *found.checkpoints)
    rows = []
    for each in (role for role in found.roles if role.kind == kind):
        best = "".join(f"<td>{_best(kind, head)}</td>" for head in each.best)
        name = f"{html.escape(each.role)} <small>from {each.bar:.2f}</small>"
        rows.append(f'<tr><th scope="row">{name}</th><td><b>{each.seeds} of {len(each.best)}</b></td>{best}</tr>')
    return _plain_table("Roles over the seeds", tuple(map(html.escape, head)), rows)


def _best(kind: AttentionKind, best: Best) -> str:
    if best.share is None:
        return "–"
    return f"{Site(kind, best.layer).head_name(best.head)} <small>{numbers.probability(best.share)}</small>"


def circles(found: SameHeads) -> str:
    """Whether three seeds agree; empty for two."""
    told = [f"{site_kind(each.kind).name} {each.share:.0%} (by chance {each.by_chance:.0%})" for each in found.circles]
    return f"Heads whose partner’s partner is their own partner: {', '.join(told)}." if told else ""


def in_a_row(found: SameHeads, kind: str) -> list[SiteMatch]:
    """The pairs of seeds that stand beside each other in the drawing, of a kind of attention."""
    return [each for each in found.sites if each.kind == kind and each.other == each.one + 1]


def _plain_table(label: str, head: Sequence[str], rows: Sequence[str]) -> str:
    cells = "".join(f'<th scope="col">{each}</th>' for each in head)
    return (
        f'<div class="lab-scroll" tabindex="0" role="region" aria-label="{label}"><table class="lab-designs">'
        f"<thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _two(value: float | None) -> str:
    return "–" if value is None else numbers.probability(value)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None
