"""The kinds of edits, frozen and hashable: cells of a pattern (`cells.py`), heads, sub-layers, positions, patches
(`patches.py`).

Each is declared once; `edit.py` has the base class. An import of this module registers them all.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..config import PAD, ModelConfig
from .cells import BlockCells, PatchRow
from .edit import (
    KINDS,
    Edit,
    Form,
    HeadsEdit,
    HeadsQuestion,
    LayerQuestion,
    NameQuestion,
    NumberQuestion,
    contradict,
    parse,
    register_kind,
)
from .patches import PatchStream, PatchZ
from .place import CODES, KINDS_OF, PLACE, EditError, Place, TokenLabels, check_layer, ordinal, parse_number

if TYPE_CHECKING:
    from torch import Tensor


__all__ = [
    "KINDS",
    "BlockCells",
    "Edit",
    "EditError",
    "HeadsEdit",
    "PatchRow",
    "Place",
    "TokenLabels",
]  # and the kinds of this file
__all__ += [
    "Ablate",
    "PatchStream",
    "PatchZ",
    "Positions",
    "ScaleScores",
    "Skip",
    "contradict",
    "ordinal",
    "parse",
    "register_kind",
]

MAX_FACTOR = 100
MAX_SHIFT = 256
MAX_POSITION_SEED = 9999
SHUFFLED_BLOCK = 16  # size of the blocks in which target positions are shuffled
_SUBLAYERS = {"self": "self-attention", "cross": "cross-attention", "ff": "feed-forward"}


@register_kind
@dataclass(frozen=True)
class Ablate(HeadsEdit):
    """The output of heads replaced by zeros, or by their mean over dev sentences."""

    place: Place
    how: Literal["zero", "mean"] = "zero"

    name = "head"
    title = "Switch heads off"
    pattern = rf"(?P<how>off|mean)_{PLACE}"
    EXAMPLES = ("off_enc.1", "off_dec.2.1", "off_cross.1.2", "mean_enc.2.2", "mean_dec.1", "mean_cross")

    def __post_init__(self) -> None:
        if self.how not in ("zero", "mean"):
            raise EditError(f"The kind of ablation is {self.how!r}; expected 'zero' or 'mean'.")

    @classmethod
    def read(cls, match: re.Match[str]) -> Ablate:
        return cls(Place.read(match), "zero" if match["how"] == "off" else "mean")

    @property
    def code(self) -> str:
        return f"{'off' if self.how == 'zero' else 'mean'}_{self.place.code}"

    def text(self, labels: TokenLabels) -> str:
        return f"{self.place.text}: {'off' if self.how == 'zero' else 'mean instead'}"

    @classmethod
    def form(cls, has_means: bool) -> Form:
        place = yield HeadsQuestion()
        stored = {"mean": "their mean over dev sentences"} if has_means else {}
        note = None if has_means else "Means are not stored with this checkpoint."
        how = yield NameQuestion("how", "Their output becomes", {"zero": "zeros"} | stored, note)
        return cls(place, how).code

    def check(self, config: ModelConfig, source_length: int, has_means: bool, causal: bool) -> None:
        super().check(config, source_length, has_means, causal)
        if self.how == "mean" and not has_means:
            raise EditError(
                f"{self.subject} needs the heads' means, which this checkpoint does not have. Switch the head off."
            )

    def change_z(self, z: Tensor, means: Tensor | None) -> None:
        if self.how == "zero":
            z[:, self.place.heads] = 0.0
        elif means is not None:
            z[:, self.place.heads] = means.to(z)[self.place.heads, None]  # [h,1,K]
        else:
            raise EditError("This checkpoint has no means of its heads; switch the head off instead.")


@register_kind
@dataclass(frozen=True)
class ScaleScores(HeadsEdit):
    """The scores of heads multiplied by a factor: below 1 the pattern is more even, above 1 sharper, and 0 is even."""

    place: Place
    factor: float

    name = "scale"
    title = "Scale the scores of heads"
    pattern = rf"scale_{PLACE}_(?P<factor>\d{{1,3}}(?:\.\d{{1,3}})?)"
    EXAMPLES = ("scale_enc.1_0.5", "scale_dec.2.1_2", "scale_cross.1.2_0", "scale_cross_1.25")

    def __post_init__(self) -> None:
        if not 0 <= self.factor <= MAX_FACTOR or round(self.factor, 3) != self.factor:
            raise EditError(f"The factor is {self.factor}; expected 0 to {MAX_FACTOR}, with three decimals at most.")

    @classmethod
    def read(cls, match: re.Match[str]) -> ScaleScores:
        return cls(Place.read(match), float(match["factor"]))

    @property
    def code(self) -> str:
        return f"scale_{self.place.code}_{self.factor:.6g}"

    def text(self, labels: TokenLabels) -> str:
        return f"{self.place.text}: scores × {self.factor:.6g}"

    @classmethod
    def form(cls, has_means: bool) -> Form:
        place = yield HeadsQuestion()
        return cls(place, (yield NumberQuestion("factor", "Scores, in % of their value", 0, 1000, 50)) / 100).code

    def contradicts(self, other: Edit) -> bool:
        return (
            isinstance(other, ScaleScores) and self != other and self.place.overlaps(other.place)
        )  # factors would multiply

    def change_scores(self, scores: Tensor) -> None:
        scores[:, self.place.heads] *= self.factor


@register_kind
@dataclass(frozen=True)
class Skip(Edit):
    """A sub-layer that adds nothing to the residual stream; its norm still runs."""

    stack: Literal["encoder", "decoder"]
    layer: int
    sublayer: Literal["self", "cross", "ff"]

    name = "layer"
    title = "Skip a sub-layer"
    pattern = r"skip_(?P<stack>enc|dec)\.(?P<layer>\d{1,3})\.(?P<sublayer>self|cross|ff)"
    EXAMPLES = ("skip_enc.1.self", "skip_enc.2.ff", "skip_dec.1.self", "skip_dec.2.cross", "skip_dec.2.ff")

    def __post_init__(self) -> None:
        if self.stack not in ("encoder", "decoder"):
            raise EditError(f"The stack is {self.stack!r}; expected 'encoder' or 'decoder'.")
        if self.sublayer not in _SUBLAYERS or (self.stack, self.sublayer) == ("encoder", "cross"):
            raise EditError(
                f"The {self.stack} has no sub-layer {self.sublayer!r}; expected self, ff, or cross in a decoder."
            )

    @classmethod
    def read(cls, match: re.Match[str]) -> Skip:
        return cls(KINDS_OF[match["stack"]], parse_number(match["layer"]), match["sublayer"])

    @property
    def code(self) -> str:
        return f"skip_{CODES[self.stack]}.{self.layer + 1}.{self.sublayer}"

    def text(self, labels: TokenLabels) -> str:
        return f"{self.stack}, layer {self.layer + 1}: {_SUBLAYERS[self.sublayer]} skipped"

    @classmethod
    def form(cls, has_means: bool) -> Form:
        stack = yield NameQuestion("stack", "Stack", {"encoder": "encoder", "decoder": "decoder"})
        layer = yield LayerQuestion("skipped", stack)
        parts = {name: text for name, text in _SUBLAYERS.items() if (stack, name) != ("encoder", "cross")}
        return cls(stack, layer, (yield NameQuestion("part", "Sub-layer", parts))).code

    def check(self, config: ModelConfig, source_length: int, has_means: bool, causal: bool) -> None:
        check_layer(self.subject, "cross" if self.sublayer == "cross" else self.stack, self.layer, config)

    def acts_at(self, *where: Any) -> bool:
        return where == (self.stack, self.layer, self.sublayer)

    def sublayer_factor(self) -> float:
        return 0.0


@register_kind
@dataclass(frozen=True)
class Positions(Edit):
    """Positions of the source or the target: none, shuffled by a seed (`amount`), or shifted by `amount`.

    The source is shuffled as one, the target in blocks of 16, so that a decision does not depend on later tokens.
    """

    side: Literal["source", "target"]
    how: Literal["off", "shuffled", "shifted"]
    amount: int = 0

    name = "positions"
    title = "Change positions"
    pattern = r"(?P<side>source|target)-positions_(?:(?P<off>off)|(?P<how>shuffled|shifted)-(?P<amount>\d{1,4}))"
    EXAMPLES = (
        *("source-positions_off", "source-positions_shuffled-2", "source-positions_shifted-4"),
        *("target-positions_off", "target-positions_shuffled-3", "target-positions_shifted-5"),
    )

    def __post_init__(self) -> None:
        if self.side not in ("source", "target") or self.how not in ("off", "shuffled", "shifted"):
            raise EditError(f"Positions cannot be {self.how!r} on {self.side!r}; expected off, shuffled or shifted.")
        limit = {"off": 0, "shuffled": MAX_POSITION_SEED, "shifted": MAX_SHIFT}[self.how]
        if not 0 <= self.amount <= limit:
            what = "seed" if self.how == "shuffled" else "shift"
            raise EditError(f"The {what} of the {self.side}'s positions is {self.amount}; expected 0 to {limit}.")

    @classmethod
    def read(cls, match: re.Match[str]) -> Positions:
        return cls(match["side"], match["off"] or match["how"], int(match["amount"] or 0))

    @property
    def code(self) -> str:
        return f"{self.side}-positions_{self.how}" + ("" if self.how == "off" else f"-{self.amount}")

    def text(self, labels: TokenLabels) -> str:
        how = {"off": "off", "shuffled": f"shuffled, seed {self.amount}", "shifted": f"shifted by {self.amount}"}[self.how]
        return f"{self.side}: positions {how}"

    @classmethod
    def form(cls, has_means: bool) -> Form:
        side = yield NameQuestion("side", "Side", {"source": "source", "target": "target"})
        how = yield NameQuestion("positions", "Positions are", {"off": "off", "shuffled": "shuffled", "shifted": "shifted"})
        if how == "off":
            return cls(side, how).code
        label, limit = ("Seed", MAX_POSITION_SEED) if how == "shuffled" else ("Shifted by", MAX_SHIFT)
        return cls(side, how, (yield NumberQuestion(how, label, 1, limit, 1))).code

    def contradicts(self, other: Edit) -> bool:
        return isinstance(other, Positions) and self.side == other.side and self != other

    def acts_at(self, *where: Any) -> bool:
        return where == (self.side,)

    def change_positions(self, positions: Tensor, present: Tensor, ids: Tensor, start: int) -> None:
        if self.how == "off":
            positions[:], present[:] = 0, 0.0
        elif self.how == "shifted":
            positions += self.amount
        elif self.side == "source":
            for row in range(len(ids)):
                length = int((ids[row] != PAD).sum())
                positions[row, :length] = positions.new_tensor(_shuffled(length, str(self.amount)))
        else:
            shuffled = shuffled_target(start + ids.size(1), self.amount)
            positions[:] = positions.new_tensor(shuffled[start:])


def _shuffled(count: int, seed: str) -> list[int]:
    return random.Random(seed).sample(range(count), count)


def shuffled_target(count: int, seed: int) -> list[int]:
    """Returns the first `count` target positions, shuffled in blocks of 16, independent of later positions."""
    blocks = range(0, count, SHUFFLED_BLOCK)
    return [first + offset for first in blocks for offset in _shuffled(SHUFFLED_BLOCK, f"{seed}/{first}")][:count]
