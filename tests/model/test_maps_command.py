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
from tests.support.command_line_helpers import fails

TEXT = "The red fox takes a lamp."


@pytest.mark.parametrize(
    ("end", "options", "asked"),
    [
        (".npz", ["--prefix", "Lo", "--again"], {"prefix": "Lo", "mode": "again"}),
        (".json", ["--target", "Lo varun.", "--beam", "2"], {"target": "Lo varun.", "decoding": Decoding("beam", width=2)}),
    ],
)
def test_the_file_is_the_analysis_of_these_options(saved, tmp_path, capsys, end, options, asked):
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "x.xlsx"], "--out ends in '.xlsx'; expected one of .npz, .json, .csv"),
        (["--out", "x"], "--out ends in ''; expected one of"),
        (["--out", "no/x.npz"], "there is no folder"),
        (["--out", "there.npz"], "there.npz is there already; give another name, or remove it"),
        (["--out", f"{'x' * 300}.npz"], "cannot be written: File name too long"),
        (["--out", "x.npz", "--head", "1"], "--head narrows a table; give --out a name that ends in .csv, or leave it out"),
        (["--out", "x.csv", "--site", "middle"], "--site is 'middle'; expected one of encoder, decoder, cross"),
        (["--out", "x.csv", "--layer", "9"], "--layer is 9; expected 1 to 2"),
        (["--out", "x.csv", "--head", "0"], "--head is 0; expected 1 to 2"),
        (["--out", "x.npz", "--edits", "off_middle"], "--edits: “off_middle” is no edit; expected one such as"),
        (["--out", "x.npz", "--edits", "off_cross.9"], "layer 9"),
        (["--out", "x.npz", "--target", "a", "--prefix", "b"], "Both a target and a prefix are given"),
        ([], "the following arguments are required: --out"),
    ],
)
def test_what_cannot_be_is_told_in_one_line_and_leaves_nothing(saved, tmp_path, monkeypatch, capsys, options, message):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "there.npz").write_text("mine")
    monkeypatch.chdir(folder)
    assert message in fails(capsys, "maps", TEXT, "--checkpoint", str(saved), *options)
    assert [path.name for path in folder.iterdir()] == ["there.npz"] and (folder / "there.npz").read_text() == "mine"


def test_a_full_disk_is_told_in_one_line_and_leaves_nothing(saved, tmp_path, monkeypatch, capsys):
    def full(path, content):
        with path.open("wb") as raw:
            raw.write(content[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    folder = tmp_path / "out"
    folder.mkdir()
    told = fails(capsys, "maps", TEXT, "--checkpoint", str(saved), "--out", str(folder / "x.npz"))
    assert told.endswith("x.npz cannot be written: No space left on device\n")
    assert list(folder.iterdir()) == []
