"""The part Patching of the page Compare: what stands there is what was measured, and a piece goes on into What if."""

from __future__ import annotations

import numpy as np

from model.edits.intervention import BASELINE
from model.edits.kinds import PatchZ, parse
from model.inference.request import Request
from tests.support.component_helpers import Mounted
from tests.support.viz_helpers import COMPARE, Lab
from viz import cache, experiments
from viz.compare import patch_grids, patching
from viz.view import View

YOUNG = "The dog didn't cross the street because it was too young."
WIDE = YOUNG.replace("young", "wide")
REQUESTS = Request(YOUNG), Request(WIDE)


def compare(**link: str) -> Lab:
    return Lab(COMPARE, **({"text": YOUNG, "compare": "patching", "swap": "11", "swap_to": "wide"} | link))


def grids(lab: Lab) -> dict:
    return lab._mounted("patch_grids")


def three(lab: Lab) -> str:
    return lab.sentences("lab-three")[0]


def test_shares_and_translations_are_measured():
    lab = compare()
    found = experiments.patching(*REQUESTS, "auto", None, lambda share: None)
    shown = grids(lab)
    for grid, values in zip(shown["grids"], (found.encoder, found.decoder, *found.heads.values()), strict=True):
        np.testing.assert_allclose(np.array(grid["values"], float), found.share(values), atol=1e-4)
        assert all(parse(code).code == code for row in grid["codes"] for code in row)
    assert shown["grids"][0]["columns"] == list(cache.analyse(REQUESTS[0], "auto").trace.source.labels)
    (best,) = found.best
    assert shown["chosen"] == [best.code]
    (told,) = lab.sentences("lab-answer")
    turning = [value for edit, value in found.pieces if isinstance(edit, PatchZ) and found.turns(value)]
    many = f" ({len(turning)} of 96 do it alone)" if len(turning) > 1 else ""
    assert f"One head is enough to make “elle” likelier than “il”{many}; the most comes from" in told
    assert f"{round(100 * found.share(dict(found.pieces)[best]))}% of the way" in told
    assert "“young” takes from “ide”; in the other sentence without a partner, so never put in: w." in " ".join(
        lab.sentences("lab-note")
    )
    first, second = (cache.analyse(request, "auto").translation for request in REQUESTS)
    assert three(lab) == f"This sentence{first}The other{second}Patched{first.replace(chr(39) + 'il', chr(39) + 'elle')}"
    lab.click("patch what if")
    assert set(lab.link["edits"].split("~")) == {f"donor_{WIDE}", best.code} and lab.link["mode"] == "again"
    assert f"donor_{WIDE}" in lab.edits and lab.faults == []


def test_a_piece_of_a_link_is_patched_in():
    lab = compare(patched="patch_enc.0_12")
    assert grids(lab)["chosen"] == ["patch_enc.0_12"]
    assert any("embedding, at “young”. 104% of the way" in text for text in lab.sentences("lab-note"))
    lab = compare(patched="patch_enc.9_12")
    assert any("names layer 9; this checkpoint has 4 there" in text for text in lab.warnings)
    assert "patch what if" not in lab.buttons


def test_only_a_piece_that_stands_there_can_be_chosen(monkeypatch):
    found, chosen = experiments.patching(*REQUESTS, "auto", None, lambda share: None), []
    labels = cache.analyse(REQUESTS[0], "auto").labels
    mounted = Mounted(monkeypatch)
    patch_grids.grids(patch_grids.payload(found, labels, (), "light"), chosen.append)
    for code in ("patch_enc.2_9", "patch_enc.99_1", "off_enc.1", None, 7):
        mounted.report("piece", code)
    assert chosen == ["patch_enc.2_9"]
    monkeypatch.setattr(patching.state, "change", lambda **fields: chosen.append(fields["patched"]))
    patching.choose("patch_enc.2_9")
    assert chosen[-1] == BASELINE.with_edit("patch_enc.2_9") and View(patched=chosen[-1])
