"""Places of edits and their texts: heads, layers and tokens.

Layers, heads and positions count from 0 here, and from 1 in texts and codes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..trace import SITE_KINDS, AttentionKind, Site, site_kind

if TYPE_CHECKING:
    from ..config import ModelConfig

CODES = {kind: of.code for kind, of in SITE_KINDS.items()}
KINDS_OF = {code: kind for kind, code in CODES.items()}


class EditError(ValueError):
    """An impossible edit; the message is one sentence for the visitor."""


@dataclass(frozen=True)
class TokenLabels:
    """The tokens of both sides, for texts of edits. A repeated token gets its count: `the (2nd)`.

    Without tokens, positions are numbers.
    """

    source: Sequence[str] = ()
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ()

    def query(self, kind: AttentionKind, position: int) -> str:
        if site_kind(kind).query_side == "source":
            return _label(self.source, position)
        if position < min(len(self.inputs), len(self.outputs)):
            return nth([f"{read} → {emitted}" for read, emitted in zip(self.inputs, self.outputs, strict=False)], position)
        return f"step {position + 1}"

    def key(self, kind: AttentionKind, position: int) -> str:
        return _label(self.inputs if site_kind(kind).key_side == "target" else self.source, position)


def _label(tokens: Sequence[str], position: int) -> str:
    return nth(tokens, position) if position < len(tokens) else f"token {position + 1}"


def nth(texts: Sequence[str], position: int) -> str:
    """Returns the text at a position; a repeated text gets its count: `the (2nd)`."""
    text = texts[position]
    return f"{text} ({ordinal(list(texts[: position + 1]).count(text))})" if list(texts).count(text) > 1 else text


def ordinal(number: int) -> str:
    """Returns 1st, 2nd, 3rd, 4th, 11th."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def parse_number(text: str | None) -> int | None:
    """Returns a number of a code (from 1) as an index from 0; None for nothing, `all` and `uniform`."""
    if text in (None, "all", "uniform"):
        return None
    if int(text) < 1:
        raise EditError("An edit names number 0; expected numbers from 1.")
    return int(text) - 1


def format_number(position: int | None) -> str:
    """Returns a position as in a code."""
    return "all" if position is None else str(position + 1)


def check_index(what: str, position: int | None) -> None:
    if position is not None and not hasattr(position, "__index__"):
        raise EditError(f"The {what} of an edit is {position!r}; expected a whole number from 0.")
    if position is not None and position < 0:
        raise EditError(f"The {what} of an edit is {position}; expected at least 0, where the first is 0.")


def check_layer(subject: str, kind: str, layer: int | None, config: ModelConfig) -> None:
    """Raises EditError where a checkpoint has no such layer; `subject` names the edit."""
    if kind not in config.layers:
        raise EditError(f"{subject} is of {site_kind(kind).name}; this checkpoint has none. Remove it.")
    if layer is not None and layer >= config.layers[kind]:
        raise EditError(f"{subject} names layer {layer + 1}; this checkpoint has {config.layers[kind]} there. Remove it.")


@dataclass(frozen=True)
class Place:
    """One head, the heads of a layer (`head` None), or all layers of a kind of attention (`layer` None as well)."""

    kind: AttentionKind
    layer: int | None = None
    head: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in CODES:
            raise EditError(f"The kind of attention is {self.kind!r}; expected encoder, decoder or cross.")
        if self.layer is None and self.head is not None:
            raise EditError("A head is named without its layer; expected both.")
        check_index("layer", self.layer)
        check_index("head", self.head)

    @staticmethod
    def of(site: Site | AttentionKind, head: int | None) -> Place:
        """Returns the place of a site, which may be a plain pair of kind and layer, or of all layers of a kind."""
        return Place(site, None, head) if isinstance(site, str) else Place(site[0], site[1], head)

    @staticmethod
    def read(match: re.Match[str]) -> Place:
        """Returns the place in a code that PLACE has matched."""
        return Place(KINDS_OF[match["kind"]], parse_number(match["layer"]), parse_number(match["head"]))

    def check(self, subject: str, config: ModelConfig) -> None:
        """Raises EditError where a checkpoint has no such layer or head; `subject` names the edit."""
        check_layer(subject, self.kind, self.layer, config)
        if self.head is not None and self.head >= config.heads:
            raise EditError(f"{subject} names head {self.head + 1}; this checkpoint has {config.heads}. Remove it.")

    def covers_layer(self, kind: str, layer: int) -> bool:
        return self.kind == kind and self.layer in (None, layer)

    def overlaps(self, other: Place) -> bool:
        """Returns True where the two have a head in common."""
        both = ((self.layer, other.layer), (self.head, other.head))
        return self.kind == other.kind and all(a == b or a is None or b is None for a, b in both)

    def contains(self, other: Place) -> bool:
        """Returns True where every head of the other is one of these."""
        pairs = ((self.layer, other.layer), (self.head, other.head))
        return self.kind == other.kind and all(own in (None, others) for own, others in pairs)

    @property
    def heads(self) -> slice:
        return slice(None) if self.head is None else slice(self.head, self.head + 1)

    @property
    def code(self) -> str:
        return ".".join([CODES[self.kind], *(str(n + 1) for n in (self.layer, self.head) if n is not None)])

    @property
    def text(self) -> str:
        if self.layer is not None and self.head is not None:
            return Site(self.kind, self.layer).head_name(self.head)
        return f"{site_kind(self.kind).short_name}, {'all layers' if self.layer is None else f'layer {self.layer + 1}'}"


_KIND = "|".join(CODES.values())
PLACE = rf"(?P<kind>{_KIND})(?:\.(?P<layer>\d{{1,3}})(?:\.(?P<head>\d{{1,3}}))?)?"  # in a code
