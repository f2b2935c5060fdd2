"""Files under *Save*: every offer of every page is a complete file of the stated kind."""

import ast
import csv
import io
import zipfile
from base64 import b64decode

import numpy as np
import pytest

from model import Request, analyse
from model.export import checks, read
from tests.support.viz_helpers import COMPARE, HEADS, INSIDE, LESSONS, POSITIONS, ROOT, TRANSLATE, WHAT_IF, WHY, Lab
from viz import pages
from viz.save.saved_files import CHANGED, FAULT, HOOKS_END, LONGEST, Offer, caption, make_file, stem_of
from viz.state.view import View

LINK = {"text": "I am tired.", "kind": "cross", "layer": "2", "head": "4", "step": "3"}
PAGES = dict.fromkeys((HEADS, INSIDE, POSITIONS, WHY, COMPARE, LESSONS), LINK)  # lessons have no numbers or lines
PAGES |= {TRANSLATE: LINK | {"edits": "off_cross.3"}, WHAT_IF: LINK | {"edits": "off_cross.3.1"}, WHY: LINK | {"step": "1"}}


def asked(lab: Lab, number: int) -> dict:
    """A file that is asked for on the page, as the browser gets it."""
    lab.data.saved_file = (number, "7")
    made = lab.run().save["file"]
    assert made["number"] == "7" and "fault" not in made, made
    return made | {"bytes": b64decode(made["bytes"])}


def whole(made: dict) -> None:
    """The file can be read as what its name says."""
    name, content = made["name"], made["bytes"]
    end = name.rpartition(".")[2]
    assert name.startswith("attention-en-fr-") and name.isascii() and len(name) <= LONGEST + max(7, len(HOOKS_END))
    if end == "csv":
        header, *rows = csv.reader(io.StringIO(content.decode("utf-8-sig")))
        assert rows and {len(row) for row in rows} == {len(header)}
    elif end == "zip":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert len(archive.namelist()) > 1 and archive.testzip() is None
            for inner in archive.namelist():
                whole({"name": f"attention-en-fr-{inner}"[:LONGEST], "bytes": archive.read(inner)})
    elif name.endswith(HOOKS_END):
        with np.load(io.BytesIO(content)) as stored:
            assert {"encoder.0.attn.hook_pattern", "decoder.3.cross_attn.hook_pattern.queries"} < set(stored.files)
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
    offers = lab.save["offers"]
    assert len(offers) >= (5 if page != LESSONS else 3)
    assert ("What is shown, as CSV" in [offer["label"] for offer in offers]) is (page != LESSONS)
    for number in range(len(offers)):
        whole(asked(lab, number))
    assert lab.run().save["file"] is None  # made once


def test_documented_lines_are_those_that_a_page_copies(capsys):
    docs = (ROOT / "docs" / "export.md").read_text(encoding="utf-8").split("## Lines to copy")[1]
    documented = docs.split("```python\n")[1].split("```")[0]
    edits = {"edits": "off_cross.1~off_cross.2", "mode": "again", "kind": "cross", "layer": "3", "head": "5"}
    lab = Lab(WHAT_IF, text="The dog didn't eat the apple because it was too hard.", **edits)
    number = [offer["label"] for offer in lab.save["offers"]].index("Python")
    assert ast.dump(ast.parse(asked(lab, number)["bytes"])) == ast.dump(ast.parse(documented))  # ruff formats the page
    exec(documented, names := {})
    before, after = capsys.readouterr().out.splitlines()[-2:]
    assert "elle était trop dure" in before and "il était trop dur." in after
    assert names["map_before"].values.shape == names["map_after"].values.shape


def test_a_files_name_is_short_plain_and_has_no_slash():
    assert stem_of(("en-fr", "cross", "L’été ../../<b> 💥")) == "attention-en-fr-cross-lete-b"
    assert len(stem_of(("x" * 500,))) == LONGEST
    assert stem_of(("汉",)) == "attention"


def test_a_caption_tells_of_what_the_picture_is():
    given = Lab(HEADS, **LINK, edits="off_cross.3").save
    sentence, facts = given["caption"]["title"], given["caption"]["facts"]
    assert sentence.startswith("“I am tired.” → “")
    assert (facts["checkpoint"], facts["heads"]) == ("en-fr", "cross 2.4") and facts["step"].startswith("step 3 of ")
    assert facts["edits"] == "edits: cross-attention, layer 3: off"
    assert given["names"] == ["en-fr", "cross", "l2", "h4", "step3", "I am tired."]
    assert Lab(text="I am tired.", guess="first").save["caption"]["title"] == "“I am tired.”"


@pytest.mark.parametrize("analysed", [True, False])
def test_what_was_brought_is_called_as_on_the_page(tiny_checkpoint, analysed):
    view = View(checkpoint="own (zip 0123456789ab)", source="The fox.", step=0)
    found = analyse(tiny_checkpoint, Request("The fox.", target="Lo varun.")) if analysed else None
    made = caption(view, pages.find("heads"), found)
    assert made.facts["checkpoint"] == "own (zip 0123)" and made.names[0] == "own (zip 0123)"


@pytest.mark.parametrize(
    ("page", "link", "heads", "names"),
    [
        ("heads", {"head": None}, "cross 2, mean over heads", ("l2", "mean")),
        ("heads", {"head": None, "combine": "max"}, "cross 2, maximum over heads", ("l2", "max")),
        ("heads", {"average": "layers"}, "cross-attention, mean over layers and heads", ("all", "mean")),
        ("heads", {"average": "head", "head": 1}, "cross-attention, head 2, mean over layers", ("h2-layers", "mean")),
        (
            "heads",
            {"average": "layers", "measure": "rollout"},
            "cross-attention, rollout over layers and heads",
            ("all", "rollout"),
        ),
        ("heads", {"average": "layers", "combine": "max"}, "cross-attention, maximum over layers and heads", ("all", "max")),
        ("heads", {"head": 0, "combine": "max"}, "cross 2.1", ("l2", "h1")),
        ("what-if", {"head": None, "average": "layers", "combine": "max"}, "cross 2, mean over heads", ("l2", "mean")),
    ],
)
def test_caption_names_the_combination_of_heads(tiny_checkpoint, page, link, heads, names):
    found = analyse(tiny_checkpoint, Request("The fox.", target="Lo varun."))
    made = caption(View(source="The fox.", step=0, kind="cross", layer=1, **link), pages.find(page), found)
    assert made.facts["heads"] == heads and made.names[2:4] == names


def test_an_offer_that_fails_is_one_sentence():
    for fault, said in (
        (ValueError("the sentence has 3 tokens"), "The sentence has 3 tokens."),
        (ValueError(), "This could not be made."),
        (OSError(28, "no space left", "/tmp/x"), "No space left."),
        (KeyError("x"), FAULT.format("KeyError")),
    ):

        def fail(fault=fault) -> bytes:
            raise fault

        assert make_file(Offer("CSV", fail), "8") == {"number": "8", "fault": said}


def test_a_vanished_offer_is_one_fault():
    lab = Lab(HEADS)
    lab.data.saved_file = (len(lab.save["offers"]), "9")
    assert lab.run().save["file"] == {"number": "9", "fault": CHANGED}
    assert lab.run().save["file"] is None
