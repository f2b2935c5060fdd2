"""Terms tell their meanings: whatever is marked anywhere is in the glossary, and typed text stays text."""

from __future__ import annotations

import ast
import html
import re

import pytest

from tests.support.viz_helpers import HEADS, INSIDE, ROOT, WHAT_IF, Lab
from viz.shared import terms

MARK = re.compile(r'<dfn class="lab-term" tabindex="0" data-tip="([^"]*)" aria-description="([^"]*)">([^<]*)</dfn>')
EVIL = "I <b>see</b> a head & a mask."
TAKERS = {"note", "label", "marked", "term"}  # functions of texts and terms that take names of terms


def test_a_term_is_marked_once_and_all_else_is_escaped():
    made = terms.marked('<b>Two heads</b>, a "head" & a log-probability', "head", "log-probability")
    assert [html.unescape(shown) for _, _, shown in MARK.findall(made)] == ["heads", "log-probability"]
    plain = MARK.sub(lambda match: match[3], made)
    assert plain == html.escape('<b>Two heads</b>, a "head" & a log-probability')
    assert terms.marked(EVIL) == html.escape(EVIL)


@pytest.mark.parametrize("name", terms.GLOSSARY)
def test_every_term_tells_one_or_two_sentences(name):
    ((tip, told, shown),) = MARK.findall(terms.term(name))
    assert html.unescape(tip) == html.unescape(told) == terms.GLOSSARY[name] and html.unescape(shown) == name
    assert tip.endswith(".") and 1 <= len(re.findall(r"\.(?: |$)", tip)) <= 2 and len(tip) < 200
    assert f"<dt>{html.escape(name)}</dt>" in terms.listed()


def test_every_term_that_is_marked_anywhere_is_in_the_glossary():
    marked = set()
    for path in sorted((ROOT / "viz").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TAKERS):
                continue
            if ast.unparse(node.func.value) in ("texts", "terms"):
                names = node.args[:1] if node.func.attr == "term" else node.args[1:]
                marked |= {name.value for name in names if isinstance(name, ast.Constant)}
    assert len(marked) >= 10
    assert marked <= set(terms.GLOSSARY)


@pytest.mark.parametrize(
    ("page", "wanted"), [(None, "log-probability"), (HEADS, "layers"), (INSIDE, "head"), (WHAT_IF, "nats")]
)
def test_pages_tell_their_terms_and_typed_text_stays_text(page, wanted):
    lab = Lab(page, text=EVIL, edits="off_cross.3")
    found = [html.unescape(shown) for piece in lab.html for _, _, shown in MARK.findall(piece)]
    assert wanted in found
    assert not any("<b>see" in piece for piece in lab.html)
