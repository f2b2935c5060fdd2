"""How much memory an analysis takes, before it is made."""

from __future__ import annotations

from model.config import ModelConfig
from model.inference.request import RequestError
from model.trace import SITE_KINDS

FLOAT = 4  # bytes
MEGABYTE = 10**6


def trace_bytes(config: ModelConfig, source: int, target: int) -> int:
    """Bytes of a trace over so many tokens of each side: patterns and scores [H,T,S] of every site, and [T,V] or [1,C]."""
    size = {"source": source, "target": target}
    cells = sum(n * size[SITE_KINDS[kind].queries] * size[SITE_KINDS[kind].keys] for kind, n in config.layers.items())
    predicted = len(config.classes) or (target or source) * config.target_vocab
    return FLOAT * (2 * config.heads * cells + predicted)


def check(config: ModelConfig, source: int, target: int, traces: int, most: int | None) -> None:
    """Raises RequestError, one sentence, where so many traces together are larger than `most` bytes."""
    found = traces * trace_bytes(config, source, target)
    if most is not None and found > most:
        raise RequestError(
            f"The maps of {source} source and {target} target tokens would take {found / MEGABYTE:,.0f} MB; expected at "
            f"most {most / MEGABYTE:,.0f}. Shorten the sentence or its translation."
        )
