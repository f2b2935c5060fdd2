"""What the server makes of a view: every offer of every page is a whole file of the kind that it says."""

import ast
import csv
import io
import zipfile
from base64 import b64decode

import pytest

from model.export import checks, read
from tests.support.viz_helpers import COMPARE, HEADS, INSIDE, LESSONS, POSITIONS, TRANSLATE, WHAT_IF, WHY, Lab
from viz.save import save
from viz.save.saved_files import LONGEST, stem_of

LINK = {"text": "I am tired.", "kind": "cross", "layer": "2", "head": "4", "step": "3"}
PAGES = {
    TRANSLATE: LINK | {"edits": "off_cross.3"},
    HEADS: LINK,
    INSIDE: LINK,
    POSITIONS: LINK,
    WHAT_IF: LINK | {"edits": "off_cross.3.1"},
    WHY: LINK,
    COMPARE: LINK,
    LESSONS: LINK,  # which has no numbers of its own, nor lines
}


def panel(lab: Lab) -> dict:
    return lab._mounted(".save")


def asked(lab: Lab, number: int) -> dict:
    """A file that is asked for on the page, as the browser gets it."""
    lab.app_test.session_state[save.REQUESTED] = (number, "7")
    made = panel(lab.run())["made"]
    assert made["number"] == "7" and "fault" not in made, made
    return made | {"bytes": b64decode(made["bytes"])}


def whole(made: dict) -> None:
    """The file can be read as what its name says."""
    name, content = made["name"], made["bytes"]
    end = name.rpartition(".")[2]
    assert name.startswith("attention-en-fr-") and name.isascii() and len(name) <= LONGEST + 7
    if end == "csv":
        header, *rows = csv.reader(io.StringIO(content.decode("utf-8-sig")))
        assert rows and {len(row) for row in rows} == {len(header)}
    elif end == "zip":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert len(archive.namelist()) > 1 and archive.testzip() is None
            for inner in archive.namelist():
                whole({"name": f"attention-en-fr-{inner}"[:LONGEST], "bytes": archive.read(inner)})
    elif end in ("npz", "json"):
        assert read(content).request.source == LINK["text"]
    elif end == "html":
        assert content.startswith(b"<!DOCTYPE html>") and b"</html>" in content[-20:]
    elif end == "py":
        ast.parse(content)
    else:
        assert end == "checks" and checks.parse(content.decode())


@pytest.mark.parametrize("page", PAGES)
def test_every_offer_of_a_page_is_a_whole_file(page):
    lab = Lab(page, **PAGES[page])
    offers = panel(lab)["offers"]
    assert len(offers) >= (5 if page != LESSONS else 3)
    assert ("What is shown, as CSV" in [offer["label"] for offer in offers]) is (page != LESSONS)
    for number in range(len(offers)):
        whole(asked(lab, number))
    assert panel(lab.run())["made"] is None  # made once


def test_a_files_name_is_short_plain_and_has_no_slash():
    assert stem_of(("en-fr", "cross", "L’été ../../<b> 💥")) == "attention-en-fr-cross-lete-b"
    assert len(stem_of(("x" * 500,))) == LONGEST
    assert stem_of(("汉",)) == "attention"
