"""What each single patch does, as grids: layers by positions of both stacks, layers by heads of each site."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from model.config import PAD
from model.edits.kinds import Labels, PatchStream, PatchZ, Place
from model.trace import SITE_KINDS
from viz import theme
from viz.shared import mount

if TYPE_CHECKING:
    from model.edits.kinds import Edit
    from model.experiments.patching import Patching


def payload(
    found: Patching, labels: Labels, chosen: tuple[str, ...], mode: theme.Mode, large: dict[str, Any] | None = None
) -> dict[str, Any]:
    """All that the browser needs, as JSON values; shares of the way, or where both sentences are near changes in nats.
    `large`: what is said beside one picture that fills the screen."""
    real = [n for n, token in enumerate(found.question.source) if token != PAD]
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
        "large": large,
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


_COMPONENT = mount.Component(__file__, '<div class="patch-grids"></div>', picture="Patching")


def grids(data: dict[str, Any], on_piece: Callable[[str], None], key: str = "patch_grids") -> None:
    """Mounts the component; `on_piece` is called with the code of the patch that is clicked."""
    codes = {code for grid in data["grids"] for row in grid["codes"] for code in row}
    _COMPONENT.mount(key, data, {"piece": (mount.one_of(codes), on_piece)})
