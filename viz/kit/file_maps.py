"""Maps of one head next to each other, on pages, in HTML files and in lecture mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from model.trace import MapView
from viz import theme
from viz.kit import mount, patterns
from viz.kit.offline_parts import Part

ROUNDED = frozenset({"values"})

COMPONENT = mount.Component(__file__, '<div class="maps"></div>', picture="Maps of one head")


def map_data(maps: Sequence[dict[str, Any]], step: int, mode: theme.Mode, alike: bool = False) -> dict[str, Any]:
    """Returns the data of maps from `patterns`, with the row of the step (from 1) outlined.

    `alike` gives all cells one size, and as many maps as fit stand in a row. Without it, three do. Only the scales depend on
    the theme.
    """
    options = {"alike": alike, "large": False, "trace": None}
    return {"maps": list(maps), "scales": patterns.scales(mode), "step": step, **options}


def mount_maps(payload: Mapping[str, Any], step: int, key: str) -> None:
    """Mounts the maps on a page, with the row of the step (from 1) outlined."""
    COMPONENT.mount(key, payload, overrides={"step": step})


def map_part(maps: Sequence[dict[str, Any]], step: int, mode: theme.Mode, alike: bool = False) -> Part:
    """Returns the maps for a file."""
    return COMPONENT.part(map_data(maps, step, mode, alike))


def mount_in_lecture(payload: Mapping[str, Any], key: str, step: int | None = None, trace: str | None = None) -> None:
    """Mounts the maps in lecture mode; `trace` names the trace of the timeline that publishes the step."""
    steps = {} if step is None else {"step": step}
    COMPONENT.mount(key, payload, overrides={"large": True, "trace": trace, **steps})


def one(title: str, seen: MapView, kind: str, masked: bool = False) -> dict[str, Any]:
    """Returns a map of a head's weights from 0 to 1, or of the cells that its mask allows."""
    return patterns.pattern(seen, kind, title, masked=masked)


def change(title: str, difference: MapView, kind: str) -> dict[str, Any]:
    """Returns a map of a difference, coloured symmetrically about 0."""
    return patterns.difference(difference, kind, title)
