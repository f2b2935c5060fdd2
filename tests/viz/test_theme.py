import ast
import itertools
import re
import tomllib

import numpy as np
import pytest

from tests.support.viz_helpers import ROOT
from viz import pages, theme
from viz.kit.panel import layout_of

MODES = pytest.mark.parametrize("mode", ["light", "dark"])
KINDS = pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
INKS = ("ink", "ink2", "ink3", "encoder_ink", "decoder_ink", "cross_ink", "loss_ink", "gain_ink")
STREAMLIT = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, two: str) -> float:
    """Contrast ratio (WCAG 2.2), 1 to 21."""
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


@MODES
def test_text_and_borders_have_contrast(mode):
    palette, sidebar = theme.PALETTES[mode], STREAMLIT["theme"][mode]["sidebar"]["backgroundColor"]
    for ink, background in itertools.product(INKS, (palette.page, palette.field, sidebar)):
        assert contrast(getattr(palette, ink), background) >= 4.5, (ink, background)
    assert contrast(palette.ink2, palette.mute) >= 4.5  # the text over a greyed area
    assert contrast(palette.border, palette.page) >= 3  # WCAG 1.4.11
    assert contrast(palette.bar, palette.page) >= 3


@MODES
def test_the_pages_theme_is_streamlits_theme(mode):
    palette, settings = theme.PALETTES[mode], STREAMLIT["theme"][mode]
    assert (settings["backgroundColor"], settings["textColor"]) == (palette.page, palette.ink)
    assert (settings["secondaryBackgroundColor"], settings["borderColor"]) == (palette.field, palette.border)


@MODES
@KINDS
def test_a_scale_leaves_the_page_and_its_tints_carry_text(kind, mode):
    page = theme.PALETTES[mode].page
    colours = theme.scale(kind, mode)
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)
    assert colours[0] == page
    away = [contrast(page, colour) for colour in colours]
    assert all(a < b for a, b in itertools.pairwise(away))
    tints = theme.tints(kind, mode)
    assert tints[0] == colours[0] and len(tints) == len(colours)
    assert min(contrast(theme.PALETTES[mode].ink, tint) for tint in tints) >= 4.5
    away = [contrast(tints[0], tint) for tint in tints]
    assert away == sorted(away) and away[-1] > 1.7  # a large weight is told from none


@MODES
def test_differences_run_from_loss_to_gain(mode):
    palette, colours = theme.PALETTES[mode], theme.diverging(mode)
    middle = len(colours) // 2
    assert len(colours) == 2 * middle + 1
    assert (colours[0], colours[middle], colours[-1]) == (palette.loss, palette.page, palette.gain)
    assert (palette.loss, palette.gain) == ("#cc79a7", "#0072b2")
    page, share = theme._oklab(palette.page), np.arange(1, middle + 1) / middle
    for side in (colours[middle + 1 :], colours[middle - 1 :: -1]):  # from 0 outwards, either way as far as the value says
        away = np.linalg.norm([theme._oklab(colour) - page for colour in side], axis=1)
        np.testing.assert_allclose(away / away[-1], share, atol=0.02)


def test_no_rule_asks_for_a_variable_that_is_not_there():
    there = set(theme.PALETTES["light"].css_variables())
    assert there == set(theme.PALETTES["dark"].css_variables())
    files = (ROOT / "viz").rglob("*.[cj]s*")
    asked = {path.name: set(re.findall(r"var\((--lab-[a-z0-9-]+)\)", path.read_text(encoding="utf-8"))) for path in files}
    assert {name: names - there for name, names in asked.items() if names - there} == {}
    assert sum(map(len, asked.values())) > 20


def test_streamlit_keeps_the_stylesheet():
    sheet = theme.stylesheet("light").removeprefix("<style>").removesuffix("</style>")
    assert "<" not in sheet  # `st.html` drops a style element that has one, and the page has no rules


def keys() -> list[str]:
    """Returns the keys of containers and widgets, as patterns of the class names that Streamlit makes of them."""
    layouts = map(layout_of, pages.PAGES)
    names = [re.sub(r"[^\w-]", "-", panel.name) for layout in layouts for panel in layout.panels]
    panels = [name + end for name in names for end in ("", "-large")]
    found = []
    for path in (ROOT / "viz").rglob("*.py"):
        module = ast.parse(path.read_text(encoding="utf-8"))
        constants = {ast.unparse(node.targets[0]): node.value for node in module.body if isinstance(node, ast.Assign)}
        for node in ast.walk(module):
            if isinstance(node, ast.Call):
                values = [word.value for word in node.keywords if word.arg == "key"]
                found += [constants.get(ast.unparse(value), value) for value in values]
                called = ast.unparse(node.func)
                found += (
                    node.args[:1]
                    if called in ("bind", "session.bind") or called.endswith((".mount", "button_groups.draw"))
                    else []
                )
                found += node.args[1:2] if called == "lazy.popover" else []
            elif isinstance(node, ast.FunctionDef):
                words = node.args.args[len(node.args.args) - len(node.args.defaults) :]
                found += [value for word, value in zip(words, node.args.defaults, strict=True) if word.arg == "key"]
    texts = [each.values if isinstance(each, ast.JoinedStr) else [each] for each in found]
    parts = [[part.value if isinstance(part, ast.Constant) else None for part in text] for text in texts]
    named = [text for text in parts if any(text)]
    return panels + ["".join(".+" if part is None else re.sub(r"[^\w-]", "-", part) for part in text) for text in named]


def test_every_key_that_a_rule_asks_for_is_given_to_something():
    sheet, given = theme.stylesheet("light"), keys()
    begun = set(re.findall(r'\[class\*="st-key-([\w-]+)"\]', sheet))
    asked = set(re.findall(r"st-key-([\w-]+)", sheet)) - begun
    assert len(asked) > 35 and begun
    assert [name for name in sorted(asked) if not any(re.fullmatch(key, name) for key in given)] == []
    assert [name for name in begun if not any(key.startswith(name) for key in given)] == []
