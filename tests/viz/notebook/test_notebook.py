"""The lab in a notebook: frames without a server, figures with the tokens of both axes, and the tour, run as a whole."""

import html
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from model import Request, Site, analyse
from viz.notebook import figure, heads, show

ROOT = Path(__file__).resolve().parents[3]
TOUR = ROOT / "docs" / "notebook.ipynb"
TIMEOUT = 600  # s a cell


@pytest.fixture(scope="module")
def analysis(tiny_checkpoint):
    return analyse(tiny_checkpoint, Request("The fox sees a boat.", target="Lo varun mira."))


def test_a_frame_holds_the_page(analysis, tiny_checkpoint, tmp_path):
    for made in (show(analysis, tiny_checkpoint, layer=1), heads(analysis, tiny_checkpoint, site=Site("cross", 1))):
        markup = made._repr_html_()
        assert re.fullmatch(r'<iframe [^<>]* srcdoc="[^"<>]*" sandbox="allow-scripts" [^<>]*></iframe>', markup)
        assert html.unescape(re.search(r'srcdoc="([^"]*)"', markup)[1]).encode() == made.file
        assert made.save(tmp_path / f"{len(made.file)}.html").read_bytes() == made.file
    for wrong, said in (({"head": 8}, "head 8; expected one of 0 to 1"), ({"layer": 8}, "layer 8; expected one of 0 to 1")):
        with pytest.raises(ValueError, match=f"There is no {said}"):
            show(analysis, tiny_checkpoint, **({"layer": 0} | wrong))
    with pytest.raises(ValueError, match="There is no step 99; expected one of 0 to "):
        show(analysis, tiny_checkpoint, step=99)


@pytest.mark.parametrize("head", [None, 1])
def test_a_figure_has_the_tokens_of_both_axes(analysis, head):
    drawn, seen = figure.attention_map(analysis, Site("decoder", 0), head), analysis.trace.view(Site("decoder", 0), head)
    assert [html.unescape(text) for text in drawn.layout.yaxis.ticktext] == list(seen.queries)
    assert [html.unescape(text) for text in drawn.layout.xaxis.ticktext] == list(seen.keys)
    assert drawn.layout.xaxis.showticklabels and drawn.layout.yaxis.showticklabels
    np.testing.assert_array_equal(
        np.asarray(drawn.data[0].z), np.where(seen.allowed, seen.values, np.nan).astype(np.float32)
    )


def test_a_figure_of_what_is_not_there(analysis):
    with pytest.raises(ValueError, match="no cross-attention in layer 7; it has 2 layers"):
        figure.attention_map(analysis, Site("cross", 7))
    with pytest.raises(ValueError, match="no head 2; expected one of 0 to 1"):
        figure.attention_map(analysis, Site("cross", 0), 2)


@pytest.mark.long
def test_the_tour_runs_and_keeps_no_outputs():
    tour = nbformat.read(TOUR, as_version=4)
    nbformat.validate(tour)
    code = [cell for cell in tour.cells if cell.cell_type == "code"]
    assert len(code) == 10
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    NotebookClient(tour, timeout=TIMEOUT, resources={"metadata": {"path": str(TOUR.parent)}}).execute()
    said = "".join(output.get("text", "") for cell in code for output in cell.outputs)
    assert "causal mask on:  0 leaks" in said
    assert re.search(r"causal mask off: [1-9]\d* leaks", said)
    assert sum("<iframe" in output.get("data", {}).get("text/html", "") for cell in code for output in cell.outputs) == 2
