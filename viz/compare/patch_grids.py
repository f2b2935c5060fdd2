"""The grids of patches, and the texts about them: layers by positions of both stacks, layers by heads of each site."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from model.config import PAD
from model.edits.kinds import Edit, PatchStream, PatchZ, Place, TokenLabels
from model.inference.predictions import changed_words, is_near_tie
from model.io import numbers
from model.trace import SITE_KINDS
from viz import theme
from viz.kit import mount, site_texts

if TYPE_CHECKING:
    from model.experiments.patching import Patching, PatchingRequest
    from model.inference.analysis import Analysis
    from model.text.tokenizer import Tokenizer


def payload(found: Patching, labels: TokenLabels, chosen: tuple[str, ...], mode: theme.Mode) -> dict[str, Any]:
    """Returns the shares of all patches, or changes in nats if both sentences are near."""
    real = [n for n, token in enumerate(found.request.source) if token != PAD]
    layers = range(len(found.encoder))
    grids = [
        _grid(
            found,
            "encoder",
            "Encoder, residual stream",
            [f"after {n}" if n else "embedding" for n in layers],
            [labels.source[n] for n in real],
            [[PatchStream("encoder", n, at) for at in real] for n in layers],
            found.encoder[:, real],
        ),
        _grid(
            found,
            "decoder",
            "Decoder, residual stream",
            [f"after {n + 1}" for n in range(len(found.decoder))],
            list(labels.inputs[: found.decoder.shape[1]]),
            [[PatchStream("decoder", n + 1, at) for at in range(found.decoder.shape[1])] for n in range(len(found.decoder))],
            found.decoder,
        ),
    ]
    for kind, values in found.heads.items():
        count, heads = values.shape
        rows = [[PatchZ(Place(kind, n, head), None) for head in range(heads)] for n in range(count)]
        title = f"Heads of {SITE_KINDS[kind].name}, all positions"
        grids.append(
            _grid(found, kind, title, [f"L{n + 1}" for n in range(count)], [*map(str, range(1, heads + 1))], rows, values)
        )
    return {
        "grids": grids,
        "chosen": list(chosen),
        "unit": "nats" if found.is_near else "share",
        "most": _most(grids),
        "scale": list(theme.diverging(mode)),
        "large": None,
    }


def _grid(
    found: Patching, hue: str, title: str, rows: list[str], columns: list[str], edits: list[list[Edit]], values: np.ndarray
) -> dict[str, Any]:
    shown = values - found.before if found.is_near else found.share(values)
    return {
        "hue": hue,
        "title": title,
        "rows": rows,
        "columns": columns,
        "values": [[None if math.isnan(v) else round(float(v), 4) for v in row] for row in shown],
        "codes": [[edit.code for edit in row] for row in edits],
    }


def _most(grids: list[dict[str, Any]]) -> float:
    """The value at which the colour is full: the whole way, or the largest change."""
    return max((abs(v) for grid in grids for row in grid["values"] for v in row if v is not None), default=1.0)


COMPONENT = mount.Component(__file__, '<div class="patch-grids"></div>', picture="Patching")

NAMED = 4  # of several heads
WITHOUT = "Patching starts from both sentences without the edits above."


def names(question: PatchingRequest, tokenizer: Tokenizer) -> tuple[str, str]:
    """The two tokens that are compared, as they are read."""
    first, second = (tokenizer.piece(token).removeprefix("·") or "·" for token in question.tokens)
    return first, second


def why_here(same: bool) -> str:
    """Why this step is measured where none was chosen; `same`: both sentences have one translation."""
    return "Both have the same translation; here they disagree the most." if same else "Here the two translations part."


def alignment(question: PatchingRequest, own: Sequence[str], theirs: Sequence[str]) -> str:
    """Which tokens take from another one, and which have no partner; empty where nothing is to be said."""
    real = [n for n, token in enumerate(question.source) if token != PAD]
    pairs = [(own[n], theirs[at]) for n in real if (at := question.partners[n]) is not None]
    here = [own[n] for n in real if question.partners[n] is None]
    there = [theirs[n] for n in range(len(theirs)) if n not in question.partners]
    told = [f"{_some([f'“{mine}” takes from “{its}”' for mine, its in pairs if mine != its])}"]
    told += [f"not changed, no match in the other sentence: {_some(here)}"] * bool(here)
    told += [f"in the other sentence without a partner, so never put in: {_some(there)}"] * bool(there)
    found = "; ".join(filter(None, told))
    return f"Tokens are paired by the longest common part: {found}." if found else ""


def _some(named: Sequence[str]) -> str:
    more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
    return ", ".join(named[:NAMED]) + more


def percent(share: float) -> str:
    """A share of the way in per cent; one that rounds to nothing has no sign."""
    shown = round(100 * share)
    return f"{numbers.decimal(shown, 0)}%" if shown else "0%"


def told(edit: Edit, labels: TokenLabels) -> str:
    """Where a patch is put in, in words."""
    if isinstance(edit, PatchZ):
        where = edit.place.text
    else:
        where = f"{edit.stack}, after layer {edit.layers}" if edit.layers else f"{edit.stack}, embedding"
    return where + ("" if edit.position is None else f", at “{labels.query(edit.query_kind, edit.position)}”")


def answer(found: Patching, tokens: tuple[str, str], labels: TokenLabels, tie: str) -> list[str]:
    """The way from one sentence to the other, what one head does of it, and where it goes in the encoder: sentences. `tie`
    says that the choice was one, or is empty."""
    difference = f"The logit of “{tokens[0]}” less that of “{tokens[1]}”"
    both = f"{difference} is {numbers.signed(found.before)} here and {numbers.signed(found.other)} in the other sentence"
    if found.is_near:
        return [f"{both}: too near for shares of the way, so the cells show by how much it changes, in nats."]
    heads = [(edit, value) for edit, value in found.patches if isinstance(edit, PatchZ)]
    best, value = max(heads, key=lambda each: found.share(each[1]))
    most = f"{told(best, labels)}, {percent(float(found.share(value)))} of the way"
    turning = sum(found.flips_choice(each) for _, each in heads)
    likelier = f"make “{tokens[1]}” likelier than “{tokens[0]}”"
    sentences = [f"{both}."]
    if (found.before >= 0) == (found.other >= 0):
        sentences.append(f"Both sentences prefer the same of the two; the most that one head brings: {most}.")
    elif found.before < 0:
        prefers = f"This sentence prefers “{tokens[1]}”, the other “{tokens[0]}”"
        sentences.append(f"{prefers}; the most that one head brings: {most}.")
    elif turning:
        many = f" ({turning} of {len(heads)} do it alone)" if turning > 1 else ""
        sentences.append(f"One head is enough to {likelier}{many}{tie}; the most comes from {most}.")
    elif found.head_set:
        edits, reached = found.head_set
        sentences.append(
            f"No head alone can {likelier}; the most comes from {most}. Put in one after the other, {len(edits)} of "
            f"{len(heads)} heads do it together, {percent(float(found.share(reached)))} of the way: {listed(edits)}."
        )
    return [*sentences, travels(found, labels)]


def asked(question: PatchingRequest, tokens: tuple[str, str]) -> str:
    """What patching asks, of these two tokens."""
    return f"Step {question.step + 1}: what turns “{tokens[0]}” into “{tokens[1]}”?"


def far(found: Patching, value: float) -> str:
    """How far a piece leads, in words."""
    if found.is_near:
        return f"{numbers.signed(value - found.before)} nats"
    return f"{percent(float(found.share(value)))} of the way"


def listed(edits: Sequence[Edit]) -> str:
    """Heads by name: `cross 3.1, cross 4.4`."""
    return ", ".join(edit.place.text for edit in edits)


def tie(first: float, second: float) -> str:
    """That two probabilities were near each other already; empty where they were not."""
    both = f"{numbers.probability(first)} against {numbers.probability(second)}"
    return f", for it was a near-tie, {both}" if is_near_tie(first, second) else ""


def travels(found: Patching, labels: TokenLabels) -> str:
    """Which position of the encoder carries the most after each layer; a position that goes on doing so is told once."""
    shares = np.nan_to_num(np.asarray(found.share(found.encoder)), nan=-np.inf)  # [L+1,S]
    stops: list[tuple[int, list[str]]] = []
    for layers, row in enumerate(shares):
        at = int(row.argmax())
        if not stops or stops[-1][0] != at:
            stops.append((at, []))
        stops[-1][1].append(f"{f'layer {layers}' if layers else 'embedding'} {percent(float(row[at]))}")
    told = [f"“{labels.query('encoder', at)}” ({', '.join(each)})" for at, each in stops]
    return f"Encoder position with the largest share, layer by layer: {' → '.join(told)}."


def compared(first: Analysis, second: Analysis, patched: Analysis | None, tokenizer: Tokenizer, code: str) -> str:
    """Three translations as markup, what is another than in the first marked."""
    own = first.trace.outputs.ids
    rows = [("This sentence", own, ()), ("The other", second.trace.outputs.ids, own)]
    rows.append(("Patched", () if patched is None else patched.trace.outputs.ids, own))
    lines = "".join(
        f'<span>{name}</span><p lang="{code}">{_marked(ids, against, tokenizer)}</p>' for name, ids, against in rows
    )
    return f'<div class="lab-three"><div class="lab-both">{lines}</div></div>'


def _marked(ids: Sequence[int], against: Sequence[int], tokenizer: Tokenizer) -> str:
    changed = changed_words(against, ids)[1] if against else [False] * len(ids)
    return site_texts.marked(tokenizer.segments(ids), changed, "is") or ("&nbsp;" if not ids else site_texts.EMPTY)


def effect(found: Patching, edits: Sequence[Edit], value: float, labels: TokenLabels, is_other: bool, turned: bool) -> str:
    """What is put in, and what it does."""
    kind = "heads" if all(isinstance(edit, PatchZ) for edit in edits) else "pieces"
    what = told(edits[0], labels) if len(edits) == 1 else f"these {len(edits)} {kind}"
    reached = far(found, value)
    said = (
        "the translation becomes the other’s"
        if is_other
        else "the translation changes"
        if turned
        else "the translation stays"
    )
    return f"Put in from the other sentence: {what}. {reached[:1].upper()}{reached[1:]}, to {numbers.signed(value)}; {said}."
