"""Decoded again without the causal mask, all pictures, tables and files show each row of the pass that chose its token."""

import base64
import csv
import dataclasses
import io

import numpy as np
import pytest

from model.edits.kinds import Place
from model.export import read
from model.export.csv_tables import cells_table
from model.inference.analyse import analyse
from model.trace import Site
from tests.support.component_helpers import floats
from viz import page_context
from viz.compare.distance import views
from viz.compare.pair import pair
from viz.decoding_steps.pattern_maps import MAPS
from viz.decoding_steps.steps import STEPS
from viz.heads.grid_panel import GRID
from viz.heads.page import LAYOUT as HEADS
from viz.inside.length_part import PATTERNS
from viz.inside.page import LAYOUT as INSIDE
from viz.inside.stages import STAGES
from viz.inside.writers import WRITERS, call
from viz.notebook.figure import attention_map
from viz.page_context import PageContext, Places
from viz.save.saved_files import analysis_file
from viz.state.links import parse
from viz.translate.page import LAYOUT as TRANSLATE
from viz.what_if import switchboard
from viz.what_if.change_panel import MAPS as EDITED_MAPS
from viz.what_if.page import LAYOUT as WHAT_IF

LINK = {"causal": "off", "mode": "again", "layer": "2", "head": "4", "text": "The red fox sleeps.", "device": "cpu"}


def shown(**link: str) -> PageContext:
    """Returns the context that a page draws for a link."""
    view, faults = parse(LINK | link)
    assert faults == ()
    data = page_context.build(view)
    return dataclasses.replace(
        data, view=data.view.within(len(data.analysis.trace.predicted_axis)), places=Places(None, None)
    )


def chart(figure) -> np.ndarray:
    """The values of a heatmap in a figure; blank cells are 0."""
    made = next(trace for trace in figure.to_dict()["data"] if trace["type"] == "heatmap")["z"]
    if isinstance(made, dict):
        made = np.frombuffer(base64.b64decode(made["bdata"]), made["dtype"])
    return np.nan_to_num(np.array(made, dtype=float))


def table(tables, start: str) -> np.ndarray:
    """The numbers of the table whose name starts so; blank cells are 0."""
    found = next(each for each in tables if each.name.startswith(start))
    return np.array([[0 if cell is None else cell for cell in row[1:]] for row in found.rows], dtype=float)


def code(module, context: PageContext, name: str) -> np.ndarray:
    """A value that the lines of Python of a page compute."""
    made: dict = {}
    exec(module.python(context), made)
    return made[name]


def on_translate(seen, kind, site):
    yield "lines", np.array(STEPS.payload(seen, None)[kind])
    data = MAPS.payload(seen, MAPS.result(seen))
    yield "map", floats(next(each for each in data["maps"] if each["kind"] == kind)["values"])
    yield "table", table(TRANSLATE.tables(seen), f"attention-{site.spec.code}")
    yield "code", code(TRANSLATE, seen, "maps")[kind].values
    yield "notebook", chart(attention_map(seen.analysis, site, 3))


def in_files(seen, kind, site):
    for form in (".npz", ".json"):
        yield form, read(analysis_file(seen.analysis.request, "cpu", form)).pattern(site, 3).values
    trace = analyse(seen.loaded, seen.analysis.request).trace  # with the scores, which pages do not keep
    rows = csv.DictReader(io.StringIO(cells_table(trace, {site: range(3, 4)}).csv().decode("utf-8-sig")))
    yield ".csv", np.array([float(row["weight"] or 0) for row in rows])


def on_heads(seen, kind, site):
    norms = GRID.result(seen)
    yield "large", floats(GRID.payload(seen, norms)["chosen"]["values"])
    part = GRID.part(seen, norms)
    yield "file", floats(part.data["chosen"]["values"])
    yield "table", table(HEADS.tables(seen), "weights-")
    yield "code", code(HEADS, seen, "values")
    grid = next(each for each in part.data["grids"] if each["kind"] == kind)
    place = grid["places"].index([2, 4])
    levels = np.frombuffer(base64.b64decode(grid["bytes"]), np.uint8).reshape(len(grid["places"]), -1)[place]
    cells = np.zeros(len(grid["allowed"]))
    cells[[cell == "1" for cell in grid["allowed"]]] = levels / 255
    yield "thumbnail", cells


def on_what_if(seen, kind, site):
    yield "map", floats(EDITED_MAPS.payload(seen, None)["maps"][1]["values"])
    board = switchboard.payload(seen.analysis.trace, (), Place(kind, 1, 3), seen.view.intervention, "light")
    yield "board", np.array(board["values"])
    yield "file", floats(EDITED_MAPS.part(seen, None).data["maps"][1]["values"])
    yield "table", table(EDITED_MAPS.tables(seen, None), "after-")
    yield "code", code(WHAT_IF, seen, "map_after").values


def on_compare(seen, kind, site):
    view = shown(kind=kind, differs="head").view
    yield "first map", views(pair(view, seen))[0].values


def inside(seen, kind, site):
    maps = {each["title"]: floats(each["values"]) for each in PATTERNS.payload(seen, PATTERNS.result(seen))["maps"]}
    yield "length", maps["Softmax, as it is"]
    if kind == "decoder":
        yield "window", table(INSIDE.tables(seen), "window-")
    trace = seen.analysis.trace
    steps, weights = [], []
    for step in range(len(trace.outputs)):
        at = dataclasses.replace(seen, view=dataclasses.replace(seen.view, step=step))
        data = STAGES.payload(at, STAGES.result(at))
        softmax = next(each for each in data["stages"] if each["name"] == "softmax")["tables"][0]
        steps.append(floats(softmax["values"]))
        weights.append([each["weight"] for each in WRITERS.payload(at, WRITERS.result(at))["keys"]])
    for name, rows in (("stages", steps), ("writers", weights)):
        made = np.zeros((len(rows), len(trace.keys(site))))
        for t, row in enumerate(rows):
            made[t, : len(row)] = row
        yield name, made


@pytest.mark.parametrize("kind", ["decoder", "cross"])
def test_all_show_the_pass_that_chose_the_token(kind):
    seen, site = shown(kind=kind, near_w="12", part="length"), Site(kind, 1)
    own, last = (trace.view(site, 3).values for trace in (seen.analysis.trace, seen.analysis.final_pass))
    assert np.abs(own - last).max() > 0.05  # else this test would see nothing
    assert kind == "cross" or not np.triu(own, 1).any()
    for page in (on_translate, in_files, on_heads, on_what_if, on_compare, inside):
        for name, values in page(seen, kind, site):
            tolerance = 0.6 / 255 if name == "thumbnail" else 6e-4 if name == "writers" else 6e-5
            where = f"{page.__name__}: {name}"
            np.testing.assert_allclose(values.ravel(), own.ravel(), rtol=0, atol=tolerance, err_msg=where)


def test_a_key_that_was_not_written_yet_cannot_be_split():
    seen = shown(kind="decoder", part="writers", step="3", key="4")
    (table,) = INSIDE.tables(seen)
    assert call(seen).arguments[3] < 3 and table.rows
