"""An SVG picture as a PDF page: lines stay lines, text stays text and takes its font along."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from viz.shared.save import fonts
from viz.shared.save.svg import SVG, read, size

POINTS = 0.75  # of a CSS pixel
_WEIGHTS = {"normal": 400, "bold": 700, "bolder": 700, "lighter": 300}
_PAGE = """#set document(title: sys.inputs.title, date: none)
#set page(width: {width}pt, height: {height}pt, margin: 0pt, fill: none)
#image(bytes(sys.inputs.svg), format: "svg", width: {width}pt, height: {height}pt)"""

_TEXT, _SPAN = f"{{{SVG}}}text", f"{{{SVG}}}tspan"
_LOWERED = {"ₖ": "k"}  # the one small letter that the lab writes and its fonts lack: else the whole text takes another font
_SMALL, _DOWN = 0.65, 0.2  # of the letter's size

ET.register_namespace("", SVG)


def pdf(svg: str) -> bytes:
    """One page of the picture's size, with its <title> as the document's. Where nothing is drawn the page is transparent.
    ValueError with one sentence where the text is not a picture that can be taken (viz/shared/save/svg.py says which)."""
    import typst

    root = read(svg)
    width, height = size(root)
    for text in [*root.iter(_TEXT), *root.iter(_SPAN)]:
        _lower(text)
    _name_fonts(root, "", 400)
    title = root.findtext(f"{{{SVG}}}title") or "Attention Lab"
    inputs = {"svg": ET.tostring(root, encoding="unicode"), "title": " ".join(title.split())}
    page = _PAGE.format(width=round(width * POINTS, 3), height=round(height * POINTS, 3))
    try:
        made = typst.Compiler(font_paths=fonts.fonts()).compile(
            page.encode(), format="pdf", sys_inputs=inputs, pdf_tags=False
        )
    except RuntimeError as fault:
        raise ValueError(f"The picture cannot be drawn: {str(fault).splitlines()[0][:200]}.") from None
    assert isinstance(made, bytes)
    return made


def _declared(element: ET.Element, name: str) -> str:
    """A property of an element: from its style, else from its attribute; empty where neither says it."""
    found = re.search(rf"(?:^|;)\s*{name}\s*:([^;]*)", element.get("style", ""))
    return (found[1] if found else element.get(name, "")).replace("!important", "").strip()


def _name_fonts(element: ET.Element, family: str, weight: int) -> None:
    """Says at every text which of the lab's fonts it takes, and how bold: a font that holds all weights in one is drawn at
    its thinnest where a picture says the usual 400, unless its axis is named."""
    said = _declared(element, "font-weight")
    if said:
        weight = _WEIGHTS.get(said) or (int(said) if said.isascii() and said.isdigit() and len(said) < 5 else 400)
    family = _declared(element, "font-family") or family
    if element.tag in (_TEXT, _SPAN):
        style = re.sub(r"(?:^|;)\s*font-(?:family|variation-settings)\s*:[^;]*", "", element.get("style", "")).strip("; ")
        named = f"font-family: '{fonts.family(family)}'; font-variation-settings: 'wght' {min(max(weight, 200), 900)}"
        element.set("style", f"{style}; {named}" if style else named)
    for child in element:
        _name_fonts(child, family, weight)


def _lower(text: ET.Element) -> None:
    """Writes the small letters of a text that the fonts lack as lowered ones of its own font."""
    before, *parts = re.split(f"([{''.join(_LOWERED)}]+)", text.text or "")
    if not parts:
        return
    text.text = before
    for place, (letters, after) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
        small = ET.Element(_SPAN, {"font-size": f"{_SMALL:.0%}", "dy": f"{_DOWN / _SMALL:.3f}em"})
        rest = ET.Element(_SPAN, {"dy": f"{-_DOWN}em"})
        small.text, rest.text = "".join(map(_LOWERED.__getitem__, letters)), after
        text[2 * place : 2 * place] = [small, rest] if after else [small]
