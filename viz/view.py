"""What is looked at, as one frozen value, and the link that carries it.

A link is checked like any other outside input; each fault becomes one sentence, and the rest of the link holds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from model.edit_kinds import EditError, Place
from model.intervention import BASELINE, Intervention
from model.request import MAX_PAD, Request

FIRST_SENTENCE = "The animal didn't cross the street because it was too tired."
MAX_LINK_TEXT = 6000  # characters; longer text is never read from a link
SEPARATOR = "~"  # between the edits of a link
MAX_EDITS = 200


@dataclass(frozen=True)
class View:
    """Everything that changes the picture. Layers, heads and steps count from 1, as on the screen."""

    checkpoint: str = "en-fr"
    source: str = FIRST_SENTENCE
    target: str | None = None
    step: int = 1
    layer: int = 3
    head: int | None = 2  # None: the mean over heads
    show: str = "attention"  # or "mask"
    mode: str = "given"  # or "again"
    causal_mask: bool = True
    padding_mask: bool = True
    edits: Intervention = BASELINE  # all edits but the two masks
    pad: int = 0
    kind: str = "encoder"  # whose mask matrix is shown: encoder, decoder or cross
    scope: str = "all"  # what a click on it edits: all layers, the layer, or the head
    experiment: str | None = None
    device: str = "auto"

    @property
    def intervention(self) -> Intervention:
        """All edits together."""
        return dataclasses.replace(self.edits, causal_mask=self.causal_mask, padding_mask=self.padding_mask)

    @property
    def place(self) -> Place:
        """What a click on the mask matrix edits."""
        layer = None if self.scope == "all" else self.layer - 1
        head = None if self.scope != "head" or self.head is None else self.head - 1
        return Place(self.kind, layer, head)  # type: ignore[arg-type]

    def request(self) -> Request:
        """The request behind the view; RequestError where it cannot be answered."""
        return Request(
            source=self.source,
            checkpoint=self.checkpoint,
            target=self.target,
            pad=self.pad,
            mode=self.mode,  # type: ignore[arg-type]
            intervention=self.intervention,
        )

    def fit(self, layers: int, heads: int) -> tuple[View, tuple[str, ...]]:
        """The view with a layer and a head that the checkpoint has, and a sentence for each that it has not."""
        view, faults = self, []
        if self.layer > layers:
            if self.layer != View.layer:  # the default is nobody's mistake
                faults.append(f"The link asks for layer {self.layer}; this checkpoint has layers 1 to {layers}.")
            view = dataclasses.replace(view, layer=layers)
        if self.head is not None and self.head > heads:
            if self.head != View.head:
                faults.append(f"The link asks for head {self.head}; this checkpoint has heads 1 to {heads}.")
            view = dataclasses.replace(view, head=None)
        return view, tuple(faults)

    def within(self, steps: int) -> View:
        """The view at its step, or at the last of `steps` where there are fewer."""
        return self if self.step <= steps else dataclasses.replace(self, step=steps)


def with_intervention(intervention: Intervention) -> dict[str, Any]:
    """The fields of a view that hold an intervention."""
    masks = {"causal_mask": intervention.causal_mask, "padding_mask": intervention.padding_mask}
    return masks | {"edits": dataclasses.replace(intervention, causal_mask=True, padding_mask=True)}


def unedited(request: Request) -> Request:
    """The same request without its edits: the key of what does not depend on them."""
    return dataclasses.replace(request, intervention=BASELINE, mode="given")


def _number(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 6 and low <= int(text) <= high):
            raise ValueError(f"a whole number from {low} to {high}")
        return int(text)

    return parse


def _choice(**choices: Any) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        if text not in choices:
            raise ValueError(" or ".join(choices))
        return choices[text]

    return parse


def _text(text: str) -> str:
    if len(text) > MAX_LINK_TEXT:
        raise ValueError(f"at most {MAX_LINK_TEXT} characters")
    return text


def _head(text: str) -> int | None:
    try:
        return None if text == "mean" else _number(1, 999)(text)
    except ValueError as expected:
        raise ValueError(f"mean or {expected}") from None


def _name(text: str) -> str:
    if not text.replace("-", "").replace("_", "").replace(".", "").isalnum() or text.startswith("."):
        raise ValueError("the name of a checkpoint")
    return text


def _edits(text: str) -> Intervention:
    """The edits of a link; _SomeEdits names those that cannot be made, and keeps the others."""
    made, faults = BASELINE, []
    for code in text.split(SEPARATOR)[:MAX_EDITS]:
        try:
            if code.startswith("window-") and made.window is not None and code != f"window-{made.window}":
                raise EditError(f"“{code[:40]}” is a second window; expected one.")
            made = made.with_edit(code)
        except EditError as wrong:
            faults.append(f"{wrong} The link's “{code[:40]}” is left out.")
    if text.count(SEPARATOR) >= MAX_EDITS:
        faults.append(f"A link carries at most {MAX_EDITS} edits; the rest is left out.")
    if faults:
        raise _SomeEdits(made, faults)
    return made


class _SomeEdits(ValueError):
    """Some of a link's edits hold, others do not."""

    def __init__(self, made: Intervention, faults: list[str]) -> None:
        super().__init__(*faults)
        self.made, self.faults = made, faults


_ON_OFF = _choice(on=True, off=False)
# parameter of the link: field of the view, how its text is read, how its value is written
_LINK: dict[str, tuple[str, Callable[[str], Any], Callable[[Any], str]]] = {
    "text": ("source", _text, str),
    "target": ("target", _text, str),
    "step": ("step", _number(1, 999), str),
    "layer": ("layer", _number(1, 999), str),
    "head": ("head", _head, lambda head: "mean" if head is None else str(head)),
    "show": ("show", _choice(attention="attention", mask="mask"), str),
    "mode": ("mode", _choice(given="given", again="again"), str),
    "causal": ("causal_mask", _ON_OFF, lambda on: "on" if on else "off"),
    "padmask": ("padding_mask", _ON_OFF, lambda on: "on" if on else "off"),
    "edits": ("edits", _edits, lambda edits: SEPARATOR.join(code for code, _ in edits.parts())),
    "pad": ("pad", _number(0, MAX_PAD), str),
    "kind": ("kind", _choice(encoder="encoder", decoder="decoder", cross="cross"), str),
    "scope": ("scope", _choice(all="all", layer="layer", head="head"), str),
    "try": ("experiment", _name, str),
    "checkpoint": ("checkpoint", _name, str),
    "device": ("device", _choice(auto="auto", cpu="cpu", cuda="cuda", mps="mps"), str),
}


def parse(params: Mapping[str, str]) -> tuple[View, tuple[str, ...]]:
    """The view that a link describes, and one sentence for each parameter that could not be used."""
    values, faults = {}, []
    for name, text in params.items():
        if name not in _LINK:
            continue  # other software adds parameters of its own
        field, read, _ = _LINK[name]
        try:
            values[field] = read(text)
        except _SomeEdits as some:
            values[field] = some.made
            faults += some.faults
        except ValueError as expected:
            shown = text if len(text) <= 40 else text[:40] + "..."
            faults.append(f"The link's {name} is “{shown}”; expected {expected}. The default is shown.")
    view = View(**values)  # where an edit's code switches a mask off, its switch says so
    masks = {name: getattr(view, name) and getattr(view.edits, name) for name in ("causal_mask", "padding_mask")}
    return dataclasses.replace(view, **with_intervention(dataclasses.replace(view.edits, **masks))), tuple(faults)


def link(view: View) -> dict[str, str]:
    """The query parameters of a view; what is at its default is left out, and a text that is too long for a link."""
    default = View()
    written = {
        name: write(getattr(view, field))
        for name, (field, _, write) in _LINK.items()
        if getattr(view, field) != getattr(default, field)
    }
    return {name: text for name, text in written.items() if len(text) <= MAX_LINK_TEXT}
