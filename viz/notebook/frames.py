"""Pages of the lab as outputs of a cell: the HTML file of a view in a frame of its own."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from model.io.files import write_new
from model.trace import Site
from viz.offline import html_export

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis

HEIGHTS = {"translate": 940, "heads": 1100}  # px, in which most sentences need no scrolling


@dataclass(frozen=True, repr=False)
class Frame:
    """A page as one HTML file, shown in a frame. The frame reaches neither the notebook nor the network."""

    file: bytes
    height: int  # px
    title: str

    def _repr_html_(self) -> str:
        held = html.escape(self.file.decode())
        return (
            f'<iframe title="{html.escape(self.title)}" srcdoc="{held}" sandbox="allow-scripts" width="100%" '
            f'height="{self.height}" style="border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<{self.title}: {len(self.file):,} bytes>"

    def save(self, path: str | Path) -> Path:
        """Writes the file; FileError where there is one already, no folder, or no room."""
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
    """The translation step by step, with what may come next, and the three maps of any layer and head (None: the mean).

    `checkpoint` is the one that made the analysis; where it is left out, the one of its name is loaded. Raises ValueError
    for a layer, head or step that is not there.
    """
    fields = {"layer": layer + 1, "head": None if head is None else head + 1, "step": step + 1}
    return _framed("translate", analysis, checkpoint, fields, height)


def heads(
    analysis: Analysis,
    checkpoint: Checkpoint | None = None,
    *,
    site: Site | None = None,
    head: int | None = 0,
    step: int = 0,
    height: int | None = None,
) -> Frame:
    """All heads at once, and one of them large: lines from token to token, its map, its numbers. `site` is the encoder's
    first layer where it is left out; all else as in `show`."""
    site = site or Site(analysis.trace.kinds[0], 0)
    fields = {"kind": site.kind, "layer": site.layer + 1, "head": None if head is None else head + 1, "step": step + 1}
    return _framed("heads", analysis, checkpoint, fields, height)


def _framed(
    page: str, analysis: Analysis, checkpoint: Checkpoint | None, fields: dict[str, object], height: int | None
) -> Frame:
    view = html_export.view_of(analysis.request, analysis.checkpoint, **fields)
    page_data = html_export.page_data_of(checkpoint or _loaded(analysis.checkpoint), analysis, view, first=0)
    return Frame(
        html_export.file_of(page, page_data),
        height or HEIGHTS[page],
        f"Attention Lab: {html_export.page_of(page, analysis.task).title}",
    )


@cache
def _loaded(name: str) -> Checkpoint:
    from model.checkpoint import CheckpointError, load

    try:
        return load(name)
    except CheckpointError as fault:
        raise CheckpointError(f"{fault} Where it was loaded by a path, give it as the second argument.") from None
