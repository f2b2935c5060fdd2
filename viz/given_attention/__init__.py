"""Attention of any model, in one call: `from model import show, heads, save_html`.

`patterns` and `tokens` are the arguments of `GivenAttention.of`: the output of a Hugging Face model, tensors or arrays, and
the texts of the tokens. Layers and heads count from 0, as everywhere in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from model.export.given_attention import GivenAttention
from model.io.files import check_new, write_new
from model.io.package_names import missing_extra

if TYPE_CHECKING:  # the command line must start without Streamlit and Plotly
    from viz.given_attention.attention_page import Head, Layout
    from viz.notebook import Frame

__all__ = ["GivenAttention", "heads", "save_html", "show"]

HEIGHT = 1100  # px


def show(
    patterns: Any,
    tokens: Any = None,
    *,
    source_tokens: Any = None,
    kind: str | None = None,
    row: int = 0,
    name: str = "",
    head: Head | None = None,
    compare: Any = None,
    full: Sequence[Head] | bool | None = None,
    height: int = HEIGHT,
) -> Frame:
    """Returns one head large, with its lines and its map, above the thumbnails of all heads.

    Args:
        patterns: Weights [layer, head, query, key], or the output of a Hugging Face model; see `GivenAttention.of`.
        tokens: The texts of the tokens, of a decoder where the model has one.
        source_tokens: The texts of the tokens that an encoder reads.
        kind: encoder, decoder or cross, of patterns without a name; see `GivenAttention.of`.
        row: The row of the batch, from 0.
        name: The name of the model, for the header.
        head: kind, layer and head, such as `("encoder", 3, 0)` (default: the first head).
        compare: Patterns of a second model on the same tokens.
        full: Heads whose full maps the frame holds where there are too many weights for all; True for all heads.
        height: of the frame, in px.

    Raises:
        ValueError: One sentence with the value found and the value expected.
    """
    options = {"source_tokens": source_tokens, "kind": kind, "row": row}
    return _frame(_file("head", patterns, tokens, name, head, compare, full, **options), height)


def heads(
    patterns: Any,
    tokens: Any = None,
    *,
    source_tokens: Any = None,
    kind: str | None = None,
    row: int = 0,
    name: str = "",
    head: Head | None = None,
    compare: Any = None,
    full: Sequence[Head] | bool | None = None,
    height: int = HEIGHT,
) -> Frame:
    """Returns all heads as thumbnails with metrics, orders and a search, above one head.

    The arguments `patterns`, `tokens`, `source_tokens`, `kind`, `row`, `name`, `head`, `compare`, `full` and `height` are
    those of `show`. Raises ValueError as `show`.
    """
    options = {"source_tokens": source_tokens, "kind": kind, "row": row}
    return _frame(_file("heads", patterns, tokens, name, head, compare, full, **options), height)


def save_html(
    patterns: Any,
    tokens: Any,
    path: Path | str,
    *,
    source_tokens: Any = None,
    kind: str | None = None,
    row: int = 0,
    name: str = "",
    head: Head | None = None,
    compare: Any = None,
    full: Sequence[Head] | bool | None = None,
) -> Path:
    """Writes the page of `heads` to `path`, one HTML file that needs no server, and returns the path.

    The arguments `patterns`, `tokens`, `source_tokens`, `kind`, `row`, `name`, `head`, `compare` and `full` are those of
    `show`. Raises ValueError as `show`, and FileError if the file exists or cannot be written.
    """
    path = Path(path)
    check_new(path)
    options = {"source_tokens": source_tokens, "kind": kind, "row": row}
    write_new(path, _file("heads", patterns, tokens, name, head, compare, full, **options))
    return path


def _frame(file: bytes, height: int) -> Frame:
    from viz.given_attention.attention_page import TITLE
    from viz.notebook import Frame

    return Frame(file, height, TITLE)


def _file(
    layout: Layout,
    patterns: Any,
    tokens: Any,
    name: str,
    head: Head | None,
    compare: Any,
    full: Sequence[Head] | bool | None,
    **options: Any,
) -> bytes:
    try:
        from viz.given_attention.attention_page import PageOptions, page
    except ImportError as fault:
        raise ImportError(missing_extra(fault) or str(fault)) from fault
    attentions = [GivenAttention.of(patterns, tokens, name=name, **options)]
    if compare is not None:
        attentions.append(GivenAttention.of(compare, tokens, **options))
    return page(attentions, PageOptions(layout, head, full))
