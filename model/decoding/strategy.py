"""How tokens are chosen: the strategies, each declared once, and what a visitor asks of one. No torch is imported here."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..config import MAX_TOKENS
from ..edits.intervention import BASELINE
from ..io.files import shown
from . import sampling
from .hypotheses import Tree

if TYPE_CHECKING:
    from torch import Tensor

    from ..edits.apply import Edits
    from ..edits.intervention import Intervention
    from ..network.transformer import Transformer
    from .uncached import Recorder

LENGTH_PENALTY = 1.0  # alpha; chosen on the shipped checkpoint's dev sentences
MAX_WIDTH = 64  # of a beam: memory and time grow with it
MAX_ALPHA = 5
MAX_SEED = 999_999
Found = list[Tree]


@dataclass(frozen=True)
class Strategy:
    """A way of choosing tokens: everything that is said of it anywhere.

    `search(model, source, decoding, edits, prefix, recorder)` grows a tree for each row of source ids; see
    `model.decoding.search`.
    """

    name: str
    title: str
    sentence: str  # how it chooses
    controls: tuple[str, ...]  # the fields of `Decoding` that it reads, beside the limit
    search: Callable[
        [Transformer, Tensor | None, Decoding, Sequence[Intervention] | Edits, Sequence[int], Recorder | None], Found
    ]
    told: Callable[[Decoding], str]  # in a few words, with its numbers
    is_beam: bool = False  # follows the likeliest paths: scores are recorded under the width of the beam, greedy's is 1

    @property
    def is_random(self) -> bool:
        """True where tokens are drawn by chance, from the seed."""
        return "seed" in self.controls

    @property
    def has_width(self) -> bool:
        """True where several paths are followed at the same time, as many as the width."""
        return "width" in self.controls

    @property
    def has_length_penalty(self) -> bool:
        """True where finished paths are ranked with a length penalty."""
        return "alpha" in self.controls


class RequestError(ValueError):
    """A request that cannot be answered; the text is one sentence for the visitor."""


@dataclass(frozen=True)
class Decoding:
    """How tokens are chosen, up to a number of target tokens, `</s>` included; of these up to `more` after the text that a
    model without an encoder goes on with, or after a branch.

    `greedy` takes the likeliest at each step; `beam` keeps `width` paths alive and ranks the finished ones by their score
    over the length penalty ((5 + length) / 6)^alpha of Wu et al. 2016; `sample` draws, by temperature, top-k and top-p (see
    `model.decoding.sampling`) from a seed. Raises RequestError for an unknown strategy and for values out of range.
    """

    strategy: str = "greedy"
    limit: int = MAX_TOKENS
    width: int = 4  # of the beam
    alpha: float = LENGTH_PENALTY
    temperature: float = 1.0
    top_k: int = 0  # 0: all
    top_p: float = 1.0
    seed: int = 1
    more: int = 0  # 0: as many as the limit leaves

    def __post_init__(self) -> None:
        strategy(self.strategy)
        try:
            sampling.check(self.temperature, self.top_k, self.top_p)
        except ValueError as fault:
            raise RequestError(str(fault)) from None
        if not 0 <= self.seed <= MAX_SEED:
            raise RequestError(f"The seed is {shown(self.seed)}; expected a whole number from 0 to {MAX_SEED}.")
        if not 1 <= self.limit <= MAX_TOKENS:
            raise RequestError(f"The limit is {shown(self.limit)} target tokens; expected 1 to {MAX_TOKENS}.")
        if not 0 <= self.more <= MAX_TOKENS:
            raise RequestError(
                f"There are {shown(self.more)} new tokens asked for; expected 1 to {MAX_TOKENS}, or 0: to the limit."
            )
        if not 1 <= self.width <= MAX_WIDTH:
            raise RequestError(f"The beam's width is {shown(self.width)}; expected 1 to {MAX_WIDTH}.")
        if not 0 <= self.alpha <= MAX_ALPHA:
            raise RequestError(f"The length penalty's alpha is {self.alpha}; expected 0 to {MAX_ALPHA}.")

    def after(self, begun: int) -> Decoding:
        """The same with a limit alone, where so many tokens are there to begin with."""
        return dataclasses.replace(self, limit=min(self.limit, begun + self.more), more=0) if self.more else self

    @property
    def is_random(self) -> bool:
        """True where tokens are drawn by chance."""
        return strategy(self.strategy).is_random

    @property
    def has_width(self) -> bool:
        """True where several paths are followed at the same time."""
        return strategy(self.strategy).has_width

    @property
    def paths(self) -> int:
        """The number of paths that are followed at the same time."""
        return self.width if self.has_width else 1

    @property
    def settings(self) -> dict[str, float]:
        """The controls that the strategy reads, with their values."""
        return {name: getattr(self, name) for name in strategy(self.strategy).controls}

    @property
    def told(self) -> str:
        """The strategy in a few words, with its numbers."""
        return strategy(self.strategy).told(self)

    def search(
        self,
        model: Transformer,
        source: Tensor | None,
        edits: Sequence[Intervention] | Edits = (BASELINE,),
        prefix: Sequence[int] = (),
        recorder: Recorder | None = None,
    ) -> Found:
        """A tree for each row of source ids [B,S] (None: one row, of a model without an encoder), the best path first.

        Raises ValueError where the prefix fills the limit.
        """
        return strategy(self.strategy).search(model, source, self, edits, prefix, recorder)


def _greedy(model, source, decoding, edits, prefix, recorder) -> Found:
    from . import search

    return [Tree((path,)) for path in search.greedy(model, source, edits, prefix, decoding.limit, recorder=recorder)]


def _beam(model, source, decoding, edits, prefix, recorder) -> Found:
    from . import search

    return search.beam(model, source, decoding.width, decoding.alpha, edits, prefix, decoding.limit, recorder=recorder)


def _sample(model, source, decoding, edits, prefix, recorder) -> Found:
    from . import search

    controls = (decoding.seed, decoding.temperature, decoding.top_k, decoding.top_p)
    found = search.sample(model, source, *controls, edits, prefix, decoding.limit, recorder=recorder)
    return [Tree((path,)) for path in found]


STRATEGIES: dict[str, Strategy] = {
    made.name: made
    for made in (
        Strategy(
            "greedy",
            "Greedy",
            "Greedy: takes the likeliest token at every step, and never goes back.",
            (),
            _greedy,
            lambda decoding: "greedy",
            is_beam=True,
        ),
        Strategy(
            "beam",
            "Beam",
            "Beam: follows the best few paths side by side, ranked by log-probability ÷ ((5 + length) / 6)^α.",
            ("width", "alpha"),
            _beam,
            lambda decoding: f"beam of {decoding.width}",
            is_beam=True,
        ),
        Strategy(
            "sample",
            "Sample",
            "Sample: a token is drawn at every step. The table above shows what may be drawn.",
            ("temperature", "top_k", "top_p", "seed"),
            _sample,
            lambda decoding: f"sampled, seed {decoding.seed}",
        ),
    )
}


def strategy(name: str) -> Strategy:
    """The strategy of a name; RequestError for one that does not exist."""
    if name not in STRATEGIES:
        *most, last = (repr(known) for known in STRATEGIES)
        raise RequestError(f"The decoding strategy is {name!r}; expected {', '.join(most)} or {last}.")
    return STRATEGIES[name]


def strategy_with(control: str) -> str:
    """Returns the name of the first strategy that reads a control; LookupError where none does."""
    for known in STRATEGIES.values():
        if control in known.controls:
            return known.name
    raise LookupError(f"No decoding strategy reads {control!r}.")
