"""python -m model maps: the files of an analysis, and one line for what cannot be written."""

from __future__ import annotations

import csv
import io

import pytest

from model.__main__ import main
from model.checkpoint import load
from model.decoding.strategy import Decoding
from model.export import Exported, read
from model.export.requests import intervention
from model.export.tables import CELLS
from model.inference.analyse import analyse
from model.inference.request import Request

TEXT = "The red fox takes a lamp."


@pytest.mark.parametrize(
    ("end", "options", "asked"),
    [
        (".npz", ["--prefix", "Lo", "--again"], {"prefix": "Lo", "mode": "again"}),
        (".json", ["--target", "Lo varun.", "--beam", "2"], {"target": "Lo varun.", "decoding": Decoding("beam", width=2)}),
    ],
)
def test_file_equals_the_analysis_of_its_options(saved, tmp_path, capsys, end, options, asked):
    out = tmp_path / f"x{end}"
    codes = ("off_cross.1.2", "window-3")
    options = [*options, "--edits", "~".join(codes), "--device", "cpu"]
    assert main(["maps", TEXT, "--checkpoint", str(saved), *options, "--out", str(out)]) == 0
    checkpoint = load(str(saved))
    request = Request(TEXT, str(saved), intervention=intervention(codes), **asked)
    expected = Exported.of(checkpoint, analyse(checkpoint, request))
    assert read(out) == expected
    assert capsys.readouterr().out == expected.translation + "\n"


def test_a_table_holds_the_maps_that_are_asked_for(saved, tmp_path):
    sizes = []
    for name, options in {
        "a": [],
        "b": ["--site", "cross"],
        "c": ["--site", "cross", "--layer", "2", "--head", "1"],
    }.items():
        out = tmp_path / f"{name}.csv"
        assert main(["maps", TEXT, "--checkpoint", str(saved), "--target", "Lo varun.", *options, "--out", str(out)]) == 0
        rows = list(csv.reader(io.StringIO(out.read_bytes().decode("utf-8-sig"), newline="")))
        assert tuple(rows[0]) == CELLS
        sizes.append({tuple(row[:3]) for row in rows[1:]})
    assert sizes[2] == {("cross", "2", "1")}
    assert sizes[1] == {("cross", layer, head) for layer in "12" for head in "12"}
    assert {kind for kind, _, _ in sizes[0]} == {"encoder", "decoder", "cross"} and len(sizes[0]) == 12
