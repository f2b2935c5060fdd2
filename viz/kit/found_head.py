"""The head with the strongest link between two tokens, as fields of the view."""

from __future__ import annotations

from typing import Any

from model.inference.request import Request
from model.readings.heads.head_maps import Pair, strongest_head
from viz import cache
from viz.state.view import View


def linking_head(request: Request, view: View, find: tuple[str, int, int]) -> dict[str, Any]:
    """Returns the fields that show the head with the strongest link between two tokens; none for missing tokens."""
    try:
        layer, head = strongest_head(cache.analyse(request, view.device).trace, Pair(*find), view.merge)
    except ValueError:
        return {}
    return {"kind": find[0], "layer": layer, "head": head, "average": False, "together": False}
