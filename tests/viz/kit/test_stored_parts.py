"""Parts of components are sent to the place over the page, but never from the run of a fragment."""

from types import SimpleNamespace

import pytest

from viz.kit import browser_store
from viz.state.result_cache import Payload


class Place:
    """Counts what is written to it."""

    entered = 0

    def __enter__(self):
        self.entered += 1

    def __exit__(self, *fault):
        pass


@pytest.mark.parametrize(("fragments", "entered"), [(None, 1), (["live"], 0)])
def test_a_fragment_writes_nothing_outside_of_itself(fragments, entered, monkeypatch):
    sent = []
    monkeypatch.setattr(browser_store, "_carry", lambda **values: sent.append(values))
    monkeypatch.setattr(
        browser_store, "get_script_run_ctx", lambda **options: SimpleNamespace(fragment_ids_this_run=fragments)
    )
    parts = browser_store._Parts(place=Place(), sent={})  # as an interrupted run leaves them
    browser_store._send(parts, {"slot": Payload(text="a")})
    assert len(sent) == 1 and parts.place.entered == entered
    assert "slot" in (parts.stored if fragments else parts.sent)
    browser_store._send(parts, {"slot": Payload(text="a")})
    assert len(sent) == 1
