"""Notebook outputs: pages of the lab as HTML frames, and attention maps as Plotly figures."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from model.io.files import write_new
from model.trace import Site
from viz import theme
from viz.kit import heatmap_figures
from viz.offline import html_export

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis

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
    """Returns the Heads page: all heads, and one head with lines, map and numbers.

    `site` defaults to the first layer of the first kind of attention. Other arguments are as in `show`.
    """
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
        raise CheckpointError(f"{fault} Pass a checkpoint that you loaded by path as the second argument.") from None


CELL = 24  # px
ROOM = 150  # px for labels and title
LEAST, MOST = 320, 900


def attention_map(
    analysis: Analysis, site: Site, head: int | None = None, mode: theme.Mode = "light", cell: int = CELL
) -> go.Figure:
    """Returns the attention map of a head on a scale from 0 to 1; rows are queries, columns are keys.

    Layer and head count from 0; None is the mean over heads. Masked cells are blank. `cell` is the cell width in px, within
    the limits of the figure size. Raises ValueError for a site or head that does not exist.
    """
    trace = analysis.trace
    if site not in trace.patterns:
        raise ValueError(
            f"There is no {site.of.name} in layer {site.layer}; it has {len(trace.sites(site.kind))} layers, from 0."
        )
    count = len(trace.patterns[site])
    if head is not None and not 0 <= head < count:
        raise ValueError(f"There is no head {head}; expected one of 0 to {count - 1}, or None for their mean.")
    seen = trace.view(site, head)
    width, height = (min(MOST, max(LEAST, ROOM + cell * len(side))) for side in (seen.keys, seen.queries))
    sizes = {"width": width, "height": height, "mode": mode}
    figure = heatmap_figures.attention_map(seen.values, seen.allowed, seen.queries, seen.keys, site.kind, **sizes)
    figure = go.Figure(figure)
    which = "mean over heads" if head is None else f"head {head}"
    title = f"{site.of.name[:1].upper()}{site.of.name[1:]}, layer {site.layer}, {which}"
    top = (figure.layout.margin.t or 0) + 40
    return figure.update_layout(width=width, height=height, margin_t=top, title={"text": title, "x": 0.02, "font_size": 15})
