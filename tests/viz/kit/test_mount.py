"""Components: their events with checks, and scripts, styles and payloads that travel once."""

import json
from contextlib import nullcontext
from unittest.mock import Mock

import pytest
import streamlit as st

from viz import theme
from viz.kit import browser_store, mount, quick_mount
from viz.kit.terms import GLOSSARY
from viz.state import result_cache, session
from viz.state.result_cache import Payload


@pytest.fixture
def folder(tmp_path):
    """A folder with a component `bell` in it, whose script imports two others, one of them twice."""
    (tmp_path / "shared.js").write_text('// Shared.\nexport const one = 1;\nexport function two() { return "export"; }\n')
    (tmp_path / "bell_parts.js").write_text('import { one } from "./shared.js";\n\nexport const three = 2 + one;\n')
    (tmp_path / "bell.js").write_text(
        'import {\n  one, two,\n} from "./shared.js";\nimport { three } from "./bell_parts.js";\n\n'
        "export default function () { return one + two() + three; }\n"
    )
    (tmp_path / "bell.css").write_text(".bell {}\n")
    return tmp_path


def test_a_script_is_joined_with_its_imports(folder):
    assert mount.joined(folder / "bell.js") == (
        '// Shared.\nconst one = 1;\nfunction two() { return "export"; }\n'
        "\nconst three = 2 + one;\n"
        "\nexport default function () { return one + two() + three; }\n"
    )


@pytest.fixture
def sent(monkeypatch):
    """Arguments of the last mounted component. `parts` are the stored parts, by digest."""
    arguments = {"parts": {}}

    def carry(key, data):
        lines = data.decode().split("\n")
        arguments["parts"] |= dict(zip(lines[1::3], map(json.loads, lines[2::3]), strict=True))

    def declare(name, **files):
        arguments.update(files, name=name)
        return arguments.update

    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(st.components.v2, "component", declare)
    monkeypatch.setattr(quick_mount, "IS_SUPPORTED", False)
    monkeypatch.setattr(browser_store, "_carry", carry)
    monkeypatch.setattr(session, "theme_mode", lambda: "dark")
    return arguments


def payload(sent):
    """Returns the payload of the last component as its script gets it."""
    (data,) = sent["data"] if isinstance(sent["data"], list) else json.loads(sent["data"])
    assets, colours, *values = (sent["parts"][part] if isinstance(part, str) else part for part in data["parts"])
    whole = {name: value for each in (*values, assets["added"]) for name, value in each.items()}
    return assets, whole | {"style": colours["style"] | whole.get("style", {})}


def test_a_component_is_mounted_and_heard(folder, sent, monkeypatch):
    heard, told = [], {}
    monkeypatch.setattr(session, "component_value", lambda key, name: told[key, name])
    bell = mount.Component(str(folder / "bell.py"), '<div class="bell"></div>', picture="Bell")
    assert (sent["name"], sent["html"]) == ("attention_lab.bell", '<div class="bell"></div>')

    data = {"n": 3, "style": {"--own": "red"}}
    bell.mount("the bell", data, {"ring": (mount.integer(1, 3), heard.append)}, default={"ring": 1})
    style = {**theme.PALETTES["dark"].css_variables(), "--own": "red"}
    assets, whole = payload(sent)
    assert whole == {"n": 3, "style": style, "component": "bell", "picture": "Bell"}
    assert (assets["css"], assets["script"]) == (".bell {}\n", mount.joined(folder / "bell.js"))
    assert (sent["key"], sent["default"]) == ("the bell", {"ring": 1}) and data["style"] == {"--own": "red"}
    for value in (2, 4, "2", 3.0):
        told["the bell", "ring"] = value
        sent["on_ring_change"]()
    assert heard == [2, 3]


def test_a_component_tells_what_its_terms_mean(folder, sent):
    mount.Component(str(folder / "bell.py"), term_names=("head", "·")).mount("the bell", {"n": 3})
    assets, whole = payload(sent)
    assert whole["terms"] == {"head": GLOSSARY["head"], "·": GLOSSARY["·"]} and whole["n"] == 3
    assert ".lab-term" in assets["css"] and assets["css"].endswith(".bell {}\n")
    with pytest.raises(KeyError, match="flux"):
        mount.Component(str(folder / "bell.py"), term_names=("flux",))


def test_the_constant_payload_is_written_once(folder, sent, monkeypatch):
    wrote = []
    monkeypatch.setattr(result_cache, "to_json", lambda values: wrote.append(values) or json.dumps(values))
    bell, data = mount.Component(str(folder / "bell.py")), result_cache.Payload({"step": 1, "word": "é<s>"})
    for step in (2, 3):
        bell.mount("the bell", data, overrides={"step": step})
        _, whole = payload(sent)
        assert (whole["step"], whole["word"]) == (step, "é<s>") and whole["style"] == theme.PALETTES["dark"].css_variables()
    assert wrote.count(data) == 1


def test_what_is_let_through():
    assert (mount.integer(1, 3)(1), mount.integer(1, 3)(3.0)) == ((1,), (3,))
    assert (mount.one_of(("a", "b"))("b"), mount.one_of(("a", "b"))("c"), mount.one_of("ab")([])) == (("b",), None, None)
    assert (mount.text(""), mount.text(3), mount.text(None)) == (("",), None, None)
    assert (mount.pressed(True), mount.pressed(None), mount.pressed(False)) == ((), None, None)
    assert (mount.flag(True), mount.flag(None)) == ((True,), (False,))
    assert (mount.one_of((True, False))(1), mount.one_of((1, 2))(True), mount.one_of("ab")({})) == (None, None, None)
    assert (mount.text("x" * 20_001), mount.text("\ud800")) == (None, None)
    both = mount.fields(step=mount.integer(1, 3), word=mount.text)
    assert both({"word": "x", "step": 2, "more": 1}) == (2, "x")
    assert [both(told) for told in ({"step": 2}, {"word": "x", "step": 9}, [2, "x"], None)] == [None] * 4


def test_what_a_check_cannot_take_is_heard_by_nobody(monkeypatch):
    heard = []
    monkeypatch.setattr(session, "component_value", lambda key, name: {})
    for kind in (TypeError, ValueError, AttributeError, KeyError, IndexError, OverflowError):
        mount._report("any", "ring", Mock(side_effect=kind), heard.append)
    assert heard == []


ASSETS, COLOURS = Payload(css="", script="", added={"component": "bell"}), Payload(style={"--ink": "black"})
LARGE = Payload(numbers=list(range(browser_store.INLINE)))


@pytest.fixture
def slots(monkeypatch):
    """The slots of the parts that were sent, which a test clears."""
    sent = []
    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(st, "container", lambda key: nullcontext())
    monkeypatch.setattr(browser_store, "_STORE", lambda key: None)
    monkeypatch.setattr(browser_store, "_carry", lambda key, data: sent.extend(data.decode().split("\n")[::3]))
    return sent


def run(*payloads, ends=True, **options):
    """Mounts one component in a run of its own and returns its data."""
    browser_store.begin_run()
    data = browser_store.message("a", ASSETS, COLOURS, list(payloads), **options)
    if ends:
        browser_store.end_run()
    return data


def test_an_unchanged_payload_travels_once(slots):
    first = run(LARGE, {"step": 1})
    assert slots == ["assets bell", "colours light", "a 0"]
    assert first == [{"parts": [ASSETS.digest, COLOURS.digest, LARGE.digest, {"step": 1}], "events": 0}]
    slots.clear()
    assert run(LARGE, {"step": 1}) == first and run(dict(LARGE), {"step": 1}) == first
    assert run(LARGE, {"step": 2})[0]["parts"][3] == {"step": 2} and slots == []
    assert run({"numbers": LARGE["numbers"][1:]}) != first and slots == ["a 0"]


def test_a_small_payload_travels_each_time_as_bytes(slots):
    assert json.loads(run({"step": 1})) == [{"parts": [ASSETS.digest, COLOURS.digest, {"step": 1}]}]
    assert json.loads(run(LARGE, every_run=True))[0]["parts"][2] == LARGE and "a 0" not in slots


def test_an_interrupted_run_sends_its_parts_again(slots):
    run(LARGE, ends=False)
    run(LARGE)
    assert slots == ["assets bell", "colours light", "a 0"] * 2


def test_two_components_of_a_run_share_their_assets(slots):
    browser_store.begin_run()
    for key in "ab":
        browser_store.message(key, ASSETS, COLOURS, [LARGE])
    assert slots == ["assets bell", "colours light", "a 0", "b 0"]


def test_a_fragment_sends_what_the_last_run_did_not(slots):
    run({"step": 1})
    slots.clear()
    for _ in range(2):
        browser_store.message("a", ASSETS, COLOURS, [LARGE])
    assert slots == ["a 0"]


def test_a_missing_part_sends_all_parts_again(slots):
    run(LARGE)
    slots.clear()
    browser_store.missing_event()
    run(LARGE)
    assert slots == ["assets bell", "colours light", "a 0"]


def test_an_event_of_a_component_changes_its_message(slots):
    first = run(LARGE)
    browser_store.mark_event("a")
    assert run(LARGE) == [{**first[0], "events": 1}]
