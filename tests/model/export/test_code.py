"""Copied Python runs anywhere, and tables are read back from CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from model.checkpoint import load, save
from model.decoding.strategy import Decoding
from model.experiments.effects import head_effects, mask_effects
from model.experiments.leaks import leak_test
from model.export.code import Code
from model.export.csv_tables import CELLS, Table, cells_table, map_table, steps_table
from model.inference.analyse import analyse
from model.inference.request import Request
from tests.support import tiny

ROOT = Path(__file__).resolve().parents[3]
TEXT, SHORT = "The red fox takes a lamp.", Decoding(max_total_tokens=6)
RUNS_ALL = """
import json, runpy, sys
found = [runpy.run_path(path)["analysis"] for path in sys.argv[1:]]
print(json.dumps([[each.checkpoint, each.translation] for each in found]))
"""


def run(folder: Path, *scripts: str) -> list[list[str]]:
    """Runs copied scripts in a process of their own, outside the project and without CHECKPOINTS=."""
    paths = [folder / f"copied-{number}.py" for number in range(len(scripts))]
    for path, script in zip(paths, scripts, strict=True):
        path.write_text(script, encoding="utf-8")
    known = {name: value for name, value in os.environ.items() if name != "CHECKPOINTS"} | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", RUNS_ALL, *map(str, paths)]
    made = subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True, timeout=240)
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout.splitlines()[-1])


def test_the_copied_python_runs_from_every_place(saved, tiny_checkpoint, tmp_path, monkeypatch):
    mine, namesake = tmp_path / "runs" / "mine" / "checkpoint", tmp_path / "own" / "en-fr"
    save(tiny_checkpoint, mine)
    save(tiny_checkpoint, namesake)
    monkeypatch.chdir(tmp_path)
    by_path = analyse(load("runs/mine/checkpoint"), Request(TEXT, decoding=SHORT))
    shipped = analyse(load("en-fr-peek"), Request(TEXT, decoding=SHORT))
    monkeypatch.setenv("CHECKPOINTS", os.pathsep.join([str(saved), str(namesake.parent)]))
    offered = [Request(TEXT, name, decoding=SHORT) for name in ("saved", "en-fr (own)")]
    answers = [analyse(load(request.checkpoint), request) for request in offered]
    asked = [shipped.request, by_path.request, *offered, *(each.request for each in answers)]
    scripts = [Code.of(request, "cpu").text for request in asked]
    assert "load('en-fr-peek', 'cpu')" in scripts[0] and repr(str(mine)) in scripts[1]
    expected = [shipped, by_path, *answers, *answers]
    found = run(tmp_path / "runs", *scripts)
    assert [translation for _, translation in found] == [each.translation for each in expected]
    assert [name for name, _ in found][:3] == ["en-fr-peek", "mine", "saved"]


@pytest.mark.parametrize("use", [analyse, head_effects, mask_effects, leak_test], ids=lambda use: use.__name__)
def test_a_request_for_another_checkpoint_is_refused(saved, use):
    lab = load(str(saved))
    with pytest.raises(ValueError, match=r"^The request names the checkpoint 'gpt-mini', and 'saved' is loaded; expected"):
        use(lab, Request(TEXT, checkpoint="gpt-mini"))
    with pytest.raises(ValueError, match=r"^The request names the checkpoint 'en-fr', and 'saved' is loaded; expected"):
        use(lab, Request(TEXT, checkpoint="en-fr"))


def test_folder_with_a_shipped_name_is_renamed(tiny_checkpoint, tmp_path):
    save(tiny_checkpoint, tmp_path / "own" / "en-fr")
    lab = load(str(tmp_path / "own" / "en-fr"))
    assert lab.name == "en-fr (own)"
    with pytest.raises(ValueError, match=r"names the checkpoint 'en-fr', and 'en-fr \(own\)' is loaded"):
        analyse(lab, Request(TEXT, "en-fr"))


def rows_of(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def test_texts_numbers_and_blanks_are_read_back():
    odd = ('a "b", c', "two\nlines", "é→ñ 🦉", "", " x", "<s>")
    numbers = (0.1, -0.5, np.float32(0.1), np.float32(-1e-7), 3, True, None, math.nan, -math.inf)
    table = Table("x", tuple(map(str, range(len(odd) + len(numbers)))), ((*odd, *numbers),))
    raw = table.csv()
    assert raw.startswith(b"\xef\xbb\xbf0,1,") and raw.endswith(b"\r\n")
    (row,) = rows_of(raw)[1:]
    assert tuple(row[: len(odd)]) == odd
    assert row[len(odd) :] == ["0.1", "-0.5", "0.1", "-1e-07", "3", "TRUE", "", "", ""]
    assert np.float32(row[len(odd) + 2]) == np.float32(0.1)


@pytest.mark.parametrize("typed", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1"])
def test_no_typed_text_is_a_formula(typed):
    ((found,), (cell,)) = rows_of(Table("x", (typed,), ((typed,),)).csv())
    assert found == cell == "'" + typed


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="row 2 of x has 1 cells; expected 2"):
        Table("x", ("a", "b"), ((1, 2), (1,)))


def test_the_cells_of_maps_are_those_of_the_trace(tiny_checkpoint):
    trace = analyse(tiny_checkpoint, Request("The red fox.", intervention=tiny.edited("block_cross.1.2_2-2"))).trace
    site = trace.sites("cross")[0]
    table = cells_table(trace, {site: [1]})
    view = trace.view(site, 1)
    assert table.columns == CELLS
    assert len(table.rows) == view.values.size
    for kind, layer, head, i, query, j, key, allowed, score, weight in table.rows:
        assert (kind, layer, head) == ("cross", 1, 2)
        assert (query, key) == (view.queries[i - 1], view.keys[j - 1])
        assert (allowed, weight) == (view.allowed[i - 1, j - 1], view.values[i - 1, j - 1])
        assert score == trace.scores[site][1, i - 1, j - 1]
    assert not all(row[7] for row in table.rows)


def test_table_of_a_map_is_blank_where_masked(tiny_checkpoint):
    trace = analyse(tiny_checkpoint, Request("The red fox.", target="Lo varun roji.")).trace
    view = trace.view(trace.sites("decoder")[0], 0)
    table = map_table("x", view)
    assert table.columns[1:3] == ("1 <s>", f"2 {view.keys[1]}")
    for t, row in enumerate(table.rows):
        assert row[0] == f"{t + 1} {view.queries[t]}"
        assert row[1 : t + 2] == tuple(view.values[t, : t + 1]) and set(row[t + 2 :]) <= {None}


def test_steps_have_a_row_for_each_candidate():
    logs = np.log(np.array([[0.5, 0.25], [0.75, 0.125]]))
    table = steps_table(("Le", "."), logs[:, 0], (("Le", "La"), (".", "!")), logs)
    assert [row[:2] + row[4:6] for row in table.rows] == [
        (1, "Le", 1, "Le"),
        (1, "Le", 2, "La"),
        (2, ".", 1, "."),
        (2, ".", 2, "!"),
    ]
    assert [row[2] for row in table.rows] == pytest.approx([0.5, 0.5, 0.75, 0.75])
    assert [row[6] for row in table.rows] == pytest.approx([0.5, 0.25, 0.75, 0.125])
