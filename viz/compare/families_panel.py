"""The families of models on one sentence: which tokens each may see, as the masks of a checkpoint of each family."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from model.config import FAMILIES
from model.export.csv_tables import Table, grid_table, numbered
from model.inference.request import Request
from model.trace import SITE_KINDS, MapView, Side, Trace
from viz import cache
from viz.kit import patterns, site_texts
from viz.kit.panel import Panel, Picture
from viz.page_context import PageContext
from viz.state import uploads

if TYPE_CHECKING:
    from model.export.code import Code

TITLES = {  # of each family: its name, and what it reads and predicts
    "encoder-only": ("BERT", "Reads the whole text. Predicts the blanks."),
    "decoder-only": ("GPT", "Reads from left to right. Predicts the next token."),
    "encoder-decoder": ("Encoder-decoder", "Reads the source and its own output. Predicts the next token."),
}


@dataclass(frozen=True)
class FamilyMask:
    """A family, its checkpoint, and all its tokens with True for each token that another one may see."""

    family: str
    checkpoint: str  # empty: the mask follows from the family's rule
    view: MapView

    @property
    def share(self) -> float:
        return float(self.view.allowed.mean())


def compute_masks(context: PageContext) -> tuple[FamilyMask, ...]:
    """Returns the mask of each family, on the view's sentence."""
    return tuple(_mask(context, family) for family in TITLES)


def _checkpoint(context: PageContext, family: str) -> str:
    """Returns the view's checkpoint if it is of the family, else the first one that is; empty for none."""
    for name in (context.view.checkpoint, *cache.checkpoint_names()):
        task = cache.task(name, context.view.device)
        if task.family == family and not task.is_classifier:
            return name
    return ""


def request_of(text: str, checkpoint: str) -> Request:
    """Returns the request of a family: the sentence alone, without edits."""
    return Request(source=text, checkpoint=checkpoint)


def _mask(context: PageContext, family: str) -> FamilyMask:
    if name := _checkpoint(context, family):
        try:
            analysis = cache.analyse(request_of(context.request.source, name), context.view.device)
        except ValueError:
            return _by_rule(context.analysis.trace, family)
        count = analysis.prompt_length + 1 if family == "decoder-only" else None  # its text without the continuation
        masks = {kind: analysis.trace.mask(analysis.trace.sites(kind)[0]) for kind in analysis.trace.kinds}
        return FamilyMask(family, name, _join(_sides(analysis.trace, count), masks))
    return _by_rule(context.analysis.trace, family)


def _sides(trace: Trace, count: int | None) -> dict[Side, tuple[str, ...]]:
    """Returns the tokens of the source, and the first ones of the decoder's input."""
    sides: dict[Side, tuple[str, ...]] = {}
    if trace.source is not None:
        sides["source"] = trace.source.labels
    if trace.inputs is not None:
        sides["target"] = trace.inputs.labels[:count]
    return sides


def _by_rule(trace: Trace, family: str) -> FamilyMask:
    """Returns the mask that follows from the family: an encoder sees all tokens, a decoder sees no later ones."""
    from model.network.masks import unpadded_mask

    own = _sides(trace, None)
    tokens = own.get("source") or own["target"]
    sides = {SITE_KINDS[kind].query_side: tokens for kind in FAMILIES[family]}
    masks = {kind: np.ones((len(tokens), len(tokens)), dtype=bool) for kind in FAMILIES[family]}
    if "decoder" in masks:
        masks["decoder"] = unpadded_mask(len(tokens), is_causal=True)[0, 0].numpy()
    return FamilyMask(family, "", _join(sides, masks))


def _join(sides: dict[Side, tuple[str, ...]], masks: dict[str, np.ndarray]) -> MapView:
    """Returns one mask of all tokens: those of the source, then those of the target."""
    by_side = {(SITE_KINDS[kind].query_side, SITE_KINDS[kind].key_side): mask for kind, mask in masks.items()}
    counts = {side: len(labels) for side, labels in sides.items()}
    nothing = {(row, key): np.zeros((counts[row], counts[key]), dtype=bool) for row in sides for key in sides}
    blocks = [[by_side.get((row, key), nothing[row, key])[: counts[row], : counts[key]] for key in sides] for row in sides]
    allowed = np.block(blocks)  # [N,N], N tokens of both sides
    labels = tuple(label for side in sides.values() for label in side)
    return MapView(allowed.astype(np.float32), allowed, labels, labels)


def verdict_text(masks: tuple[FamilyMask, ...]) -> str:
    """Returns the mean share of tokens that a token may see in each family."""
    shares = [f"{TITLES[each.family][0]} {each.share:.0%}" for each in masks]
    return f"Tokens that a token may see, on average: {', '.join(shares)}"


HOW = "Row: the token that looks. Grey: the tokens that it may see."


def _payload(context: PageContext, masks: tuple[FamilyMask, ...]) -> dict[str, Any]:
    maps = []
    for each in masks:
        name, note = TITLES[each.family]
        title = f"{name} ({uploads.display_name(each.checkpoint) if each.checkpoint else 'by its rule'})"
        maps.append(patterns.pattern(each.view, None, title, masked=True) | {"note": note, "picture": name})
    return patterns.map_data(maps, 0, context.mode)


def _text(context: PageContext, masks: tuple[FamilyMask, ...]) -> str:
    return f'<p class="lab-verdict" role="status">{html.escape(verdict_text(masks))}</p>{site_texts.note_markup(HOW)}'


def _large_text(context: PageContext, masks: tuple[FamilyMask, ...]) -> str:
    return f'<h2 class="lab-large-title">{html.escape(verdict_text(masks))}</h2>'


def _tables(context: PageContext, masks: tuple[FamilyMask, ...]) -> tuple[Table, ...]:
    return tuple(
        grid_table(f"mask-{each.family}", "token", numbered(each.view.queries), numbered(each.view.keys), each.view.allowed)
        for each in masks
    )


def _code(code: Code, context: PageContext, masks: tuple[FamilyMask, ...]) -> None:
    for each in masks:
        if each.checkpoint:
            name = each.family.replace("-", "_")
            code.load(each.checkpoint, context.view.device, name)
            code.analyse(request_of(context.request.source, each.checkpoint), name, f"of_{name}")
            code.add(f"masks_{name} = of_{name}.trace.masks", "by site")


FAMILY_MASKS = Panel(
    "compare.families",
    "Who may see whom, by family",
    patterns.COMPONENT,
    _payload,
    compute=compute_masks,
    text=_text,
    tables=_tables,
    code=_code,
    is_visible=lambda context: context.view.differs == "family",
    is_cached=False,  # the list of checkpoints may change
    pictures=(Picture("Families", data=lambda context, masks: {"large": True}, text=_large_text),),
)
