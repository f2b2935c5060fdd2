"""Activation patching (Vig et al. 2020; Meng et al. 2022): values of the other sentence's run replace those at a place.

The other sentence is the intervention's `donor`. Its run is unedited; its encoder reads its own source, its decoder the
target tokens of the patched run. So every step has its counterpart, and differences come from the source. Source positions
take from their partners (see `model.inference.source_reading`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..config import MAX_GIVEN_TOKENS, ModelConfig
from ..trace import AttentionKind, Side, site_kind
from .edit import Edit, Form, HeadsEdit, HeadsQuestion, LayerQuestion, NameQuestion, TokenQuestion, register_kind
from .place import (
    CODES,
    KINDS_OF,
    PLACE,
    EditError,
    Place,
    TokenLabels,
    check_index,
    check_layer,
    format_number,
    parse_number,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


EVERYWHERE = "every token"


class _Patch(Edit):
    """The base of both kinds: a patch of one position, or of all (None)."""

    position: int | None

    @property
    def query_kind(self) -> AttentionKind:
        """Returns the kind of attention whose queries the positions are."""
        raise NotImplementedError

    @property
    def donor_side(self) -> Side:
        return site_kind(self.query_kind).query_side

    def _position_text(self, labels: TokenLabels) -> str:
        return "" if self.position is None else f" at {labels.query(self.query_kind, self.position)}"

    def check(self, config: ModelConfig, source_length: int, has_means: bool, causal: bool) -> None:
        if "encoder" not in config.kinds:
            raise EditError(f"{self.subject} takes from another source; this checkpoint reads none. Remove it.")
        limit = source_length if self.donor_side == "source" else MAX_GIVEN_TOKENS
        if self.position is not None and self.position >= limit:
            raise EditError(f"{self.subject} names token {self.position + 1}; expected at most {limit}. Remove it.")

    def check_partners(self, partners: Sequence[int | None]) -> None:
        if self.donor_side == "source" and self.position is not None and partners[self.position] is None:
            raise EditError(
                f"{self.subject} has nothing to take: that token has no partner in the other sentence. Remove it."
            )

    def is_pending(self, target_length: int) -> bool:
        return self.donor_side == "target" and self.position is not None and self.position >= target_length

    def _rows(self, is_known: Tensor, start: int) -> Tensor:
        """Returns the patched positions, bool as `is_known` [T], where the first is at `start`."""
        if self.position is None:
            return is_known
        here = is_known.new_zeros(len(is_known))
        if 0 <= self.position - start < len(is_known):
            here[self.position - start] = True
        return here & is_known


@register_kind
@dataclass(frozen=True)
class PatchStream(_Patch):
    """The residual stream after `layers` layers of a stack (0: the embedding), at a position or at all (None)."""

    stack: Literal["encoder", "decoder"]
    layers: int
    position: int | None

    name = "stream"
    title = "Insert the other sentence’s residual stream"
    pattern = r"patch_(?P<stack>enc|dec)\.(?P<layers>\d{1,3})_(?P<position>\d{1,4}|all)"
    EXAMPLES = ("patch_enc.1_2", "patch_enc.0_3", "patch_enc.2_all", "patch_dec.1_2", "patch_dec.2_all")

    def __post_init__(self) -> None:
        if self.stack not in ("encoder", "decoder"):
            raise EditError(f"The stack is {self.stack!r}; expected 'encoder' or 'decoder'.")
        check_index("layer", self.layers)
        check_index("token", self.position)
        if self.stack == "decoder" and self.layers == 0:
            raise EditError("Both decoders read the same tokens, so their embeddings are equal: patch after a layer.")

    @classmethod
    def read(cls, match: re.Match[str]) -> PatchStream:
        return cls(KINDS_OF[match["stack"]], int(match["layers"]), parse_number(match["position"]))

    @property
    def query_kind(self) -> AttentionKind:
        return self.stack

    @property
    def code(self) -> str:
        return f"patch_{CODES[self.stack]}.{self.layers}_{format_number(self.position)}"

    def text(self, labels: TokenLabels) -> str:
        after = f"after layer {self.layers}" if self.layers else "embedding"
        return f"{self.stack}, {after}: the other sentence’s residual stream{self._position_text(labels)}"

    @classmethod
    def form(cls, has_means: bool) -> Form:
        stack = yield NameQuestion("stream", "Stack", {"encoder": "encoder", "decoder": "decoder"})
        layers = 0
        after = {"layer": "after a layer"} | ({"embedding": "of the embedding"} if stack == "encoder" else {})
        if (yield NameQuestion("after", "The stream", after)) == "layer":
            layers = 1 + (yield LayerQuestion("patched", stack))
        return cls(stack, layers, (yield TokenQuestion("query", stack, "Where", EVERYWHERE, default_index=1))).code

    def covers(self, other: Edit) -> bool:
        same = isinstance(other, PatchStream) and (self.stack, self.layers) == (other.stack, other.layers)
        return same and self.position in (None, other.position)

    def check(self, config: ModelConfig, source_length: int, has_means: bool, causal: bool) -> None:
        super().check(config, source_length, has_means, causal)
        check_layer(self.subject, self.stack, self.layers - 1 if self.layers else None, config)

    def acts_at(self, *where: Any) -> bool:
        return where == (self.stack, self.layers)

    def patch_stream(self, stream: Tensor, other: Tensor, is_known: Tensor, start: int) -> None:
        rows = self._rows(is_known, start)
        stream[:, rows] = other[:, rows]


@register_kind
@dataclass(frozen=True)
class PatchZ(_Patch, HeadsEdit):
    """The output of heads, z, at a query or at all (None)."""

    place: Place
    position: int | None

    name = "z"
    title = "Insert the other sentence’s head outputs"
    pattern = rf"patch_z_{PLACE}_(?P<position>\d{{1,4}}|all)"
    EXAMPLES = ("patch_z_cross.1.2_2", "patch_z_enc.1.1_3", "patch_z_enc.2_all", "patch_z_dec.2.1_all", "patch_z_cross_all")

    def __post_init__(self) -> None:
        check_index("token", self.position)

    @classmethod
    def read(cls, match: re.Match[str]) -> PatchZ:
        return cls(Place.read(match), parse_number(match["position"]))

    @property
    def query_kind(self) -> AttentionKind:
        return self.place.kind

    @property
    def code(self) -> str:
        return f"patch_z_{self.place.code}_{format_number(self.position)}"

    def text(self, labels: TokenLabels) -> str:
        return f"{self.place.text}: the other sentence’s output{self._position_text(labels)}"

    @classmethod
    def form(cls, has_means: bool) -> Form:
        place = yield HeadsQuestion()
        return cls(place, (yield TokenQuestion("query", place.kind, "Where", EVERYWHERE))).code

    def contradicts(self, other: Edit) -> bool:
        """Returns True for an ablation of the same heads: only one thing can replace their output."""
        return isinstance(other, HeadsEdit) and "change_z" in other.hooks and self.place.overlaps(other.place)

    def covers(self, other: Edit) -> bool:
        return isinstance(other, PatchZ) and self.place.contains(other.place) and self.position in (None, other.position)

    def check(self, config: ModelConfig, source_length: int, has_means: bool, causal: bool) -> None:
        super().check(config, source_length, has_means, causal)
        self.place.check(self.subject, config)

    def patch_z(self, z: Tensor, other: Tensor, is_known: Tensor, start: int) -> None:
        rows, heads = self._rows(is_known, start), self.place.heads
        z[:, heads, rows] = other[:, heads, rows]
