"""The base class of the kinds of edits: code, texts, limits and effect in a forward pass. Also the questions of the editor.

A kind is declared once, with `@register_kind`. Parsing, the list of edits, the link, the forward pass, the editor and the
tests find it in KINDS. No torch import: tensors are changed by their own methods.

The form of a kind yields questions, receives each answer and returns a code. Later questions can depend on earlier answers.
`viz/what_if/edit_controls.py` draws them.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from .place import AttentionKind, EditError, Place, TokenLabels

if TYPE_CHECKING:
    from torch import Tensor

    from ..config import ModelConfig
    from ..trace import Side


@dataclass(frozen=True)
class NameQuestion:
    """A choice of one name, each with its text, and a note below. The answer is the name."""

    key: str
    label: str
    options: Mapping[str, str]
    note: str | None = None


@dataclass(frozen=True)
class HeadsQuestion:
    """A choice of heads. The answer is a Place."""


@dataclass(frozen=True)
class TokenQuestion:
    """A query or a key of a kind of attention. The answer is its position, or None for the choice `extra`."""

    axis: Literal["query", "key"]
    kind: AttentionKind
    label: str
    extra: str | None = None
    default_index: int = 0  # index of the preselected choice


@dataclass(frozen=True)
class LayerQuestion:
    """A layer of a kind of attention, or of a stack. The answer counts from 0."""

    key: str
    kind: AttentionKind


@dataclass(frozen=True)
class NumberQuestion:
    """A whole number."""

    key: str
    label: str
    low: int
    high: int
    value: int


@dataclass(frozen=True)
class TextQuestion:
    """A sentence as typed."""

    key: str
    label: str
    value: str


Question = NameQuestion | HeadsQuestion | TokenQuestion | LayerQuestion | NumberQuestion | TextQuestion
Form = Generator[Question, Any, str]


PATCHES = ("patch_z", "patch_stream")  # hooks that take from the other sentence
HOOKS = ("change_scores", "change_mask", "change_pattern", "change_z", "sublayer_factor", "change_positions", *PATCHES)


class Edit:
    """The base of all kinds, which are frozen dataclasses. A kind overrides what differs, and at least one of HOOKS."""

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
        """Returns the edit of a code that `pattern` has matched."""
        raise NotImplementedError

    @property
    def code(self) -> str:
        """Returns the code in links."""
        raise NotImplementedError

    def text(self, labels: TokenLabels) -> str:
        """Returns the edit in words."""
        raise NotImplementedError

    @classmethod
    def form(cls, has_means: bool) -> Form:
        """Yields the questions of the editor and returns the code."""
        raise NotImplementedError

    # -- with other edits, and on a checkpoint and a sentence --

    def contradicts(self, other: Edit) -> bool:
        """Returns True where both cannot hold at once; it is enough that one of the two says so."""
        return False

    def covers(self, other: Edit) -> bool:
        """Returns True where this edit does what the other would do, and more."""
        return False

    def check(self, config: ModelConfig, source_length: int, has_means: bool, causal: bool) -> None:
        """Raises EditError for what a checkpoint or a sentence lacks; `causal`: the decoder sees no later position."""

    @property
    def donor_side(self) -> Side | None:
        """Returns the side at whose positions it takes from the other sentence, or None."""
        return None

    def check_partners(self, partners: Sequence[int | None]) -> None:
        """Raises EditError for a source position without a partner; `partners` has one per position, or None."""

    def is_pending(self, target_length: int) -> bool:
        """Returns True where it names a target position that is not reached."""
        return False

    @property
    def subject(self) -> str:
        """Returns the beginning of a sentence about this edit."""
        return f"The edit “{self.text(TokenLabels())}”"

    # -- in a forward pass; all but `sublayer_factor` change a tensor in place --

    def acts_at(self, *where: Any) -> bool:
        """Returns True where something changes at a place.

        A place is a kind of attention and a layer, a stack with a layer and a sub-layer, a side (its positions), or a stack
        after a number of layers.
        """
        return False

    def change_scores(self, scores: Tensor) -> None:
        """Changes scores [B,H,T,S] before a position bias, the mask and the softmax."""

    def change_mask(self, mask: Tensor, start: int) -> None:
        """Changes mask, bool [B,H,T,S], True = may attend; the first query is at position `start`."""

    def change_pattern(self, pattern: Tensor, mask: Tensor, start: int) -> None:
        """Changes pattern [B,H,T,S] after the softmax, with mask [B,H,T,S]; the first query is at position `start`."""

    def change_z(self, z: Tensor, means: Tensor | None) -> None:
        """Changes z [B,H,T,K]; means [H,K] where the checkpoint has them."""

    def sublayer_factor(self) -> float:
        """Returns the factor of a sub-layer's output."""
        return 1.0

    def change_positions(self, positions: Tensor, present: Tensor, ids: Tensor, start: int) -> None:
        """Changes positions [B,T] of ids [B,T], the first at `start`, and present [B,1,1]: 0 adds no positions."""

    def patch_z(self, z: Tensor, other: Tensor, is_known: Tensor, start: int) -> None:
        """Changes z [B,H,T,K], whose first query is at `start`.

        `other` [1|B,H,T,K] is the other sentence's z; `is_known`, bool [T], is True where it is known.
        """

    def patch_stream(self, stream: Tensor, other: Tensor, is_known: Tensor, start: int) -> None:
        """Changes the residual stream [B,T,D] after a layer; `other` [1|B,T,D], `is_known` and `start` as in `patch_z`."""


class HeadsEdit(Edit):
    """An edit of the heads at a place. Two edits of one kind that differ in more than the place exclude each other at a
    head.
    """

    place: Place

    def contradicts(self, other: Edit) -> bool:
        return type(other) is type(self) and self.place.overlaps(other.place) and self._moved_to(other.place) != other

    def covers(self, other: Edit) -> bool:
        return type(other) is type(self) and self.place.contains(other.place) and self._moved_to(other.place) == other

    def _moved_to(self, place: Place) -> Self:
        return replace(self, place=place)

    def check(self, config: ModelConfig, source_length: int, has_means: bool, causal: bool) -> None:
        self.place.check(self.subject, config)

    def acts_at(self, *where: Any) -> bool:
        return self.place.covers_layer(*where)


KINDS: dict[str, type[Edit]] = {}  # by name, in the order in which the editor offers them


def register_kind(cls: type[Edit]) -> type[Edit]:
    """Declares a kind of edit.

    Raises ValueError for a name in use, a kind that changes nothing, and examples that do not survive parsing.
    """
    if cls.name in KINDS:
        raise ValueError(f"there are two kinds of edit {cls.name!r}; expected different names")
    if not cls.hooks:
        raise ValueError(f"the kind of edit {cls.name!r} changes nothing; expected at least one of {', '.join(HOOKS)}")
    KINDS[cls.name] = cls
    for code in cls.EXAMPLES or ("",):
        try:
            edit = parse(code)
        except EditError:
            edit = None
        if type(edit) is not cls or edit.code != code:
            del KINDS[cls.name]
            raise ValueError(f"the kind of edit {cls.name!r} has the example {code!r}, which is read as {edit!r}")
    return cls


def parse(code: str) -> Edit:
    """Returns the edit of a code, such as `off_cross.3.5`, `block_enc_9-2`, `row_cross.3.5_4-uniform`, `skip_dec.2.ff`.

    Raises EditError for any other text.
    """
    for each in KINDS.values():
        if match := re.fullmatch(each.pattern, code):
            return each.read(match)
    raise EditError(f"“{code[:40]}” is no edit; expected one such as off_cross.3.5 or block_enc_9-2.")


def contradict(first: Edit, second: Edit) -> bool:
    """Returns True where both cannot hold at once."""
    return first.contradicts(second) or second.contradicts(first)
