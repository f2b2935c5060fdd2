"""What is looked at <-> the session <-> the link. The only place that touches session state and the query string.

The view is kept as one frozen value, apart from the widgets: a widget that is not drawn in a run loses its value, the view
does not. A link is checked like any other outside input; each fault becomes one sentence, and the rest of the link holds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

from model.intervention import BASELINE, Intervention
from model.request import MAX_PAD, Request

FIRST_SENTENCE = "The animal didn't cross the street because it was too tired."
FORMAT = "format"
MAX_LINK_TEXT = 6000  # characters; longer text is never read from a link


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
    pad: int = 0
    device: str = "auto"

    def request(self) -> Request:
        """The request behind the view; RequestError where it cannot be answered."""
        edits = Intervention(causal_mask=self.causal_mask, padding_mask=self.padding_mask)
        return Request(
            source=self.source,
            checkpoint=self.checkpoint,
            target=self.target,
            pad=self.pad,
            mode=self.mode,  # type: ignore[arg-type]
            intervention=edits,
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
    "pad": ("pad", _number(0, MAX_PAD), str),
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
        except ValueError as expected:
            shown = text if len(text) <= 40 else text[:40] + "..."
            faults.append(f"The link's {name} is “{shown}”; expected {expected}. The default is shown.")
    return View(**values), tuple(faults)


def link(view: View) -> dict[str, str]:
    """The query parameters of a view; what is at its default is left out, and a text that is too long for a link."""
    default = View()
    written = {
        name: write(getattr(view, field))
        for name, (field, _, write) in _LINK.items()
        if getattr(view, field) != getattr(default, field)
    }
    return {name: text for name, text in written.items() if len(text) <= MAX_LINK_TEXT}


# -- the session ------------------------------------------------------------------------------------------------------


def open_view() -> tuple[View, tuple[str, ...]]:
    """The view of this run, and what was wrong with its link. Where the link differs from what was last written it wins,
    unless this run was started by a widget: then the browser had not yet heard of the last link."""
    session = st.session_state
    incoming = {name: st.query_params[name] for name in st.query_params}
    touched = session.pop("touched", False)
    if "view" not in session or (incoming != session["link"] and not touched):
        session["view"], session["faults"] = parse(incoming)
        session["link"] = incoming
    return session["view"], session["faults"]


def current() -> View:
    """The view as it is now, without reading the link."""
    return st.session_state.get("view", View())


def change(**fields: Any) -> None:
    """Replaces fields of the view; called from callbacks, before a run. A new sentence begins at its first step."""
    session = st.session_state
    old = current()
    if "source" in fields and fields["source"] != old.source:
        fields = {"step": 1, "target": None} | fields
    session["view"] = dataclasses.replace(old, **fields)
    session["faults"] = ()
    session["touched"] = True


def settle(view: View) -> None:
    """Keeps the view as it was fitted to the checkpoint, and writes the link where it has changed."""
    session = st.session_state
    session["view"] = view
    wanted = link(view)
    if wanted != {name: st.query_params[name] for name in st.query_params}:
        st.query_params.from_dict(wanted)
    session["link"] = wanted


def theme_mode() -> Literal["light", "dark"]:
    """Light or dark: what the browser has last told, at first what it said when it connected."""
    told = st.session_state.get("theme") or st.context.theme.type
    return "dark" if told == "dark" else "light"


def set_theme(mode: str) -> None:
    """Keeps the theme that the browser shows; called from a callback. The link has no part in it."""
    st.session_state["theme"] = mode
    st.session_state["touched"] = True


def picture_format() -> str:
    """What the camera of a picture saves: PNG or SVG. No part of the view."""
    return st.session_state.get(FORMAT) or "PNG"


def component_value(key: str, name: str) -> Any:
    """What a component has last reported under a name; None before it has."""
    return st.session_state[key].get(name)


def bind(key: str, field: str, value: Any, read: Callable[[Any], Any] = lambda v: v) -> dict[str, Any]:
    """Arguments that tie a widget to a field of the view: the widget shows `value`, a change of it changes the view."""
    if st.session_state.get(key) != value:  # setting it unchanged would take away what is being typed
        st.session_state[key] = value

    def store() -> None:
        change(**{field: read(st.session_state[key])})

    return {"key": key, "on_change": store}
