"""`report heads --html` writes one page with every head, the numbers of the table, and no request."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import zlib
from html.parser import HTMLParser

import pytest

from model.__main__ import main
from tests.support import tiny
from tests.support.command_line_helpers import fails
from viz.offline import heads_page

SOURCES = [source for source, _ in tiny.PAIRS[:3]]


class PageReader(HTMLParser):
    """Collects the numbers and texts of each row, the code of the page, and the addresses that it names."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, dict[str, str]] = {}
        self.canvases: list[tuple[str, int]] = []
        self.text: list[str] = []
        self.addresses: list[str] = []
        self._column = ""

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.addresses += [given[name] or "" for name in ("src", "href", "action") if name in given]
        if tag == "tr" and "data-head" in given:
            self.rows[given["data-head"]] = {}
        elif tag == "canvas":
            self.canvases.append((given["data-kind"], int(given["data-place"])))
        if "data-value" in given:
            self.row[given["data-column"]] = given["data-value"]
        self._column = given.get("data-column", "") if "data-value" not in given else ""

    def handle_data(self, data):
        self.text.append(data)
        if self._column:
            self.row[self._column] = data
            self._column = ""

    @property
    def row(self) -> dict[str, str]:
        return list(self.rows.values())[-1]


@pytest.fixture
def command(saved, tmp_path) -> list[str]:
    (tmp_path / "data.tsv").write_text("\n".join(SOURCES), encoding="utf-8")
    out = ["--out", str(tmp_path / "heads.csv"), "--html", str(tmp_path / "heads.html")]
    data = ["--data", str(tmp_path / "data.tsv")]
    return ["report", "heads", *data, "--checkpoint", str(saved), "--device", "cpu", *out, "--quiet"]


def read_page(file) -> PageReader:
    reader = PageReader()
    reader.feed(file.read_text(encoding="utf-8"))
    return reader


def test_page_has_every_head_with_the_numbers_of_the_table(command, tmp_path, capsys):
    assert main(command) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].endswith(f"written to {tmp_path / 'heads.csv'} and {tmp_path / 'heads.html'}")
    with open(tmp_path / "heads.csv", encoding="utf-8-sig", newline="") as file:
        table = {f"{row['site']} {row['layer']}.{row['head']}": row for row in csv.DictReader(file)}
    page = read_page(tmp_path / "heads.html")
    assert set(page.rows) == set(table) and len(page.rows) == 12
    assert [table[head]["rank"] for head in page.rows] == [str(n) for n in range(1, 13)]
    for head, shown in page.rows.items():
        row = table[head]
        for column, value in shown.items():
            assert value == row[column] or float(value) == float(row[column]), (head, column)
        stated = {name for each in heads_page.COLUMNS for name in (each.name, each.count, each.text) if name}
        needed = {name for name in stated if row[name] and not name.endswith("_sentences")}
        assert needed <= set(shown) and {"change_nats_low", "content_change_high", "sentences"} <= set(shown)
        assert ("start" in shown) == (row["start"] != "")
    text = " ".join("".join(page.text).split())
    for line in printed[1:]:  # the page writes a capital letter first, and a true minus sign
        words = " ".join(line.replace(" -", " −").replace("[-", "[−").split())
        assert words[1:] in text, line
    for name in ("checkpoint_sha256", "data_sha256"):
        assert row[name] in text


def test_page_makes_no_request_and_holds_every_map(command, tmp_path):
    assert main(command) == 0
    source, page = (tmp_path / "heads.html").read_text(encoding="utf-8"), read_page(tmp_path / "heads.html")
    assert page.addresses == [] and "default-src 'none'" in source and "connect-src" not in source
    (packed,) = re.findall(r'id="maps">([^<]+)<', source)
    maps = json.loads(zlib.decompress(base64.b64decode(packed)))
    places = [(grid["kind"], place) for grid in maps["grids"] for place in range(len(grid["places"]))]
    assert sorted(page.canvases) == sorted(places)
    assert "line 1 of the data" in source and not any(text.rstrip(".") in source for text in SOURCES)
    assert all(grid["queries"] == grid["keys"] == [] for grid in maps["grids"])


def test_page_names_the_sentence_of_the_maps_with_texts(command, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"The <b>fox</b> sees a lamp.\n")))
    assert main([*command[:3], "-", *command[4:], "--texts"]) == 0
    source = (tmp_path / "heads.html").read_text(encoding="utf-8")
    assert "(“The &lt;b&gt;fox&lt;/b&gt; sees a lamp.”)" in source
    assert "not measured, which needs two sentences or more" in source


def test_page_that_cannot_be_written_is_refused_first(command, tmp_path, capsys, monkeypatch):
    page = tmp_path / "heads.html"
    page.write_text("mine")
    assert "heads.html is there already" in fails(capsys, *command)
    missing = [word.replace("heads.html", "none/heads.html") for word in command]
    assert "there is no folder" in fails(capsys, *missing)
    same = [word.replace("heads.html", "heads.csv") for word in command]
    assert "--html and --out name the same file" in fails(capsys, *same)
    assert "--html does not apply to seeds" in fails(capsys, "report", "seeds", "--data", "x", "--html", "y")

    def refuse(*args, **options):
        raise PermissionError(13, "Permission denied")

    page.unlink()
    monkeypatch.setattr("model.io.files.tempfile.TemporaryFile", refuse)
    assert "heads.html cannot be written: Permission denied" in fails(capsys, *command)
    assert not list(tmp_path.glob("*heads*"))
