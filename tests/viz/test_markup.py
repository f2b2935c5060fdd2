"""No script of a component makes markup from text."""

from __future__ import annotations

import pytest

from tests.support.viz_helpers import ROOT

SCRIPTS = sorted((ROOT / "viz").rglob("*.js"))
DOORS = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "srcdoc", "Function(")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_browser_makes_no_markup_from_text(script):
    text = script.read_text(encoding="utf-8")
    assert [door for door in DOORS if door in text] == []


def test_text_is_written_as_text():
    assert len(SCRIPTS) >= 8
    shared = (ROOT / "viz" / "shared" / "mount.js").read_text(encoding="utf-8")
    assert shared.count("node.textContent = text") == 2
