"""What a kind of edit is: one class that knows its code, its words, its limits and what it does in a forward pass.

A kind is declared once, with `@kind`; parsing, the list of edits, the link, the forward pass, the editor and the tests find
it in KINDS. No torch is imported: what is done to tensors is done with the tensors' own methods.

How an edit is asked for in words: a form yields question after question, is sent each answer, and returns a code.

What may be asked can depend on what was answered before. `viz/what_if/edit_controls.py` draws the questions."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from .place import EditError, Kind, Labels, Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from ..config import ModelConfig
    from ..trace import Side


@dataclass(frozen=True)
class Which:
    """One of some names, each with its text; answered by the name. A note stands below."""

    key: str
    label: str
    options: Mapping[str, str]
    note: str | None = None


@dataclass(frozen=True)
class Where:
    """Heads; answered by a Place."""


@dataclass(frozen=True)
class Token:
    """A query or a key of a kind of attention; answered by its position, or by None where `extra` is chosen."""

    axis: Literal["query", "key"]
    kind: Kind
    label: str
    extra: str | None = None
    first: int = 0  # which choice stands there at first


@dataclass(frozen=True)
class Layer:
    """A layer of a kind of attention, or of a stack; answered from 0."""

    key: str
    kind: Kind


@dataclass(frozen=True)
class Number:
    """A whole number."""

    key: str
    label: str
    low: int
    high: int
    value: int


@dataclass(frozen=True)
class Text:
    """A sentence, as it is typed."""

    key: str
    label: str
    value: str


Question = Which | Where | Token | Layer | Number | Text
Form = Generator[Question, Any, str]


PATCHES = ("patch_z", "patch_stream")  # what takes from the other sentence
HOOKS = ("change_mask", "change_pattern", "change_z", "sublayer_factor", "change_positions", *PATCHES)


class Edit:
    """The base of all kinds, frozen dataclasses. A kind overrides what is otherwise with it, and at least one of HOOKS."""

    name: ClassVar[str]  # in KINDS
    title: ClassVar[str]  # in the editor
    pattern: ClassVar[str]  # of its codes
    EXAMPLES: ClassVar[tuple[str, ...]]  # codes, for a model of two layers and two heads and sentences of five tokens
    hooks: ClassVar[frozenset[str]] = frozenset()  # which of HOOKS it has

    def __init_subclass__(cls) -> None:
        cls.hooks = frozenset(hook for hook in HOOKS if getattr(cls, hook) is not getattr(Edit, hook))

    # -- code and words --

    @classmethod
    def read(cls, match: re.Match[str]) -> Self:
        """The edit of a code that `pattern` has matched."""
        raise NotImplementedError

    @property
    def code(self) -> str:
        """What a link carries."""
        raise NotImplementedError

    def text(self, labels: Labels) -> str:
        """What is done, in words."""
        raise NotImplementedError

    @classmethod
    def form(cls, has_means: bool) -> Form:
        """How the editor asks for it."""
        raise NotImplementedError

    # -- beside other edits, and on a checkpoint and a sentence --

    def contradicts(self, other: Edit) -> bool:
        """True where both cannot hold at once; to say so of one of the two is enough."""
        return False

    def covers(self, other: Edit) -> bool:
        """True where this does what the other would do, and more."""
        return False

    def check(self, config: ModelConfig, source_length: int, has_means: bool, causal: bool) -> None:
        """EditError for what a checkpoint or a sentence does not have; `causal`: the decoder sees no later position."""

    @property
    def takes(self) -> Side | None:
        """The side at whose positions it takes from the other sentence, None where it does not."""
        return None

    def check_partners(self, partners: Sequence[int | None]) -> None:
        """EditError for a source position without a partner in the other sentence; `partners` has one for each, or None."""

    def waits_for(self, target_length: int) -> bool:
        """True where it names a target position that is not reached."""
        return False

    @property
    def said(self) -> str:
        """The beginning of a sentence about this edit."""
        return f"The edit “{self.text(Labels())}”"

    # -- in a forward pass: all but the factor change a tensor in place --

    def acts_at(self, *where: Any) -> bool:
        """True where something changes: at a kind of attention and a layer, at a stack, a layer and a sub-layer, on a side's
        positions, or in a stack after so many layers."""
        return False

    def change_mask(self, mask: Tensor, start: int) -> None:
        """mask bool [B,H,T,S], True = may attend; the first query stands at position `start`."""

    def change_pattern(self, pattern: Tensor, mask: Tensor, start: int) -> None:
        """pattern [B,H,T,S] after the softmax, mask [B,H,T,S]; the first query stands at position `start`."""

    def change_z(self, z: Tensor, means: Tensor | None) -> None:
        """z [B,H,T,K], means [H,K] where the checkpoint has them."""

    def sublayer_factor(self) -> float:
        """What a sub-layer adds is multiplied by it."""
        return 1.0

    def change_positions(self, positions: Tensor, present: Tensor, ids: Tensor, start: int) -> None:
        """positions [B,T] of ids [B,T], the first of which stands at `start`; present [B,1,1]: 0 adds no positions."""

    def patch_z(self, z: Tensor, other: Tensor, has: Tensor, start: int) -> None:
        """z [B,H,T,K] and the other sentence's [1|B,H,T,K]; has bool [T]: where that is known; the first query stands at
        `start`."""

    def patch_stream(self, stream: Tensor, other: Tensor, has: Tensor, start: int) -> None:
        """The residual stream [B,T,D] after a layer and the other sentence's [1|B,T,D]; `has` and `start` as above."""


class AtHeads(Edit):
    """An edit of the heads at a place. Two of a kind that differ in more than the place cannot both hold at one head."""

    place: Place

    def contradicts(self, other: Edit) -> bool:
        return type(other) is type(self) and self.place.meets(other.place) and self._moved_to(other.place) != other

    def covers(self, other: Edit) -> bool:
        return type(other) is type(self) and self.place.contains(other.place) and self._moved_to(other.place) == other

    def _moved_to(self, place: Place) -> Self:
        return replace(self, place=place)

    def check(self, config: ModelConfig, source_length: int, has_means: bool, causal: bool) -> None:
        self.place.check(self.said, config)

    def acts_at(self, *where: Any) -> bool:
        return self.place.covers(*where)


KINDS: dict[str, type[Edit]] = {}  # by name, in the order in which the editor offers them


def kind(cls: type[Edit]) -> type[Edit]:
    """Declares a kind of edit.

    Raises ValueError for a name that is taken, a kind that changes nothing, and examples that are not read back.
    """
    if cls.name in KINDS:
        raise ValueError(f"there are two kinds of edit {cls.name!r}; expected different names")
    if not cls.hooks:
        raise ValueError(f"the kind of edit {cls.name!r} changes nothing; expected at least one of {', '.join(HOOKS)}")
    KINDS[cls.name] = cls
    for code in cls.EXAMPLES or ("",):
        try:
            found = parse(code)
        except EditError:
            found = None
        if type(found) is not cls or found.code != code:
            del KINDS[cls.name]
            raise ValueError(f"the kind of edit {cls.name!r} has the example {code!r}, which is read as {found!r}")
    return cls


def parse(code: str) -> Edit:
    """The edit of a code, such as `off_cross.3.5`, `block_enc_9-2`, `row_cross.3.5_4-uniform`, `skip_dec.2.ff`.

    Raises EditError where the code is none.
    """
    for each in KINDS.values():
        if match := re.fullmatch(each.pattern, code):
            return each.read(match)
    raise EditError(f"“{code[:40]}” is no edit; expected one such as off_cross.3.5 or block_enc_9-2.")


def contradict(one: Edit, two: Edit) -> bool:
    """True where both cannot hold at once."""
    return one.contradicts(two) or two.contradicts(one)
