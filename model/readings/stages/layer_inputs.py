"""Recorded activations of the passes behind an analysis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from ...checkpoint import Checkpoint
from ...inference.analysis import Analysis
from ...inference.source_reading import edits_of
from ...network import masks
from ...network.context import Pass, forced, shifted
from ...trace import Axis, Probe, Site, Streams, Sublayer


class Activations(NamedTuple):
    """Activations of one pass, with a batch of one.

    These are queries, keys, values, z and patterns of every site, the residual stream around every sub-layer, and the
    encoder's output.
    """

    records: dict[Site, dict[str, Tensor]]
    streams: dict[Sublayer, Streams]
    memory: Tensor | None  # [1,S,D]; None without an encoder
    hidden: Tensor  # [1,T,D], the input of the projection; without a decoder [1,S,D]
    unedited: masks.Masks  # the masks without edits


@torch.inference_mode()
def activations(checkpoint: Checkpoint, analysis: Analysis, site: Site | None = None, query: int = -1) -> Activations:
    """Runs the analysis' source and target through the model once, under its intervention, and records everything.

    Where each step has its own pass and the queries of `site` are target tokens, the pass is the one that chose the token of
    `query` (from 0). That query is then the last one. Else the pass reads the full target.
    """
    trace, probe = analysis.trace, Probe("full")
    source, outputs = (_ids(axis, checkpoint.device) for axis in (trace.source, trace.outputs))
    if site is not None and is_stepwise(analysis, site):
        outputs = outputs[:, : query + 1]  # [1,T]
    edits = edits_of(checkpoint, trace.source and trace.source.ids, [analysis.request.intervention])
    hidden = forced(checkpoint.model, source, outputs, Pass(edits, probe))
    unedited = masks.build(checkpoint.config, source, None if outputs is None else shifted(outputs))
    return Activations(probe.records, probe.streams, probe.memory, hidden, unedited)


def is_stepwise(analysis: Analysis, site: Site) -> bool:
    """Returns True where each row of a site's maps comes from its own pass, over the prefix that chose its token."""
    return analysis.last is not None and site.of.queries == "target"


def rows_of(checkpoint: Checkpoint, analysis: Analysis, site: Site) -> Iterator[tuple[slice, dict[str, Tensor]]]:
    """Yields, for each pass behind a site's maps, its rows of the trace and its record of these queries only.

    One pass gives all rows, or each row has its own pass, whose keys end at the query in decoder self-attention. The record
    has `q` [1,H,R,K], `k` and `v` [1,H,S,K], `z` [1,H,R,K], `pattern` and `scores` [1,H,R,S], `mask` [1,H,R,S], and
    `position_bias` [1,H,R,S] where the scheme of positions adds one to the scores.
    """
    has_own_passes = is_stepwise(analysis, site)
    queries = range(len(analysis.trace.queries(site))) if has_own_passes else (-1,)
    for query in queries:
        record = dict(activations(checkpoint, analysis, site, query).records[site])
        mask = record["mask"]  # [1,(H,)T,S]
        record["mask"] = (mask if mask.ndim == 4 else mask[:, None]).expand_as(record["pattern"])  # [1,H,T,S]
        if has_own_passes:
            by_query = ("q", "z", "pattern", "scores", "mask", "position_bias")
            record |= {name: record[name][:, :, -1:] for name in by_query if name in record}
        yield slice(query, query + 1) if has_own_passes else slice(0, None), record


def _ids(axis: Axis | None, device: torch.device) -> Tensor | None:
    return None if axis is None else torch.tensor([axis.ids], device=device)  # [1,S] or [1,T]
