"""The kinds of edits that have a place, frozen and hashable, each with a code that a link can carry and a text.

Layers, heads and positions count from 0 here, and from 1 in texts and codes, as on the screen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["encoder", "decoder", "cross"]
_CODES = {"encoder": "enc", "decoder": "dec", "cross": "cross"}
_KINDS = {code: kind for kind, code in _CODES.items()}
_NAMES = {"encoder": "encoder", "decoder": "decoder", "cross": "cross-attention"}
_SUBLAYERS = {"self": "self-attention", "cross": "cross-attention", "ff": "feed-forward"}
MAX_SHIFT = 256
MAX_SEED = 9999


class EditError(ValueError):
    """An edit that cannot be made; the text is one sentence for the visitor."""


@dataclass(frozen=True)
class Labels:
    """The tokens of both sides, so that an edit can be told in words: what stands there twice with which of them it is.

    Without them positions are told by number.
    """

    source: Sequence[str] = ()
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ()

    def query(self, kind: Kind, position: int) -> str:
        if kind == "encoder":
            return _label(self.source, position)
        if position < min(len(self.inputs), len(self.outputs)):
            return _nth([f"{read} → {said}" for read, said in zip(self.inputs, self.outputs, strict=False)], position)
        return f"step {position + 1}"

    def key(self, kind: Kind, position: int) -> str:
        return _label(self.inputs if kind == "decoder" else self.source, position)


def _label(tokens: Sequence[str], position: int) -> str:
    return _nth(tokens, position) if position < len(tokens) else f"token {position + 1}"


def _nth(texts: Sequence[str], position: int) -> str:
    """The text at a position; where the same text stands elsewhere too, with which of them this is: `the (2nd)`."""
    text = texts[position]
    return f"{text} ({ordinal(list(texts[: position + 1]).count(text))})" if list(texts).count(text) > 1 else text


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _check_index(what: str, number: int | None) -> None:
    if number is not None and number < 0:
        raise EditError(f"The {what} of an edit is {number}; expected at least 0, where the first is 0.")


@dataclass(frozen=True)
class Place:
    """One head, the heads of a layer (`head` None), or all layers of a kind of attention (`layer` None as well)."""

    kind: Kind
    layer: int | None = None
    head: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in _CODES:
            raise EditError(f"The kind of attention is {self.kind!r}; expected encoder, decoder or cross.")
        if self.layer is None and self.head is not None:
            raise EditError("A head is named without its layer; expected both.")
        _check_index("layer", self.layer)
        _check_index("head", self.head)

    def covers(self, kind: str, layer: int) -> bool:
        return self.kind == kind and self.layer in (None, layer)

    def meets(self, other: Place) -> bool:
        """True where the two have a head in common."""
        both = ((self.layer, other.layer), (self.head, other.head))
        return self.kind == other.kind and all(a == b or a is None or b is None for a, b in both)

    def contains(self, other: Place) -> bool:
        """True where every head of the other is one of these."""
        pairs = ((self.layer, other.layer), (self.head, other.head))
        return self.kind == other.kind and all(mine in (None, its) for mine, its in pairs)

    @property
    def heads(self) -> slice:
        return slice(None) if self.head is None else slice(self.head, self.head + 1)

    @property
    def code(self) -> str:
        return ".".join([_CODES[self.kind], *(str(n + 1) for n in (self.layer, self.head) if n is not None)])

    @property
    def text(self) -> str:
        layer = "all layers" if self.layer is None else f"layer {self.layer + 1}"
        return f"{_NAMES[self.kind]}, {layer}" + ("" if self.head is None else f", head {self.head + 1}")


@dataclass(frozen=True)
class Block:
    """A cell of the pattern that may not be used; a whole row (`key` None) or column (`query` None)."""

    place: Place
    query: int | None
    key: int | None

    def __post_init__(self) -> None:
        if self.query is None and self.key is None:
            raise EditError("A block names neither a row nor a column; expected one of them, or both.")
        _check_index("row", self.query)
        _check_index("column", self.key)

    @property
    def code(self) -> str:
        return f"block_{self.place.code}_{_number(self.query)}-{_number(self.key)}"

    def text(self, labels: Labels) -> str:
        kind = self.place.kind
        who = "no one" if self.query is None else labels.query(kind, self.query)
        if self.query is None:
            return f"{self.place.text}: {who} sees {labels.key(kind, self.key)}"
        return f"{self.place.text}: {who} sees " + ("nothing" if self.key is None else f"no {labels.key(kind, self.key)}")


@dataclass(frozen=True)
class PatchRow:
    """A row of the pattern written over: all weight on one key, or the same on all that it may see (`key` None)."""

    place: Place
    query: int
    key: int | None

    def __post_init__(self) -> None:
        _check_index("row", self.query)
        _check_index("column", self.key)

    @property
    def code(self) -> str:
        return f"row_{self.place.code}_{_number(self.query)}-{'uniform' if self.key is None else self.key + 1}"

    def text(self, labels: Labels) -> str:
        kind = self.place.kind
        how = "evenly at all that it may see" if self.key is None else f"at {labels.key(kind, self.key)} alone"
        return f"{self.place.text}: {labels.query(kind, self.query)} looks {how}"


@dataclass(frozen=True)
class Ablate:
    """What heads put out replaced by zeros, or by their mean over dev sentences."""

    place: Place
    how: Literal["zero", "mean"] = "zero"

    def __post_init__(self) -> None:
        if self.how not in ("zero", "mean"):
            raise EditError(f"The kind of ablation is {self.how!r}; expected 'zero' or 'mean'.")

    @property
    def code(self) -> str:
        return f"{'off' if self.how == 'zero' else 'mean'}_{self.place.code}"

    def text(self, labels: Labels) -> str:
        return f"{self.place.text}: {'off' if self.how == 'zero' else 'mean instead'}"


@dataclass(frozen=True)
class Skip:
    """A sub-layer that adds nothing to the residual stream; its norm still runs."""

    stack: Literal["encoder", "decoder"]
    layer: int
    sublayer: Literal["self", "cross", "ff"]

    def __post_init__(self) -> None:
        if self.stack not in ("encoder", "decoder"):
            raise EditError(f"The stack is {self.stack!r}; expected 'encoder' or 'decoder'.")
        if self.sublayer not in _SUBLAYERS or (self.stack, self.sublayer) == ("encoder", "cross"):
            raise EditError(
                f"The {self.stack} has no sub-layer {self.sublayer!r}; expected self, ff, or cross in a decoder."
            )

    @property
    def code(self) -> str:
        return f"skip_{_CODES[self.stack]}.{self.layer + 1}.{self.sublayer}"

    def text(self, labels: Labels) -> str:
        return f"{self.stack}, layer {self.layer + 1}: {_SUBLAYERS[self.sublayer]} skipped"


@dataclass(frozen=True)
class Positions:
    """Positions of the source or the target: none, shuffled by a seed (`amount`), or shifted by `amount`.

    The source is shuffled as a whole, the target in blocks of 16, so that what is decided does not depend on what follows.
    """

    side: Literal["source", "target"]
    how: Literal["off", "shuffled", "shifted"]
    amount: int = 0

    def __post_init__(self) -> None:
        if self.side not in ("source", "target") or self.how not in ("off", "shuffled", "shifted"):
            raise EditError(f"Positions cannot be {self.how!r} on {self.side!r}; expected off, shuffled or shifted.")
        limit = {"off": 0, "shuffled": MAX_SEED, "shifted": MAX_SHIFT}[self.how]
        if not 0 <= self.amount <= limit:
            what = "seed" if self.how == "shuffled" else "shift"
            raise EditError(f"The {what} of the {self.side}'s positions is {self.amount}; expected 0 to {limit}.")

    @property
    def code(self) -> str:
        return f"{self.side}-positions_{self.how}" + ("" if self.how == "off" else f"-{self.amount}")

    def text(self, labels: Labels) -> str:
        how = {"off": "off", "shuffled": f"shuffled, seed {self.amount}", "shifted": f"shifted by {self.amount}"}[self.how]
        return f"{self.side}: positions {how}"


Edit = Block | PatchRow | Ablate | Skip | Positions


def _number(position: int | None) -> str:
    return "all" if position is None else str(position + 1)


def contradict(one: Edit, two: Edit) -> bool:
    """True where both cannot hold at once."""
    if isinstance(one, Positions) and isinstance(two, Positions):
        return one.side == two.side
    if isinstance(one, Ablate) and isinstance(two, Ablate):
        return one.how != two.how and one.place.meets(two.place)
    if isinstance(one, PatchRow) and isinstance(two, PatchRow):
        return one.query == two.query and one.place.meets(two.place)
    pair = {type(one): one, type(two): two}
    if pair.keys() == {Block, PatchRow} and one.place.meets(two.place):
        block, row = pair[Block], pair[PatchRow]
        return block.query in (None, row.query) and (block.key is None or block.key == row.key)
    return False


# -- codes ------------------------------------------------------------------------------------------------------------

_PLACE = r"(enc|dec|cross)(?:\.(\d{1,3})(?:\.(\d{1,3}))?)?"


def _index(text: str | None) -> int | None:
    """What counts from 1 in a code, from 0; None for nothing and for `all`."""
    if text in (None, "all", "uniform"):
        return None
    if int(text) < 1:
        raise EditError("An edit names number 0; expected numbers from 1.")
    return int(text) - 1


def _place(match: re.Match[str]) -> Place:
    return Place(_KINDS[match[1]], _index(match[2]), _index(match[3]))


_READERS: dict[str, Callable[[re.Match[str]], Edit]] = {
    rf"block_{_PLACE}_(\d{{1,3}}|all)-(\d{{1,3}}|all)": lambda m: Block(_place(m), _index(m[4]), _index(m[5])),
    rf"row_{_PLACE}_(\d{{1,3}})-(\d{{1,3}}|uniform)": lambda m: PatchRow(_place(m), _index(m[4]), _index(m[5])),
    rf"off_{_PLACE}": lambda m: Ablate(_place(m), "zero"),
    rf"mean_{_PLACE}": lambda m: Ablate(_place(m), "mean"),
    r"skip_(enc|dec)\.(\d{1,3})\.(self|cross|ff)": lambda m: Skip(_KINDS[m[1]], _index(m[2]), m[3]),
    r"(source|target)-positions_off": lambda m: Positions(m[1], "off"),
    r"(source|target)-positions_(shuffled|shifted)-(\d{1,4})": lambda m: Positions(m[1], m[2], int(m[3])),
}


def parse(code: str) -> Edit:
    """The edit of a code, such as `off_cross.3.5`, `block_enc_9-2`, `row_cross.3.5_4-uniform`, `skip_dec.2.ff`.

    Raises EditError where the code is none.
    """
    for pattern, read in _READERS.items():
        if match := re.fullmatch(pattern, code):
            return read(match)
    raise EditError(f"“{code[:40]}” is no edit; expected one such as off_cross.3.5 or block_enc_9-2.")
