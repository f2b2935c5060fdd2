"""Edits as data: what is changed in the mechanism, frozen and hashable."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .kinds import Edit, EditError, Labels, contradict, parse
from .switches import DONOR, SWITCHES, WINDOW, switch_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..config import ModelConfig


@dataclass(frozen=True)
class Intervention:
    """A set of edits. The default is the empty one: the model as it was trained.

    Raises EditError for a window below 1 and for edits that contradict one another.
    """

    causal_mask: bool = True  # False: a decoder position sees later ones
    padding_mask: bool = True  # False: `<pad>` in the source is attended to, by the encoder and by cross-attention
    scaling: bool = True  # False: scores are not divided by sqrt(d_k)
    window: int | None = None  # self-attention sees only positions less than this far away
    donor: str = ""  # the sentence that patches take from
    edits: tuple[Edit, ...] = field(default=())

    def __post_init__(self) -> None:
        WINDOW.check(self.window)
        DONOR.check(self.donor)
        object.__setattr__(self, "edits", tuple(sorted(set(self.edits), key=lambda edit: edit.code)))
        for number, one in enumerate(self.edits):
            for two in self.edits[number + 1 :]:
                if contradict(one, two):
                    said = f"{one.text(Labels())}; {two.text(Labels())}"
                    raise EditError(f"Two edits contradict each other ({said}): remove one of them.")

    def __bool__(self) -> bool:
        """True where anything is edited; a sentence from which nothing is taken edits nothing."""
        return replace(self, donor="") != BASELINE

    @property
    def takes(self) -> bool:
        """True where anything is taken from the other sentence."""
        return any(edit.takes for edit in self.edits)

    def parts(self, labels: Labels | None = None) -> tuple[tuple[str, str], ...]:
        """Code and text of every edit."""
        labels = labels or Labels()
        switched = (switch.part(getattr(self, switch.field)) for switch in SWITCHES.values())
        return (*filter(None, switched), *((edit.code, edit.text(labels)) for edit in self.edits))

    def describe(self, labels: Labels | None = None) -> str:
        """The edits in words, "no edits" where there are none."""
        return "; ".join(text for _, text in self.parts(labels)) or "no edits"

    def with_edit(self, code: str) -> Intervention:
        """The same with the edit of a code; EditError where it is none, or contradicts another."""
        if switch := switch_of(code):
            return replace(self, **{switch.field: switch.read(code)})
        return replace(self, edits=(*self.edits, parse(code)))

    def without(self, code: str) -> Intervention:
        """The same without the edit of a code."""
        if switch := switch_of(code):
            return replace(self, **{switch.field: switch.default})
        return replace(self, edits=tuple(edit for edit in self.edits if edit.code != code))

    def covering(self, code: str) -> str | None:
        """The text of an edit that does what the one of a code would do, and more, or None."""
        if switch_of(code):
            return None
        new = parse(code)
        return next((edit.text(Labels()) for edit in self.edits if edit != new and edit.covers(new)), None)

    def fitted(
        self, config: ModelConfig, source_length: int, has_means: bool, partners: Sequence[int | None] | None = None
    ) -> tuple[Intervention, tuple[tuple[str, str], ...]]:
        """The edits that can be made here, and code and reason of each that cannot."""
        kept, aside = replace(self, edits=()), []
        for edit in self.edits:
            try:
                replace(kept, edits=(edit,)).check(config, source_length, has_means, partners)
            except EditError as fault:
                aside.append((edit.code, str(fault)))
            else:
                kept = replace(kept, edits=(*kept.edits, edit))
        return kept, tuple(aside)

    def check(
        self, config: ModelConfig, source_length: int, has_means: bool, partners: Sequence[int | None] | None = None
    ) -> None:
        """EditError for a layer, a head or a source position that does not exist, for means that are not stored, and for a
        patch without another sentence; where the `partners` are known, for a source position that has none there."""
        for edit in self.edits:
            edit.check(config, source_length, has_means, self.causal_mask and config.causal)
            if edit.takes and not self.donor:
                raise EditError(f"{edit.said} needs another sentence to take from: name one under “Add edit”, or remove it.")
            if edit.takes and partners is not None:
                edit.check_partners(partners)

    def waiting(self, target_length: int) -> tuple[Edit, ...]:
        """Edits of target positions that are not reached."""
        return tuple(edit for edit in self.edits if edit.waits_for(target_length))


BASELINE = Intervention()
