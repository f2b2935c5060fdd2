"""Lesson 0: attention in four pictures of the visitor's own text. For each picture one sentence with its number."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from model.io import numbers
from model.text.measurements import read_alignment
from model.trace import Site, Trace
from viz import computations, theme
from viz.heads import all_heads
from viz.inside.stage_texts import told
from viz.inside.stages import table_data
from viz.kit import mount, thumbnails
from viz.kit.panel import FileOptions, Panel, Picture
from viz.lessons.lessons import ATTENTION, LESSONS, begin, leave
from viz.page_context import PageContext
from viz.state import navigation, session

if TYPE_CHECKING:
    from model.readings.stages.unfold import Unfolded

SIGNS = ("<s>", "</s>", "<pad>", "<mask>")
PLACE = ("kind", "layer", "head")
MIX = "mix"  # the stage of the weighted sum
TERMS = (
    "token",
    "attention weight",
    "score",
    "head",
    "layer",
    "mask",
)  # on the printed page, with those of the model's kind
TERMS_OF_BOTH = ("encoder", "decoder", "cross-attention")
TERM_OF_ONE = {"encoder": "BERT", "decoder": "GPT"}


def choose_link(trace: Trace) -> tuple[Site, int, int, int]:
    """Returns site, head, query and key (from 0) of the weight nearest to 0.5 between two words that are not neighbours.

    Then other values count too. It looks at self-attention of the first stack. Without two such words, any pair counts.
    """
    sites = trace.sites(trace.kinds[0])
    weights, allowed = thumbnails.stack(trace, sites[0].kind)  # [N,T,S], [T,S]
    words = np.array([label not in SIGNS and any(map(str.isalnum, label)) for label in trace.keys(sites[0])])
    apart = np.abs(np.arange(weights.shape[1])[:, None] - np.arange(weights.shape[2]))
    both = words[: len(apart), None] & words & allowed
    cells = next((chosen for chosen in (both & (apart > 1), both & (apart > 0), allowed) if chosen.any()), allowed | True)
    head, query, key = np.unravel_index(np.where(cells, np.abs(weights - 0.5), 1.0).argmin(), weights.shape)
    layer, head = divmod(int(head), len(trace.patterns[sites[0]]))
    return sites[layer], head, int(query), int(key)


def _call(context: PageContext) -> computations.Call:
    site, head, query, _ = choose_link(context.analysis.trace)
    return computations.UNFOLD(site, head, query)


def _payload(context: PageContext, unfolded: Unfolded) -> dict[str, Any]:
    site, (*_, key) = unfolded.site, choose_link(context.analysis.trace)
    weight, mix = float(unfolded["softmax"].tables[0].values[key, 0]), unfolded[MIX]
    foot, names = mix.tables[0].foot, unfolded.keys
    assert foot is not None
    length = numbers.three_digits(float(np.linalg.norm(foot)))
    total = f"The values, times these weights, add up to {len(foot)} numbers: a vector of length {length}."
    if mix.edited:
        total = told(unfolded, mix, context.loaded.config).sentence
    where = f"{numbers.probability(weight)} of its weight on “{names[key]}” ({site.head_name(unfolded.head)})"
    row = f"“{names[unfolded.query]}” puts {where}."
    return {
        "pictures": [
            ["Tokens", f"The model reads {len(names)} tokens.", "More: tokens"],
            ["One row of weights", row, "More: this head"],
            ["Weighted sum", total, "More: each stage"],
            ["All heads", "", "More: all heads"],  # the sentence is that of the thumbnails
        ],
        "tokens": list(names),
        "query": unfolded.query,
        "key": key,
        "weights": table_data(unfolded["softmax"].tables[0]),
        "sum": table_data(mix.tables[0]),
        "signed": list(theme.diverging(context.mode)),
        "summary": _summary(context),
        "chosen": {"kind": site.kind, "layer": site.layer + 1, "head": unfolded.head + 1, "byRow": False},
        "name": ATTENTION,
        "next": {"name": LESSONS[0].name, "question": LESSONS[0].question, "href": LESSONS[0].href},
        **{"step": None, "together": False, "large": False},  # for the thumbnails: no row, one head
    }


def _summary(context: PageContext) -> dict[str, Any]:
    """Returns what the printed page adds: the texts, and the names of the terms to explain."""
    analysis, kinds = context.analysis, context.analysis.trace.kinds
    own = TERMS_OF_BOTH if len(kinds) > 1 else (TERM_OF_ONE[kinds[0]],)
    return {"texts": [text for text in (context.request.source, analysis.translation) if text], "terms": [*TERMS, *own]}


def _thumbnails(context: PageContext, unfolded: Unfolded) -> dict[str, Any]:
    return all_heads.thumbnail_data(
        context.analysis.trace, context.mode, read_alignment(context.loaded.metrics), context.loaded.route_heads
    )


def _events(context: PageContext, unfolded: Unfolded) -> dict[str, mount.Event]:
    trace, site = context.analysis.trace, unfolded.site
    place = {"kind": site.kind, "layer": site.layer, "head": unfolded.head, "average": "none"}
    asks = {"token" if site.spec.query_side == "source" else "step": unfolded.query}
    stage = [each.name for each in unfolded.stages].index(MIX)
    ways = (
        ("inside", {"part": "tokens"}),
        ("heads", place),
        ("inside", {"part": "stages", **place, **asks, "stage": stage}),
        ("heads", {}),
    )
    return {
        "more": (mount.integer(0, len(ways) - 1), lambda number: _go(*ways[number])),
        "head": (partial(thumbnails.read_head, trace), lambda *head: _go("heads", dict(zip(PLACE, head, strict=True)))),
        "begin": (mount.one_of([LESSONS[0].name]), begin),
        "leave": (mount.pressed, leave),
    }


def _go(page: str, change: dict[str, Any]) -> None:
    """Goes to a page with the same text. For callbacks."""
    session.change(**change)
    navigation.go_to(page)


FOUR_PICTURES = Panel(
    "lessons.attention",
    "What is attention?",
    mount.Component(
        __file__, '<div class="four-pictures"></div>', term_names=(*TERMS, *TERMS_OF_BOTH, *TERM_OF_ONE.values())
    ),
    _payload,
    _events,
    _thumbnails,
    call=_call,
    is_visible=lambda context: context.has_checkpoint and context.view.lesson == ATTENTION,
    pictures=(Picture("What is attention?", data=lambda context, result: {"large": True}),),
    file=FileOptions(),
    reads=("lesson",),
)
