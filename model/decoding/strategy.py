"""The decoding strategies, each declared once, and the settings of a request. Imports no torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..config import MAX_GIVEN_TOKENS, MAX_TOKENS
from ..edits.intervention import BASELINE, Intervention
from ..io.files import brief_repr, short_repr
from . import sampling
from .hypotheses import Tree

if TYPE_CHECKING:
    from torch import Tensor

    from ..edits.apply import BatchEdits
    from ..network.transformer import Transformer
    from .uncached import Recorder

LENGTH_PENALTY = 1.0  # alpha; chosen on the shipped checkpoint's dev sentences
MAX_WIDTH = 64  # of a beam: memory and time grow with it
MAX_ALPHA = 5
MAX_SEED = 999_999
Trees = list[Tree]


@dataclass(frozen=True)
class Strategy:
    """A decoding strategy, with its texts and controls.

    `search(model, source, decoding, edits, prefix, recorder)` returns a tree for each row of source ids; see
    `model.decoding.search`.
    """

    name: str
    title: str
    sentence: str  # its description
    controls: tuple[str, ...]  # the fields of `Decoding` that it reads, except the limit
    search: Callable[
        [Transformer, Tensor | None, Decoding, Sequence[Intervention] | BatchEdits, Sequence[int], Recorder | None], Trees
    ]
    describe: Callable[[Decoding], str]  # in a few words, with its numbers
    is_beam: bool = False  # scores are recorded by beam width; greedy has width 1

    @property
    def is_random(self) -> bool:
        """True if the strategy samples tokens, with a seed."""
        return "seed" in self.controls

    @property
    def has_width(self) -> bool:
        """True if the strategy follows `width` paths in parallel."""
        return "width" in self.controls

    @property
    def has_length_penalty(self) -> bool:
        """True if a length penalty ranks the finished paths."""
        return "alpha" in self.controls


class RequestError(ValueError):
    """An invalid request; the message is one sentence for the visitor."""


@dataclass(frozen=True, repr=False)
class Decoding:
    """The decoding settings of a request.

    `max_total_tokens` limits the target, `</s>` included. `max_new_tokens` limits the tokens after the text that a
    decoder-only model continues, or after a branch. `greedy` takes the most probable token at each step. `beam` follows
    `width` paths and ranks finished ones by score over the length penalty ((5 + length) / 6)^alpha of Wu et al. 2016.
    `sample` draws by temperature, top-k and top-p (see `model.decoding.sampling`) with a seed.

    Raises RequestError for an unknown strategy and for values out of range.
    """

    strategy: str = "greedy"  # `greedy`, `beam` or `sample`
    max_total_tokens: int = MAX_TOKENS  # tokens of the target, `</s>` included
    width: int = 4  # of the beam
    alpha: float = LENGTH_PENALTY  # exponent of the length penalty of the beam; 0: none
    temperature: float = 1.0  # of sampling; logits are divided by it
    top_k: int = 0  # sampling draws from this many top tokens; 0: all
    top_p: float = 1.0  # sampling draws from the top tokens with this probability in total; 1: all
    seed: int = 1  # of sampling
    max_new_tokens: int = 0  # new tokens after the text that is continued, or after a branch; 0: up to the total limit

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        strategy(self.strategy)
        try:
            sampling.check_settings(self.temperature, self.top_k, self.top_p)
        except ValueError as fault:
            raise RequestError(str(fault)) from None
        if not 0 <= self.seed <= MAX_SEED:
            raise RequestError(f"The seed is {short_repr(self.seed)}; expected a whole number from 0 to {MAX_SEED}.")
        if not 1 <= self.max_total_tokens <= MAX_GIVEN_TOKENS:
            raise RequestError(
                f"The limit is {short_repr(self.max_total_tokens)} target tokens; expected 1 to {MAX_GIVEN_TOKENS}."
            )
        if not 0 <= self.max_new_tokens <= MAX_GIVEN_TOKENS:
            raise RequestError(
                f"There are {short_repr(self.max_new_tokens)} new tokens asked for; expected 1 to {MAX_GIVEN_TOKENS}, or 0."
            )
        if not 1 <= self.width <= MAX_WIDTH:
            raise RequestError(f"The beam's width is {short_repr(self.width)}; expected 1 to {MAX_WIDTH}.")
        if not 0 <= self.alpha <= MAX_ALPHA:
            raise RequestError(f"The length penalty's alpha is {self.alpha}; expected 0 to {MAX_ALPHA}.")

    def with_total_limit(self, prefix_length: int) -> Decoding:
        """Returns these settings with `max_new_tokens` turned into a total limit after `prefix_length` tokens."""
        if not self.max_new_tokens:
            return self
        total = min(self.max_total_tokens, prefix_length + self.max_new_tokens)
        return dataclasses.replace(self, max_total_tokens=total, max_new_tokens=0)

    @property
    def is_random(self) -> bool:
        """True if tokens are sampled."""
        return strategy(self.strategy).is_random

    @property
    def has_width(self) -> bool:
        """True if several paths are followed in parallel."""
        return strategy(self.strategy).has_width

    @property
    def paths(self) -> int:
        """The number of paths followed in parallel."""
        return self.width if self.has_width else 1

    @property
    def settings(self) -> dict[str, float]:
        """The values of the controls that the strategy reads."""
        return {name: getattr(self, name) for name in strategy(self.strategy).controls}

    @property
    def description(self) -> str:
        """The strategy in a few words, with its numbers."""
        return strategy(self.strategy).describe(self)

    def search(
        self,
        model: Transformer,
        source: Tensor | None,
        edits: Sequence[Intervention] | BatchEdits = (BASELINE,),
        prefix: Sequence[int] = (),
        recorder: Recorder | None = None,
    ) -> Trees:
        """Returns a tree, best path first, for each row of source ids [B,S]; None is one row of a decoder-only model.

        Raises ValueError if the prefix fills the limit.
        """
        return strategy(self.strategy).search(model, source, self, edits, prefix, recorder)


def _greedy(
    model: Transformer,
    source: Tensor | None,
    decoding: Decoding,
    edits: Sequence[Intervention] | BatchEdits,
    prefix: Sequence[int],
    recorder: Recorder | None,
) -> Trees:
    from . import search

    return [
        Tree((path,)) for path in search.greedy(model, source, edits, prefix, decoding.max_total_tokens, recorder=recorder)
    ]


def _beam(
    model: Transformer,
    source: Tensor | None,
    decoding: Decoding,
    edits: Sequence[Intervention] | BatchEdits,
    prefix: Sequence[int],
    recorder: Recorder | None,
) -> Trees:
    from . import search

    return search.beam(
        model, source, decoding.width, decoding.alpha, edits, prefix, decoding.max_total_tokens, recorder=recorder
    )


def _sample(
    model: Transformer,
    source: Tensor | None,
    decoding: Decoding,
    edits: Sequence[Intervention] | BatchEdits,
    prefix: Sequence[int],
    recorder: Recorder | None,
) -> Trees:
    from . import search

    controls = (decoding.seed, decoding.temperature, decoding.top_k, decoding.top_p)
    paths = search.sample(model, source, *controls, edits, prefix, decoding.max_total_tokens, recorder=recorder)
    return [Tree((path,)) for path in paths]


STRATEGIES: dict[str, Strategy] = {
    each.name: each
    for each in (
        Strategy(
            "greedy",
            "Greedy",
            "Greedy: takes the top token at every step and never goes back.",
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
    """Returns the strategy of a name. Raises RequestError for an unknown name."""
    if name not in STRATEGIES:
        *names, last = (repr(known) for known in STRATEGIES)
        raise RequestError(f"The decoding strategy is {name!r}; expected {', '.join(names)} or {last}.")
    return STRATEGIES[name]


def strategy_with_control(control: str) -> str:
    """Returns the name of the first strategy that reads a control. Raises LookupError if none does."""
    for known in STRATEGIES.values():
        if control in known.controls:
            return known.name
    raise LookupError(f"No decoding strategy reads {control!r}.")
