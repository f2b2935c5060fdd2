import inspect

import pytest

from tests.support.room_helpers import run
from viz.classroom.rooms.documents import Documents


@pytest.fixture(autouse=True)
def nothing_is_made_before_anybody_asks(request, monkeypatch):
    """Opening a room begins its document: seconds, of a checkpoint that most of these tests have no use for."""
    if "makes_documents" not in request.fixturenames:
        monkeypatch.setattr(Documents, "begin", lambda *args: None)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Runs tests that are coroutines."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}))
    return True
