"""Axis labels with the sentence of each token, `A:dog`, `B:it`, for models that read two sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from model.trace import Axis, MapView, Site, Trace

NAMES = ("A", "B")


def label_sentences(labels: Sequence[str], axis: Axis | None, places: Sequence[int] | None = None) -> list[str]:
    """Returns labels with the sentence of each token; `places` are their positions if some are missing."""
    if axis is None or not axis.sentence_numbers:
        return list(labels)
    of = [axis.sentence_numbers[place] for place in (range(len(labels)) if places is None else places)]
    return [label if label == "<pad>" else f"{NAMES[number]}:{label}" for label, number in zip(labels, of, strict=True)]


def queries(trace: Trace, site: Site) -> list[str]:
    """Returns the labels of a site's rows."""
    return label_sentences(trace.queries(site), trace.source if site.spec.query_side == "source" else None)


def keys(trace: Trace, site: Site) -> list[str]:
    """Returns the labels of a site's columns."""
    return label_sentences(trace.keys(site), trace.source if site.spec.key_side == "source" else None)


def label_map(view: MapView, trace: Trace, site: Site) -> MapView:
    """Returns a map of a site with these labels."""
    return dataclasses.replace(view, queries=tuple(queries(trace, site)), keys=tuple(keys(trace, site)))
