"""Helpers for tests of pages and figures: the app without a browser, and figures as the browser reads them."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.proto.BidiComponent_pb2 import BidiComponent
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from viz import pages
from viz.kit.lazy import inside
from viz.save.save import PANEL
from viz.state.session_data import SessionData
from viz.state.view import View

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 180  # s: a run takes a tenth of a second, unless something else has the machine
TRANSLATE, HEADS, INSIDE, POSITIONS, WHAT_IF, WHY, COMPARE, LESSONS, TRAINING, VARIANTS = (
    pages.find(name).file
    for name in ["translate", "heads", "inside", "positions", "what-if", "why", "compare", "lessons", "training", "variants"]
)
st.set_option("client.showErrorDetails", "full")  # a fault that nobody foresaw ends the run with its message
manifest_scanner.scan_component_manifests = lambda: []  # none is installed; to look costs each visitor 0.2 s
_PLOTLY_ENTITIES = {"mu": "μ", "amp": "&", "lt": "<", "gt": ">", "nbsp": "\xa0", "times": "×", "plusmn": "±", "deg": "°"}
_DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def _data(name: str) -> property:
    """Returns a property of `Lab`: the data of a component, or None."""
    return property(lambda lab: lab._mounted(name))


class Lab:
    """One visitor who opens a link, types, clicks and reads the page. An exception in a run fails the test."""

    def __init__(self, page: str | None = None, **link: str) -> None:
        self._parts: dict[str, str] = {}
        self.app_test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT)
        for name, value in link.items():
            self.app_test.query_params[name] = value
        if page:  # its address is all that the first run is told of it, as in the browser
            names = {each.file: each.name for each in pages.PAGES[1:]}
            self.app_test._page_hash = calc_hash(names.get(page, ""))
        self.run()

    def run(self) -> Lab:
        self.app_test.run()
        return self._checked()

    def go(self, page: str) -> Lab:
        """To another page, as the browser does it: the address stays, and what stood on the old page is not sent along."""
        self.app_test.switch_page(page)
        self.app_test._run()  # without the widgets that `run` would send
        return self._checked()

    def _checked(self) -> Lab:
        assert not self.app_test.exception, [e.message for e in self.app_test.exception]
        for element in self.app_test.get("bidi_component"):
            if element.proto.component_name.endswith(".stored_part"):
                lines = element.proto.bytes.decode().split("\n")
                self._parts.update(zip(lines[1::3], lines[2::3], strict=True))
        assert not any("Traceback" in text for text in self.html)
        return self

    def type(self, text: str) -> Lab:
        self.app_test.text_input(key="source").set_value(text)
        return self.run()

    def switch(self, key: str, on: bool) -> Lab:
        self.app_test.toggle(key=key).set_value(on)
        return self.run()

    def pick(self, key: str, value: Any) -> Lab:
        """Chooses an option, of Streamlit's buttons or of a group of buttons."""
        if f"{key} {value}" in self._grouped:
            return self._press(f"{key} {value}")
        self.app_test.button_group(key=key).set_value(value)
        return self.run()

    def click(self, key: str) -> Lab:
        if key in self._grouped:
            return self._press(key)
        self.app_test.button(key=key).click()
        return self.run()

    def _press(self, name: str) -> Lab:
        """Presses a button of a group."""
        proto, (*_, is_disabled) = self._grouped[name]
        assert not is_disabled
        return self.report(proto, "press", name)

    def report(self, proto: BidiComponent, event: str, value: Any) -> Lab:
        """Reports an event of a component."""
        states = self.app_test._tree.get_widget_states()
        payload = json.dumps([{"event": event, "value": value}])
        states.widgets.append(WidgetState(id=_make_trigger_id(proto.id, "events"), json_trigger_value=payload))
        self.app_test._run(states)
        return self._checked()

    @property
    def groups(self) -> list[dict[str, Any]]:
        """Returns all groups of buttons."""
        mounted = [c.proto for c in self.app_test.get("bidi_component") if c.proto.component_name.endswith(".button_groups")]
        drawn = [(proto, group) for proto in mounted for group in self.payload(proto)["groups"]]
        return [each | {"proto": proto} for proto, group in drawn for each in (group, *group["groups"])]

    @property
    def effect(self) -> str:
        """Returns the sentence on the effect of the edits."""
        (group,) = [group for group in self.groups if group["style"] == "verdict"]
        return group["note"]

    @property
    def _grouped(self) -> dict[str, tuple[BidiComponent, list[Any]]]:
        """Returns the buttons of all groups by their ids: the component, and text, tooltip, is on, is disabled."""
        return {name: (group["proto"], rest) for group in self.groups for name, *rest in group["buttons"]}

    @property
    def grouped(self) -> dict[str, list[Any]]:
        """Returns text, tooltip, is on and is disabled of the buttons of all groups."""
        return {name: rest for name, (_, rest) in self._grouped.items()}

    def answers(self) -> list[str]:
        """Returns question and text of each measured answer."""
        return [f"{group['label']} {group['note']}" for group in self.groups if group["style"] == "answer"]

    @property
    def data(self) -> SessionData:
        """Returns the record of the session."""
        return self.app_test.session_state["lab"]

    @property
    def view(self) -> View:
        """Returns the view of the last run."""
        return self.data.view

    def open(self, key: str) -> Lab:
        """Opens a popover."""
        assert any(f'data-lab-popover="{html.escape(key)}"' in text for text in self.html)
        self.data.seen[inside(key)] = True
        return self.run()

    def choose(self, name: str, key: str = "checkpoint") -> Lab:
        """Chooses a checkpoint or a device in the menu of checkpoints."""
        for menu in re.findall(r'data-lab-popover="(checkpoint [^"]*)"', " ".join(self.html)):
            self.open(html.unescape(menu))
        self.app_test.selectbox(key=key).set_value(name)
        return self.run()

    def look(self) -> Lab:
        """Looks at what is computed only then, until nothing waits for a look."""
        return self.look() if self.glance().awaited else self

    def glance(self) -> Lab:
        """Looks once at what is computed only then."""
        self.data.seen |= self.awaited
        return self.run()

    def pressed(self, *keys: str) -> View:
        """Returns the view after keys of a lecture, one after the other, each pressed on what this run shows."""
        calls = {name: call for name, _, call, _ in self.data.lecture.keys}
        with pytest.MonkeyPatch.context() as patch:
            session = made_session(patch, view=self.view)
            for key in keys:
                calls[key]()
        return session.view

    @property
    def awaited(self) -> dict[str, str]:
        """Names of lazy parts that have not been seen, with the digests of their content."""
        found = re.findall(r'data-lab-lazy="([^"]*)" data-what="([^"]*)"', " ".join(self.html))
        return {html.unescape(name): what for name, what in found}

    @property
    def keys(self) -> set[str]:
        """The keys of all that stands on the page, as the classes of a browser have them."""

        def below(node: Any) -> Iterator[str]:
            yield getattr(getattr(node, "proto", None), "id", None) or ""
            for child in getattr(node, "children", {}).values():
                yield from below(child)

        matches = (re.fullmatch(r"\$\$ID-\w+-(.+)", each) for each in below(self.app_test._tree))
        return {re.sub(r"[^\w-]", "-", each[1]) for each in matches if each}

    @property
    def box(self) -> str:
        return self.app_test.text_input(key="source").value

    @property
    def link(self) -> dict[str, str]:
        return address(self.app_test)

    @property
    def html(self) -> list[str]:
        """Our own markup, piece by piece."""
        return [element.proto.body for element in self.app_test.get("html")]

    @property
    def text(self) -> str:
        """All that our own markup says, but for the stylesheet."""
        own = [text for text in self.html if not text.startswith("<style>")]
        return html.unescape(re.sub(r"<[^>]+>", " ", " ".join(own)))

    def sentences(self, kind: str) -> list[str]:
        """The text of the elements of a class."""
        elements = re.compile(rf'<(\w+) class="{kind}"[^>]*>(.*?)</\1>', re.DOTALL)
        return [html.unescape(re.sub(r"<[^>]+>", "", text)) for each in self.html for _, text in elements.findall(each)]

    @property
    def faults(self) -> list[str]:
        return self.sentences("lab-fault")

    @property
    def warnings(self) -> list[str]:
        return self.sentences("lab-note warn")

    timeline, switchboard = _data("timeline"), _data("switchboard")
    stages, writers, tokens = _data(".stages"), _data(".writers"), _data(".tokens")
    sum, side_by_side, all_heads = _data(".sum"), _data(".side_by_side"), _data(".all_heads")

    @property
    def save(self) -> dict[str, Any]:
        """Data of the panel *Save*, which is opened if it has not been."""
        if not self._mounted(".save"):
            self.open(PANEL)
        return self._mounted(".save")

    def _mounted(self, name: str, key: str = "") -> dict[str, Any] | None:
        mounted = [c for c in self.app_test.get("bidi_component") if c.proto.component_name.endswith(name)]
        mounted = [c for c in mounted if c.proto.id.endswith(key)]
        assert len(mounted) <= 1
        return self.payload(mounted[0].proto) if mounted else None

    def payload(self, proto: BidiComponent) -> dict[str, Any]:
        """Returns the payload of a component as its script gets it. A part that never arrived raises KeyError."""

        def load(text: str) -> Any:
            return json.loads(text, parse_constant=pytest.fail)

        parts = load(proto.json or proto.bytes.decode())[0]["parts"]
        assets, colours, *values = (load(self._parts[part]) if isinstance(part, str) else part for part in parts)
        payload = {name: value for each in (assets["added"], *values) for name, value in each.items()}
        return payload | {"style": {**colours["style"], **payload.get("style", {})}}

    @property
    def edits(self) -> dict[str, str]:
        """The listed edits: code and label, as it is read."""
        listed = {name.removeprefix("edit "): text for name, (text, *_) in self.grouped.items() if name.startswith("edit ")}
        return {code: text.removesuffix(" ×") for code, text in listed.items()}

    @property
    def buttons(self) -> list[str]:
        """The keys of the buttons."""
        return [*(button.key for button in self.app_test.button), *self.grouped]

    @property
    def translation(self) -> str:
        return "".join(self.timeline["segments"])

    @property
    def maps(self) -> list[dict[str, Any]]:
        """Returns the payloads of the patterns that are drawn next to each other."""
        names = (".file_maps", ".head_map")
        mounted = [c.proto for c in self.app_test.get("bidi_component") if c.proto.component_name.endswith(names)]
        payloads = [self.payload(proto) for proto in mounted]
        return [each for payload in payloads for each in payload.get("maps") or [payload["pattern"]]]

    @property
    def charts(self) -> list[dict[str, Any]]:
        return [json.loads(element.proto.spec) for element in self.app_test.get("plotly_chart")]


def address(app_test: AppTest) -> dict[str, str]:
    """The query parameters as they stand in the address after a run."""
    each = app_test.query_params.items()
    return {name: value if isinstance(value, str) else value[-1] for name, value in each}


def unescaped(markdown: str) -> str:
    """A label in which every sign that Markdown knows stands behind a backslash, as it is read."""
    plain = re.sub(r"\\([!-/:-@\[-`{-~])", "", markdown)
    assert not re.search(r"[\\`*_{}\[\]()<>#+.!|$~:&-]", plain), f"{markdown!r} is Markdown"
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown)


def numbers(value: Any) -> np.ndarray:
    """An array as it stands in a figure's JSON or in a chart's payload: a list, or a typed array."""
    if not isinstance(value, dict):
        return np.array(value, dtype=float)
    packed, kind = (value["values"], "<f4") if "values" in value else (value["bdata"], value["dtype"])
    sizes = [int(size) for size in re.findall(r"\d+", str(value.get("shape", "")))]
    return np.frombuffer(base64.b64decode(packed), kind).reshape(sizes or -1)


def through_json(figure: go.Figure) -> dict[str, Any]:
    """The figure as the browser gets it."""
    return json.loads(figure.to_json())


def value(text: str) -> float:
    """A number as the lab prints it: `−0.5`, `4.4 × 10⁻⁸`."""
    mantissa, _, power = text.replace("−", "-").partition("\u00a0×\u00a010")
    return float(f"{mantissa}e{power.translate(_DIGITS) or 0}")


def read(text: str) -> str:
    """A label as Plotly draws it: it takes tags out, and knows these entities and no others."""

    def decoded(match: re.Match[str]) -> str:
        name = match[1]
        if name.startswith("#"):
            return chr(int(name[2:], 16) if name[1] == "x" else int(name[1:]))
        return _PLOTLY_ENTITIES.get(name, match[0])

    return re.sub(r"&(#\d+|#x[\da-fA-F]+|[a-z]+);", decoded, re.sub(r"</?[a-z]+[^>]*>", "", text))


def hover(figure: go.Figure, row: int, column: int) -> str:
    """Returns Plotly's hover text of a cell of a heatmap."""
    heat = figure.data[0]
    text = heat.hovertemplate.replace("<extra></extra>", "").replace("<br>", "\n")
    cell = "" if heat.customdata is None else str(heat.customdata[row][column])
    labels = {"%{x}": figure.layout.xaxis.ticktext[column], "%{y}": figure.layout.yaxis.ticktext[row]}
    for name, value in {"%{customdata}": cell, "%{z:.6f}": f"{heat.z[row][column]:.6f}", **labels}.items():
        text = text.replace(name, value)
    assert "%{" not in text
    return read(text)


def made_session(patch: pytest.MonkeyPatch, **values: Any) -> SessionData:
    """Replaces Streamlit's session by one with these values, for calls of callbacks outside a run."""
    data = SessionData(**values)
    patch.setattr(st, "session_state", {"lab": data})
    return data
