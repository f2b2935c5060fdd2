"""Edits of the cells of a pattern: blocked cells and patched rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..config import MAX_GIVEN_TOKENS, ModelConfig
from ..trace import site_kind
from .edit import Edit, Form, HeadsEdit, HeadsQuestion, TokenQuestion, register_kind
from .place import PLACE, EditError, Place, TokenLabels, check_index, format_number, parse_number

if TYPE_CHECKING:
    from torch import Tensor


def _check_cell(edit: BlockCells | PatchRow, source_length: int) -> None:
    """Raises EditError for a row or a column beyond the sentence."""
    attention = edit.place.kind
    for position, limit, what in (
        (edit.query, source_length if site_kind(attention).query_side == "source" else MAX_GIVEN_TOKENS, "row"),
        (edit.key, MAX_GIVEN_TOKENS if attention == "decoder" else source_length, "column"),
    ):
        if position is not None and position >= limit:
            raise EditError(f"{edit.subject} names {what} {position + 1}; expected at most {limit}. Remove it.")


def _is_cell_pending(edit: BlockCells | PatchRow, target_length: int) -> bool:
    query = edit.query if site_kind(edit.place.kind).query_side == "target" else None
    key = edit.key if site_kind(edit.place.kind).key_side == "target" else None
    return max(-1 if query is None else query, -1 if key is None else key) >= target_length


@register_kind
@dataclass(frozen=True)
class BlockCells(HeadsEdit):
    """A blocked cell of the pattern, row (`key` None) or column (`query` None)."""

    place: Place
    query: int | None
    key: int | None

    name = "block"
    title = "Block a token from another"
    pattern = rf"block_{PLACE}_(?P<query>\d{{1,4}}|all)-(?P<key>\d{{1,4}}|all)"
    EXAMPLES = ("block_enc.1.2_2-3", "block_dec_3-2", "block_dec.1_all-1", "block_cross.2_2-all", "block_cross.1.1_all-2")

    def __post_init__(self) -> None:
        if self.query is None and self.key is None:
            raise EditError("A block names neither a row nor a column; expected one of them, or both.")
        check_index("row", self.query)
        check_index("column", self.key)

    @classmethod
    def read(cls, match: re.Match[str]) -> BlockCells:
        return cls(Place.read(match), parse_number(match["query"]), parse_number(match["key"]))

    @staticmethod
    def code_pattern(place: Place) -> str:
        """Returns the code pattern of all blocks at a place, with {query} and {key} for the numbers."""
        return f"block_{place.code}_{{query}}-{{key}}"

    @property
    def code(self) -> str:
        return self.code_pattern(self.place).format(query=format_number(self.query), key=format_number(self.key))

    def text(self, labels: TokenLabels) -> str:
        attention = self.place.kind
        if self.query is None:
            return f"{self.place.text}: no one sees {labels.key(attention, self.key)}"
        hidden = "nothing" if self.key is None else f"no {labels.key(attention, self.key)}"
        return f"{self.place.text}: {labels.query(attention, self.query)} sees {hidden}"

    @classmethod
    def form(cls, has_means: bool) -> Form:
        place = yield HeadsQuestion()
        query = yield TokenQuestion("query", place.kind, "Who may not see", "every row", default_index=1)
        key = yield TokenQuestion("key", place.kind, "whom", "every column")
        return cls(place, query, key).code

    def contradicts(self, other: Edit) -> bool:
        return False  # blocks add up; PatchRow knows the blocks that it contradicts

    def covers(self, other: Edit) -> bool:
        if not (isinstance(other, BlockCells) and self.place.contains(other.place)):
            return False
        return self.query in (None, other.query) and self.key in (None, other.key)

    def check(self, config: ModelConfig, source_length: int, has_means: bool, causal: bool) -> None:
        super().check(config, source_length, has_means, causal)
        _check_cell(self, source_length)

    def is_pending(self, target_length: int) -> bool:
        return _is_cell_pending(self, target_length)

    def change_mask(self, mask: Tensor, start: int) -> None:
        if self.query is not None and self.query < start:
            return
        query = slice(None) if self.query is None else slice(self.query - start, self.query - start + 1)
        key = slice(None) if self.key is None else slice(self.key, self.key + 1)
        mask[:, self.place.heads, query, key] = False


@register_kind
@dataclass(frozen=True)
class PatchRow(HeadsEdit):
    """A patched row of the pattern: all weight on one key, or equal weight on all visible keys (`key` None)."""

    place: Place
    query: int
    key: int | None

    name = "row"
    title = "Write a row over"
    pattern = rf"row_{PLACE}_(?P<query>\d{{1,4}})-(?P<key>\d{{1,4}}|uniform)"
    EXAMPLES = ("row_enc.2_2-1", "row_dec.1.1_3-1", "row_dec_3-uniform", "row_cross.1_2-3", "row_cross.2.2_4-uniform")

    def __post_init__(self) -> None:
        check_index("row", self.query)
        check_index("column", self.key)

    @classmethod
    def read(cls, match: re.Match[str]) -> PatchRow:
        return cls(Place.read(match), parse_number(match["query"]), parse_number(match["key"]))

    @property
    def code(self) -> str:
        return (
            f"row_{self.place.code}_{format_number(self.query)}-{'uniform' if self.key is None else format_number(self.key)}"
        )

    def text(self, labels: TokenLabels) -> str:
        attention = self.place.kind
        target = "evenly at all that it may see" if self.key is None else f"at {labels.key(attention, self.key)} alone"
        return f"{self.place.text}: {labels.query(attention, self.query)} looks {target}"

    @classmethod
    def form(cls, has_means: bool) -> Form:
        place = yield HeadsQuestion()
        query = yield TokenQuestion("query", place.kind, "Whose row")
        key = yield TokenQuestion("key", place.kind, "looks at", "all that it may see, evenly")
        return cls(place, query, key).code

    def contradicts(self, other: Edit) -> bool:
        if isinstance(other, PatchRow):
            return other != self and self.query == other.query and self.place.overlaps(other.place)
        if isinstance(other, BlockCells) and self.place.overlaps(other.place):
            return other.query in (None, self.query) and (other.key is None or other.key == self.key)
        return False

    def covers(self, other: Edit) -> bool:
        return False  # two patches of one row contradict each other

    def check(self, config: ModelConfig, source_length: int, has_means: bool, causal: bool) -> None:
        super().check(config, source_length, has_means, causal)
        if causal and site_kind(self.place.kind).key_side == "target" and self.key is not None and self.key > self.query:
            raise EditError(f"{self.subject} looks ahead, which the causal mask forbids: choose an earlier token.")
        _check_cell(self, source_length)

    def is_pending(self, target_length: int) -> bool:
        return _is_cell_pending(self, target_length)

    def change_pattern(self, pattern: Tensor, mask: Tensor, start: int) -> None:
        row = self.query - start
        if not 0 <= row < pattern.size(2):
            return
        visible = mask[:, self.place.heads, row]  # [B,h,S]
        if self.key is None:
            pattern[:, self.place.heads, row] = visible.to(pattern) / visible.sum(-1, keepdim=True).clamp(min=1)
            return
        if site_kind(self.place.kind).key_side == "target" and self.key >= visible.size(-1):
            return  # the token is not generated yet
        if self.key >= visible.size(-1) or not visible[..., self.key].all():
            raise EditError(f"{self.subject} looks where the mask forbids it: choose another token.")
        pattern[:, self.place.heads, row] = 0.0
        pattern[:, self.place.heads, row, self.key] = 1.0
