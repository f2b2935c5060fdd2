"""The lab in a notebook, without a server: `show` and `heads` are pages in a frame, `figure` makes Plotly figures.

Layers, heads and steps count from 0, as everywhere in Python.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from model.io.files import write_new
from model.trace import Site
from viz.notebook import figure
from viz.offline import html_export

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis

__all__ = ["Frame", "figure", "heads", "show"]

HEIGHTS = {"translate": 940, "heads": 1100}  # px; most sentences need no scrolling


@dataclass(frozen=True, repr=False)
class Frame:
    """A page as one HTML file in a sandboxed frame without access to the notebook or the network."""

    file: bytes
    height: int  # px
    title: str

    def _repr_html_(self) -> str:
        document = html.escape(self.file.decode())
        return (
            f'<iframe title="{html.escape(self.title)}" srcdoc="{document}" sandbox="allow-scripts" width="100%" '
            f'height="{self.height}" style="border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<{self.title}: {len(self.file):,} bytes>"

    def save(self, path: str | Path) -> Path:
        """Writes the file; raises FileError if it exists or cannot be written."""
        write_new(Path(path), self.file)
        return Path(path)


def show(
    analysis: Analysis,
    checkpoint: Checkpoint | None = None,
    *,
    layer: int = 2,
    head: int | None = None,
    step: int = 0,
    height: int | None = None,
) -> Frame:
    """Returns the Translate page: decoding steps, top next tokens, and the maps of a layer and head (None: mean).

    `checkpoint` is the checkpoint of the analysis (default: loaded by name). Raises ValueError for a layer, head or step
    that does not exist.
    """
    fields = {"layer": layer, "head": head, "step": step}
    return _frame("translate", analysis, checkpoint, fields, height)


def heads(
    analysis: Analysis,
    checkpoint: Checkpoint | None = None,
    *,
    site: Site | None = None,
    head: int | None = 0,
    step: int = 0,
    height: int | None = None,
) -> Frame:
    """Returns the Heads page: all heads, and one head with lines, map and numbers.

    `site` defaults to the first layer of the first kind of attention. Other arguments are as in `show`.
    """
    site = site or Site(analysis.trace.kinds[0], 0)
    fields = {"kind": site.kind, "layer": site.layer, "head": head, "step": step}
    return _frame("heads", analysis, checkpoint, fields, height)


def _frame(
    page: str, analysis: Analysis, checkpoint: Checkpoint | None, fields: dict[str, object], height: int | None
) -> Frame:
    view = html_export.make_view(analysis.request, analysis.checkpoint, **fields)
    context = html_export.make_context(checkpoint or _loaded(analysis.checkpoint), analysis, view, first=0)
    return Frame(
        html_export.file_of(page, context),
        height or HEIGHTS[page],
        f"Attention Lab: {html_export.page_of(page, analysis.task).title}",
    )


@cache
def _loaded(name: str) -> Checkpoint:
    from model.checkpoint import CheckpointError, load

    try:
        return load(name)
    except CheckpointError as fault:
        raise CheckpointError(f"{fault} Pass a checkpoint that you loaded by path as the second argument.") from None
