from __future__ import annotations

import pytest

from viz.offline import fonts


@pytest.fixture(autouse=True)
def fonts_are_not_cut(monkeypatch):
    """It takes a second; the browser's tests look at real ones."""
    monkeypatch.setattr(fonts, "_subset", lambda file, more: b"".join(char.encode() for char in sorted(more)))
