"""Edits as data: what is changed in the mechanism, frozen and hashable."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from model.config import MAX_TOKENS
from model.edits.kinds import Ablate, Block, Edit, EditError, Labels, PatchRow, Skip, contradict, parse

if TYPE_CHECKING:
    from model.config import ModelConfig

SWITCHES = {"causal-off": "causal_mask", "padding-off": "padding_mask", "scaling-off": "scaling"}
_SWITCH_TEXTS = {
    "causal-off": "causal mask off",
    "padding-off": "source padding mask off",
    "scaling-off": "scaling by √d_k off",
}


@dataclass(frozen=True)
class Intervention:
    """A set of edits. The default is the empty one: the model as it was trained.

    Raises EditError for a window below 1 and for edits that contradict one another.
    """

    causal_mask: bool = True  # False: a decoder position sees later ones
    padding_mask: bool = True  # False: `<pad>` in the source is attended to, by the encoder and by cross-attention
    scaling: bool = True  # False: scores are not divided by sqrt(d_k)
    window: int | None = None  # self-attention sees only positions less than this far away
    edits: tuple[Edit, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.window is not None and not 1 <= self.window <= MAX_TOKENS:
            raise EditError(f"The window's width is {self.window}; expected 1 to {MAX_TOKENS}, for a token sees itself.")
        object.__setattr__(self, "edits", tuple(sorted(set(self.edits), key=lambda edit: edit.code)))
        for number, one in enumerate(self.edits):
            for two in self.edits[number + 1 :]:
                if contradict(one, two):
                    said = f"{one.text(Labels())}; {two.text(Labels())}"
                    raise EditError(f"Two edits contradict each other ({said}): remove one of them.")

    def __bool__(self) -> bool:
        """True where anything is edited."""
        return self != BASELINE

    def parts(self, labels: Labels | None = None) -> tuple[tuple[str, str], ...]:
        """Code and text of every edit."""
        labels = labels or Labels()
        switches = [(code, _SWITCH_TEXTS[code]) for code, name in SWITCHES.items() if not getattr(self, name)]
        window = [(f"window-{self.window}", f"self-attention sees less than {self.window} away")] if self.window else []
        return (*switches, *window, *((edit.code, edit.text(labels)) for edit in self.edits))

    def describe(self, labels: Labels | None = None) -> str:
        """The edits in words, "no edits" where there are none."""
        return "; ".join(text for _, text in self.parts(labels)) or "no edits"

    def with_edit(self, code: str) -> Intervention:
        """The same with the edit of a code; EditError where it is none, or contradicts another."""
        if code in SWITCHES:
            return replace(self, **{SWITCHES[code]: False})
        if window := re.fullmatch(r"window-(\d{1,3})", code):
            return replace(self, window=int(window[1]))
        return replace(self, edits=(*self.edits, parse(code)))

    def without(self, code: str) -> Intervention:
        """The same without the edit of a code."""
        if code in SWITCHES:
            return replace(self, **{SWITCHES[code]: True})
        if code.startswith("window-"):
            return replace(self, window=None)
        return replace(self, edits=tuple(edit for edit in self.edits if edit.code != code))

    def covering(self, code: str) -> str | None:
        """The text of an edit that does what the one of a code would do, and more; None where there is none."""
        if code in SWITCHES or code.startswith("window-"):
            return None
        new = parse(code)
        for edit in self.edits:
            if type(edit) is type(new) and isinstance(new, Ablate | Block) and edit.place.contains(new.place):
                if isinstance(new, Ablate) and edit.how != new.how:
                    continue  # these contradict each other, and that is told instead
                rows = isinstance(new, Ablate) or (edit.query in (None, new.query) and edit.key in (None, new.key))
                if rows and edit != new:
                    return edit.text(Labels())
        return None

    def fitted(
        self, config: ModelConfig, source_length: int, has_means: bool
    ) -> tuple[Intervention, tuple[tuple[str, str], ...]]:
        """The edits that can be made here, and code and reason of each that cannot."""
        kept, aside = replace(self, edits=()), []
        for edit in self.edits:
            try:
                replace(kept, edits=(edit,)).check(config, source_length, has_means)
            except EditError as fault:
                aside.append((edit.code, str(fault)))
            else:
                kept = replace(kept, edits=(*kept.edits, edit))
        return kept, tuple(aside)

    def check(self, config: ModelConfig, source_length: int, has_means: bool) -> None:
        """EditError for a layer, a head or a source position that does not exist, and for means that are not stored."""
        layers = config.layers
        for edit in self.edits:
            kind = edit.stack if isinstance(edit, Skip) else getattr(getattr(edit, "place", None), "kind", None)
            layer = edit.layer if isinstance(edit, Skip) else getattr(getattr(edit, "place", None), "layer", None)
            head = getattr(getattr(edit, "place", None), "head", None)
            said = f"The edit “{edit.text(Labels())}”"
            if layer is not None and layer >= layers[kind]:
                raise EditError(f"{said} names layer {layer + 1}; this checkpoint has {layers[kind]} there. Remove it.")
            if head is not None and head >= config.heads:
                raise EditError(f"{said} names head {head + 1}; this checkpoint has {config.heads}. Remove it.")
            if isinstance(edit, Ablate) and edit.how == "mean" and not has_means:
                raise EditError(f"{said} needs the heads' means, which this checkpoint does not have. Switch the head off.")
            if isinstance(edit, Block | PatchRow):
                query, key = edit.query, edit.key
                ahead = kind == "decoder" and isinstance(edit, PatchRow) and key is not None and key > query
                if ahead and self.causal_mask and config.causal:
                    raise EditError(f"{said} looks ahead, which the causal mask forbids: choose an earlier token.")
                for position, limit, what in (
                    (query, source_length if kind == "encoder" else MAX_TOKENS, "row"),
                    (key, MAX_TOKENS if kind == "decoder" else source_length, "column"),
                ):
                    if position is not None and position >= limit:
                        raise EditError(f"{said} names {what} {position + 1}; there are {limit}. Remove it.")

    def waiting(self, target_length: int) -> tuple[Edit, ...]:
        """Edits of target positions that are not reached."""
        found = []
        for edit in self.edits:
            if isinstance(edit, Block | PatchRow):
                query = edit.query if edit.place.kind != "encoder" else None
                key = edit.key if edit.place.kind == "decoder" else None
                if max(-1 if query is None else query, -1 if key is None else key) >= target_length:
                    found.append(edit)
        return tuple(found)


BASELINE = Intervention()
