"""Heads that carry routes: counts equal those of the edits, in Python, on the command line and in the file."""

from __future__ import annotations

import json
import shutil

import pytest

from model.__main__ import main
from model.edits.intervention import Intervention
from model.edits.kinds import BlockCells, Place
from model.experiments.routes import NEAR_TIE
from model.inference.analyse import analyse
from model.inference.request import Request
from model.text.route_heads import RouteHeads
from model.workshop.evaluation.contrast import ContrastRow
from model.workshop.reports import routes_report
from model.workshop.reports.routes_report import contrast_route, measure_routes
from tests.support import tiny
from tests.support.command_line_helpers import fails

ROWS = [
    ContrastRow(source, target, target.replace(word, other), "fox", "lamp")
    for source, target in tiny.PAIRS
    for word, other in (("una", "lo"), ("varun", "lumel"))
    if "fox" in source and "lamp" in source and source.index("fox") < source.index("lamp")
]


def test_counts_equal_those_of_edits(exact_checkpoint, monkeypatch):
    monkeypatch.setattr(routes_report, "MIN_PART", 0.25)
    expected, measured = {}, 0
    for row in ROWS:
        _, route = contrast_route(exact_checkpoint, row)
        if route.difference < NEAR_TIE:
            continue
        measured += 1
        link = min(route.links, key=lambda link: link.effect)
        for layer in range(2):
            for head in range(2):
                edit = BlockCells(Place(link.cell.kind, layer, head), link.cell.query, link.cell.key)
                request = Request(row.english, target=row.right, intervention=Intervention(edits=(edit,)))
                trace = analyse(exact_checkpoint, request).trace
                after = trace.logit(route.row, route.token) - trace.logit(route.row, route.rival)
                if link.effect < 0 and after <= (1 - 0.25) * route.difference:
                    place = (link.cell.kind, layer, head)
                    expected[place] = expected.get(place, 0) + 1
    result = measure_routes(exact_checkpoint, ROWS, "", 100, 1)
    assert (result.sentences, result.left_out) == (measured, len(ROWS) - measured) and 0 < measured < len(ROWS)
    assert {(h.site, h.layer, h.head): round(h.share * measured) for h in result.heads} == expected
    assert all(0 <= head.low < head.share <= head.high <= 1 for head in result.heads)
    assert measure_routes(exact_checkpoint, ROWS, "", 2, 1).sentences == 2


def test_report_prints_and_writes_the_counts(exact_checkpoint, saved, tmp_path, capsys):
    file, out = tmp_path / "contrast.tsv", tmp_path / "routes.json"
    lines = [(row.english, row.right, row.wrong, row.noun, row.other) for row in ROWS]
    header = ("english", "right", "wrong", "noun", "other")
    file.write_text("".join("\t".join(line) + "\n" for line in (header, *lines)), "utf-8")
    command = ["report", "routes", "--checkpoint", str(saved), "--contrast", str(file), "--device", "cpu"]
    assert main([*command, "--sentences", "3", "--out", str(out), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(out.read_text("utf-8")) and RouteHeads.from_dict(printed).to_dict() == printed
    assert main([*command, "--sentences", "3"]) == 0
    assert RouteHeads.from_dict(printed).lines(saved.name) == capsys.readouterr().out.splitlines()
    assert "is there already" in fails(capsys, *command, "--out", str(out))
    assert "routes needs --contrast FILE" in fails(capsys, *command[:4])
    assert "--sentences is 0; expected at least 1" in fails(capsys, *command, "--sentences", "0")
    assert "--data does not apply to routes; leave it out" in fails(capsys, *command, "--data", "x")
    assert "heads needs --data PATH" in fails(capsys, "report", "heads")


def test_report_measures_earlier_steps_of_the_training(exact_checkpoint, saved, tmp_path, capsys):
    file = tmp_path / "contrast.tsv"
    lines = [("english", "right", "wrong", "noun", "other")]
    lines += [(row.english, row.right, row.wrong, row.noun, row.other) for row in ROWS]
    file.write_text("".join("\t".join(line) + "\n" for line in lines), "utf-8")
    folders = [shutil.copytree(saved, tmp_path / f"step-{step}") for step in (90, 40)]
    for folder, step in zip(folders, (90, 40), strict=True):
        (folder / "log.jsonl").write_text(json.dumps({"step": step, "loss": 1.0}) + "\n", "utf-8")
    last, first = map(str, folders)
    command = ["report", "routes", "--contrast", str(file), "--sentences", "3", "--device", "cpu", "--json"]
    assert main([*command, "--checkpoint", last, "--earlier", first]) == 0
    printed = json.loads(capsys.readouterr().out)
    result = RouteHeads.from_dict(printed)
    assert result.to_dict() == printed and result.step == 90 and [each.step for each in result.earlier] == [40]
    assert result.heads == result.earlier[0].heads and "step 40" in result.lines("x")[len(result.lines("x")) // 2]
    head = result.heads[0]
    assert result.find(head.site, head.layer, head.head) is head and result.find("cross", 98, 0) is None
    assert "expected rising steps before 40" in fails(capsys, *command, "--checkpoint", first, "--earlier", last)
    (folders[1] / "log.jsonl").unlink()
    assert "has no log.jsonl" in fails(capsys, *command, "--checkpoint", last, "--earlier", first)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step": -1}, "'step' is -1; expected a whole number"),
        ({"earlier": [{"schema": 1}]}, "'earlier' is .*; expected a list"),
        ({"schema": 2}, "'schema' is 2; expected 1"),
        ({"sentences": 0}, "'sentences' is 0; expected a whole number"),
        ({"heads": [{"site": "cross"}]}, "'heads' has {'site': 'cross'}; expected site, layer"),
        ({"data": 3}, "'data' is 3; expected the SHA-256"),
    ],
)
def test_faulty_file_is_refused(change, message):
    values = {"sentences": 3, "left_out": 0, "linked": 3, "seed": 1, "data": "", "heads": [], "schema": 1}
    RouteHeads.from_dict(values)
    with pytest.raises(ValueError, match=message):
        RouteHeads.from_dict(values | change)
