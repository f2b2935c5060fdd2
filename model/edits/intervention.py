"""Interventions: edits of the mechanism as frozen, hashable data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .kinds import Edit, EditError, TokenLabels, contradict, parse
from .switches import DONOR, SWITCHES, WINDOW, switch_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..config import ModelConfig


@dataclass(frozen=True)
class Intervention:
    """A set of edits. The default is empty: the model as trained.

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
                    both = f"{one.text(TokenLabels())}; {two.text(TokenLabels())}"
                    raise EditError(f"Two edits contradict each other ({both}): remove one of them.")

    def __bool__(self) -> bool:
        """Returns True where anything is edited; an unused donor sentence edits nothing."""
        return replace(self, donor="") != BASELINE

    @property
    def has_patches(self) -> bool:
        """Returns True where an edit takes from the other sentence."""
        return any(edit.donor_side for edit in self.edits)

    def codes_and_texts(self, labels: TokenLabels | None = None) -> tuple[tuple[str, str], ...]:
        """Returns code and text of every edit."""
        labels = labels or TokenLabels()
        switched = (switch.code_and_text(getattr(self, switch.field)) for switch in SWITCHES.values())
        return (*filter(None, switched), *((edit.code, edit.text(labels)) for edit in self.edits))

    def describe(self, labels: TokenLabels | None = None) -> str:
        """Returns the edits in words, "no edits" for none."""
        return "; ".join(text for _, text in self.codes_and_texts(labels)) or "no edits"

    def with_edit(self, code: str) -> Intervention:
        """Returns the intervention with one edit more; EditError for an invalid code or a contradiction."""
        if switch := switch_of(code):
            return replace(self, **{switch.field: switch.read(code)})
        return replace(self, edits=(*self.edits, parse(code)))

    def without_edit(self, code: str) -> Intervention:
        """Returns the intervention without the edit of a code."""
        if switch := switch_of(code):
            return replace(self, **{switch.field: switch.default})
        return replace(self, edits=tuple(edit for edit in self.edits if edit.code != code))

    def covering_text(self, code: str) -> str | None:
        """Returns the text of an edit that does what a code would do, and more, or None."""
        if switch_of(code):
            return None
        new = parse(code)
        return next((edit.text(TokenLabels()) for edit in self.edits if edit != new and edit.covers(new)), None)

    def possible_and_rejected(
        self, config: ModelConfig, source_length: int, has_means: bool, partners: Sequence[int | None] | None = None
    ) -> tuple[Intervention, tuple[tuple[str, str], ...]]:
        """Returns the edits that are possible here, and code and reason of each other one."""
        possible, rejected = replace(self, edits=()), []
        for edit in self.edits:
            try:
                replace(possible, edits=(edit,)).check(config, source_length, has_means, partners)
            except EditError as fault:
                rejected.append((edit.code, str(fault)))
            else:
                possible = replace(possible, edits=(*possible.edits, edit))
        return possible, tuple(rejected)

    def check(
        self, config: ModelConfig, source_length: int, has_means: bool, partners: Sequence[int | None] | None = None
    ) -> None:
        """Raises EditError for edits that a checkpoint or a sentence does not allow.

        These name a layer, a head or a source position that does not exist, need means that are not stored, or patch
        without another sentence. With `partners`, a source position without a partner is an error too.
        """
        for edit in self.edits:
            edit.check(config, source_length, has_means, self.causal_mask and config.causal)
            if edit.donor_side and not self.donor:
                raise EditError(
                    f"{edit.subject} needs another sentence to take from: name one under “Add edit”, or remove it."
                )
            if edit.donor_side and partners is not None:
                edit.check_partners(partners)

    def pending_edits(self, target_length: int) -> tuple[Edit, ...]:
        """Returns the edits of target positions that are not reached."""
        return tuple(edit for edit in self.edits if edit.is_pending(target_length))


BASELINE = Intervention()
