"""Reads the text of an SVG picture that came from outside: what is drawn there and nothing else."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

SVG = "http://www.w3.org/2000/svg"
SHAPES = {"rect", "path", "line", "polyline", "polygon", "circle", "ellipse", "text"}
AROUND = {"svg", "g", "defs", "title", "clipPath", "linearGradient", "stop"}  # what the panel's scripts draw
MOST_ELEMENTS, DEEPEST = 200_000, 60  # what is nested deeper would fill the stack of who draws it
LARGEST = 19_200  # pixels of a side: 14400 points, where a PDF page ends
_POINTS_OUT = re.compile(r"url\(\s*[\"']?\s*(?!#)|@import|expression\(|\\", re.IGNORECASE)
_LENGTH = re.compile(r"\s*(\d+(?:\.\d+)?)(?:px)?\s*")


class _Picture:
    """Builds the tree; ValueError at the first thing that has no place in a picture."""

    def __init__(self) -> None:
        self._builder, self._depth, self._count = ET.TreeBuilder(), 0, 0

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        raise ValueError("A picture may not hold a DOCTYPE or entities of its own.")

    def start(self, tag: str, attributes: dict[str, str]) -> ET.Element:
        self._depth, self._count = self._depth + 1, self._count + 1
        if self._depth > DEEPEST or self._count > MOST_ELEMENTS:
            raise ValueError(f"The picture has more than {MOST_ELEMENTS} parts, or they are nested deeper than {DEEPEST}.")
        space, _, name = tag.rpartition("}")
        if space != "{" + SVG or name not in SHAPES | AROUND:
            raise ValueError(f"A picture may not hold the element {name[:40]!r}.")
        for key, value in attributes.items():
            _check(name, key, value)
        return self._builder.start(tag, attributes)

    def end(self, tag: str) -> ET.Element:
        self._depth -= 1
        return self._builder.end(tag)

    def data(self, text: str) -> None:
        self._builder.data(text)

    def close(self) -> ET.Element:
        return self._builder.close()


def _check(element: str, key: str, value: str) -> None:
    """ValueError where an attribute points out of the picture, or leads to another element in a chain."""
    name = key.rpartition("}")[2].lower()
    if name in ("href", "src", "base") or _POINTS_OUT.search(value):
        raise ValueError(f"A picture may not point to another file or element: {name} of {element!r} is {value[:60]!r}.")


def _check_clip(clip: ET.Element) -> None:
    """ValueError where a clipPath is more than one box: a chain of them fills the stack of who draws it."""
    parts = list(clip.iter())
    refers = any("url" in value.lower() for part in parts for value in part.attrib.values())
    if refers or len(parts) > 2 or any(part.tag != f"{{{SVG}}}rect" for part in clip):
        raise ValueError("A clipPath of a picture may hold one rect, and refer to nothing else.")


def read(svg: str) -> ET.Element:
    """The root of the picture. ValueError with one sentence where it cannot be taken: no SVG, half of one, a DOCTYPE, an
    element that the lab does not draw, anything that points to another file, clipPaths that refer to others."""
    parser = ET.XMLParser(target=_Picture())
    try:
        parser.feed(svg)
        root = parser.close()
    except ET.ParseError as fault:
        raise ValueError(f"That is not a whole SVG picture: {fault}.") from None
    if root.tag != f"{{{SVG}}}svg":
        raise ValueError("That is not an SVG picture.")
    for clip in root.iter(f"{{{SVG}}}clipPath"):
        _check_clip(clip)
    return root


def size(root: ET.Element) -> tuple[float, float]:
    """Width and height in pixels. ValueError where they are missing or no page could hold them."""
    found = [_LENGTH.fullmatch(root.get(side, "")) for side in ("width", "height")]
    sides = [float(match[1]) for match in found if match]
    if len(sides) < 2 or not all(1 <= side <= LARGEST for side in sides):
        raise ValueError(f"The picture needs a width and a height from 1 to {LARGEST} pixels.")
    return sides[0], sides[1]
