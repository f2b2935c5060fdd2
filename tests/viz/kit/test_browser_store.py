"""Which parts of components travel: scripts, styles and large payloads once, as long as the browser stores them."""

import json
from contextlib import nullcontext

import pytest
import streamlit as st

from viz.kit import browser_store
from viz.state.result_cache import Payload

ASSETS, COLOURS = Payload(css="", script="", added={"component": "bell"}), Payload(style={"--ink": "black"})
LARGE = Payload(numbers=list(range(browser_store.INLINE)))


@pytest.fixture
def slots(monkeypatch):
    """The slots of the parts that were sent, which a test clears."""
    sent = []
    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(st, "container", lambda key: nullcontext())
    monkeypatch.setattr(browser_store, "_STORE", lambda key: None)
    monkeypatch.setattr(browser_store, "_CARRIER", lambda key, data: sent.extend(data.decode().split("\n")[::3]))
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
    assert first == {"parts": [ASSETS.digest, COLOURS.digest, LARGE.digest, {"step": 1}], "events": 0}
    slots.clear()
    assert run(LARGE, {"step": 1}) == first and run(dict(LARGE), {"step": 1}) == first
    assert run(LARGE, {"step": 2})["parts"][3] == {"step": 2} and slots == []
    assert run({"numbers": LARGE["numbers"][1:]}) != first and slots == ["a 0"]


def test_a_small_payload_travels_each_time_as_bytes(slots):
    assert json.loads(run({"step": 1})) == {"parts": [ASSETS.digest, COLOURS.digest, {"step": 1}]}
    assert json.loads(run(LARGE, every_run=True))["parts"][2] == LARGE and "a 0" not in slots


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
    assert run(LARGE) == {**first, "events": 1}
