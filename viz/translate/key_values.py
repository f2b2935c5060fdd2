"""The key-value cache as it grows: what a step computes, what it reads of what was kept; follows the step in the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viz.shared import mount

if TYPE_CHECKING:
    from model.inference.analysis import Analysis
    from model.readings.key_values import KeyValues


def payload(found: KeyValues, analysis: Analysis, trace: str, window: int | None) -> dict[str, Any]:
    """All that the browser needs, as JSON values; `trace` is the timeline's name for what it draws, `window` how many of the
    last tokens self-attention sees, or None."""
    first = found.own[0]
    return {
        "trace": trace,
        "layers": len(found.own),
        "heads": first.heads,
        "width": first.width,
        "number": first.number,
        "begun": analysis.begun,
        "reads": list(analysis.trace.inputs.labels),
        "window": window,
        "each": sum(held.each for held in found.own),
        "source": sum(held.nbytes for held in found.source),
        "sources": found.source[0].tokens if found.source else 0,
        "cached": list(found.cached),
        "whole": list(found.whole),
    }


COMPONENT = mount.Component(__file__, '<div class="key-values"></div>', picture="Key-value cache")


def key_values(data: dict[str, Any], step: int, above: int | None = None) -> None:
    """Mounts the component with the payload; the step is from 1, `above` the px that stand over it in lecture mode, None
    outside of it."""
    COMPONENT.mount("key_values", data, beside={"step": step, "above": above})
