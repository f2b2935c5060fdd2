"""Edits as data: what is switched off in the mechanism, frozen and hashable."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Intervention:
    """A set of edits. The default is the empty one: the model as it was trained."""

    causal_mask: bool = True  # False: a decoder position sees later ones
    padding_mask: bool = True  # False: `<pad>` in the source is attended to, by the encoder and by cross-attention

    def __bool__(self) -> bool:
        """True where anything is edited."""
        return self != BASELINE

    def describe(self) -> str:
        """The edits in words, "no edits" where there are none."""
        edits = []
        if not self.causal_mask:
            edits.append("causal mask off")
        if not self.padding_mask:
            edits.append("source padding mask off")
        return ", ".join(edits) or "no edits"


BASELINE = Intervention()
