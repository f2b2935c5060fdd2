"""Interventions: edits of the mechanism as frozen, hashable data.

A switch is an edit without a place: masks and scaling that are off, the window, and the sentence that patches take from.
Each is a field of `Intervention`, and is declared once, here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from ..config import MAX_CHARACTERS, MAX_TOKENS
from ..io.files import brief_repr
from ..trace import AttentionKind, Site, Stack, SublayerKind
from .edit import Form, NameQuestion, NumberQuestion, TextQuestion
from .kinds import (
    Ablate,
    BlockCells,
    Edit,
    EditError,
    PatchRow,
    PatchStream,
    PatchZ,
    Place,
    ScaleScores,
    Skip,
    TokenLabels,
    contradict,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..config import ModelConfig


@dataclass(frozen=True)
class Switch:
    """A part of the mechanism that is on or off: True or False in its field."""

    field: str  # of Intervention
    code: str
    text: str
    title: str  # in the editor

    default: ClassVar[bool] = True

    def read(self, code: str) -> bool | None:
        """Returns the field's value for a code, or None for another's code."""
        return False if code == self.code else None

    def code_and_text(self, value: bool) -> tuple[str, str] | None:
        """Returns code and text, or None for a field at its default."""
        return None if value else (self.code, self.text)


@dataclass(frozen=True)
class WidthSwitch:
    """A number in its field, or None; {} is its placeholder in code and text."""

    field: str
    code: str
    text: str
    title: str

    default: ClassVar[None] = None

    def read(self, code: str) -> int | None:
        match = re.fullmatch(self.code.format(r"(\d{1,3})"), code)
        return int(match[1]) if match else None

    def code_and_text(self, value: int | None) -> tuple[str, str] | None:
        return None if value is None else (self.code.format(value), self.text.format(value))

    def check(self, value: int | None) -> None:
        if value is not None and not 1 <= value <= MAX_TOKENS:
            raise EditError(f"The window's width is {value}; expected 1 to {MAX_TOKENS}, for a token sees itself.")


@dataclass(frozen=True)
class SentenceSwitch:
    """A text in its field, or an empty one; {} is its placeholder in code and text. The code escapes % and ~."""

    field: str
    code: str
    text: str
    title: str

    default: ClassVar[str] = ""

    def read(self, code: str) -> str | None:
        match = re.fullmatch(self.code.format("(.+)"), code, re.DOTALL)
        return match[1].replace("%7E", "~").replace("%25", "%") if match else None

    def code_and_text(self, value: str) -> tuple[str, str] | None:
        escaped = value.replace("%", "%25").replace("~", "%7E")
        return (self.code.format(escaped), self.text.format(value)) if value else None

    def check(self, value: str) -> None:
        if value and not value.strip():
            raise EditError("The other sentence is empty: type one.")
        if len(value) > MAX_CHARACTERS:
            size = f"{len(value):,} characters; expected at most {MAX_CHARACTERS:,}"
            raise EditError(f"The other sentence has {size}. Shorten it.")
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise EditError("The other sentence has an invalid character; expected valid Unicode.")


WINDOW = WidthSwitch(
    "window",
    "window-{}",
    "self-attention sees only tokens less than {} away",
    "A token sees only those less than this far away",
)
DONOR = SentenceSwitch("donor", "donor_{}", "patches come from “{}”", "The other sentence")
AnySwitch = Switch | WidthSwitch | SentenceSwitch
SWITCHES: dict[str, AnySwitch] = {  # by code, in the order of the list
    each.code: each
    for each in (
        Switch("causal_mask", "causal-off", "causal mask off", "causal mask"),
        Switch("padding_mask", "padding-off", "padding mask off", "padding mask"),
        Switch("scaling", "scaling-off", "scaling by √d_k off", "scaling by √d_k"),
        WINDOW,
        DONOR,
    )
}


def switch_of(code: str) -> AnySwitch | None:
    """Returns the switch of a code, or None."""
    return next((each for each in SWITCHES.values() if each.read(code) is not None), None)


class WindowForm:
    """The question of the editor for the window."""

    name = "window"
    title = "Narrow the self-attention"

    @staticmethod
    def form(has_means: bool) -> Form:
        width = yield NumberQuestion("window", WINDOW.title, 1, MAX_TOKENS, 3)
        return WINDOW.code.format(width)


class SwitchForm:
    """The question of the editor for the part to switch off."""

    name = "switch"
    title = "Switch off a mask or the scaling"

    @staticmethod
    def form(has_means: bool) -> Form:
        code: str = yield NameQuestion(
            "switch", "Off", {s.code: s.title for s in SWITCHES.values() if isinstance(s, Switch)}
        )
        return code


class DonorForm:
    """The question of the editor for the sentence that patches take from."""

    name = "donor"
    title = "Name the other sentence, for patches"

    @staticmethod
    def form(has_means: bool) -> Form:
        sentence = yield TextQuestion("donor", DONOR.title, "The animal didn't cross the street because it was too wide.")
        DONOR.check(sentence or " ")
        code, _ = DONOR.code_and_text(sentence) or ("", "")
        return code


FORMS = (WindowForm, SwitchForm, DonorForm)
SEPARATOR = "~"  # between the codes of edits, in links and on the command line


@dataclass(frozen=True, repr=False)
class Intervention:
    """A set of edits. The default is empty: the model as trained.

    Raises EditError for a window below 1 and for edits that contradict one another.
    """

    causal_mask: bool = True  # False: a decoder position sees later ones
    padding_mask: bool = True  # False: `<pad>` in the source is attended to, by the encoder and by cross-attention
    scaling: bool = True  # False: scores are not divided by sqrt(d_k)
    window: int | None = None  # self-attention sees only positions less than this far away
    donor: str = ""  # the sentence that patches take from
    edits: tuple[Edit, ...] = field(default=())  # edits with a place, sorted by code

    __repr__ = brief_repr

    def __str__(self) -> str:
        """Returns the codes of all edits as in a link, or "no edits"."""
        return self.code or "no edits"

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
            return self._with_value(switch, switch.read(code))
        return self._with(parse(code))

    def off(self, site: Site | AttentionKind, head: int | None = None, *, mean: bool = False) -> Intervention:
        """Returns the intervention with heads switched off, or with `mean` replaced by their mean over dev sentences.

        Here and below: `site` is a `Site`, or a kind of attention for all its layers; `head` None means all heads. Layers,
        heads and tokens count from 0; `code` counts from 1, as pages and links do. Raises EditError for a contradiction.
        """
        return self._with(Ablate(Place.of(site, head), "mean" if mean else "zero"))

    def is_off(self, site: Site, head: int | None = None) -> bool:
        """Returns whether the output of a head is replaced by zeros.

        Args:
            site: the kind of attention and the layer, from 0.
            head: from 0; None for all heads of the site.
        """
        place = Place(site.kind, site.layer, head)
        return any(isinstance(edit, Ablate) and edit.how == "zero" and edit.place.contains(place) for edit in self.edits)

    def scale_scores(self, site: Site | AttentionKind, head: int | None, factor: float) -> Intervention:
        """Returns the intervention with the scores of heads multiplied by a factor from 0 to 100, before the softmax."""
        return self._with(ScaleScores(Place.of(site, head), float(factor)))

    def scores_of_head(self, site: Site, head: int) -> Intervention:
        """Returns the edits of the scores of one head alone, for tensors of this head: [B,1,T,S]."""
        place = Place(site.kind, site.layer, head)
        factors = [each.factor for each in self.edits if isinstance(each, ScaleScores) and each.place.contains(place)]
        edits = tuple(ScaleScores(Place(site.kind), factor) for factor in factors)
        return Intervention(scaling=self.scaling, edits=edits)

    def block(
        self, site: Site | AttentionKind, query: int | None = None, key: int | None = None, head: int | None = None
    ) -> Intervention:
        """Returns the intervention with a blocked cell; without a `key` a row, without a `query` a column."""
        return self._with(BlockCells(Place.of(site, head), query, key))

    def replace_row(
        self, site: Site | AttentionKind, query: int, key: int | None = None, head: int | None = None
    ) -> Intervention:
        """Returns the intervention with all weight of a row on one key, or without a `key` evenly on all visible ones."""
        return self._with(PatchRow(Place.of(site, head), query, key))

    def patch(self, site: Site | AttentionKind, position: int | None = None, head: int | None = None) -> Intervention:
        """Returns the intervention with the output of heads taken from the `donor` sentence, at one query or at all."""
        return self._with(PatchZ(Place.of(site, head), position))

    def patch_stream(self, stack: Stack, layers: int, position: int | None = None) -> Intervention:
        """Returns the intervention with the `donor`'s residual stream after `layers` layers, at one token or at all."""
        return self._with(PatchStream(stack, layers, position))

    def skip(self, stack: Stack, layer: int, sublayer: SublayerKind) -> Intervention:
        """Returns the intervention without what a sub-layer adds to the residual stream."""
        return self._with(Skip(stack, layer, sublayer))

    def _with_value(self, switch: AnySwitch, value: Any) -> Intervention:
        return replace(self, **{switch.field: value})

    def _with(self, edit: Edit) -> Intervention:
        return replace(self, edits=(*self.edits, edit))

    @property
    def code(self) -> str:
        """The codes of all edits as in the parameter `edits` of a link; empty without edits."""
        return SEPARATOR.join(code for code, _ in self.codes_and_texts())

    def without_edit(self, code: str) -> Intervention:
        """Returns the intervention without the edit of a code."""
        if switch := switch_of(code):
            return self._with_value(switch, switch.default)
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
