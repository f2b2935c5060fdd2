"""The log of unreadable input, and of the lab's own faults."""

import logging
import threading

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.runtime.state.session_state import WStates

from viz.classroom.rooms.room import code_of
from viz.server.log_limit import MINUTE, LogLimit

CLOCK = [0.0]


class Lines(logging.Handler):
    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append(self.format(record))


@pytest.fixture
def lines():
    """A logger under a limit of three lines a minute, and what it wrote."""
    logger, kept, limit = logging.getLogger("log limit"), Lines(), LogLimit(max_lines=3, now=lambda: CLOCK[0])
    logger.addHandler(kept)
    logger.addFilter(limit)
    logger.propagate = False
    yield logger, kept.texts
    logger.removeHandler(kept)
    logger.removeFilter(limit)


def fault_of(made):
    try:
        made()
    except Exception as fault:
        return fault
    raise AssertionError("nothing was raised")


def read(value, reader=int):
    """What Streamlit makes of a widget's value that a browser sent."""
    states = WStates()
    states.set_widget_from_proto(value)
    metadata = WidgetMetadata(value.id, reader, str, value_type="json_value")
    states.set_widget_metadata(metadata)
    return states[value.id]


@pytest.mark.parametrize("sent", ["[" * 50_000, "{", '{"a": 1}'])
def test_a_value_that_cannot_be_read_is_one_line(lines, sent):
    logger, texts = lines
    logger.error("Uncaught app execution", exc_info=fault_of(lambda: read(WidgetState(id="w", json_value=sent))))
    assert len(texts) == 1 and "\n" not in texts[0] and len(texts[0]) < 300
    assert texts[0].startswith("A browser sent a value that cannot be read: ")


def test_own_faults_keep_their_first_traceback(lines):
    logger, texts = lines

    def fault():
        return fault_of(lambda: read(WidgetState(id="w", json_value='"x"'), code_of))  # own code that a reader calls

    for made in (fault(), fault(), fault_of(lambda: 1 / 0)):
        logger.error("A page could not be drawn", exc_info=made)
    first, second, third = texts
    assert "Traceback" in first and "code_of" in first
    assert second.count("\n") == 0 and second.startswith("A page could not be drawn: ValueError: ")
    assert "Traceback" in third and "ZeroDivisionError" in third


def test_a_minute_has_a_limit_of_lines(lines, monkeypatch):
    logger, texts = lines
    timers = []

    class Timer:
        def __init__(self, seconds, call, arguments):
            timers.append((seconds, lambda: call(*arguments)))

        def start(self):
            pass

    monkeypatch.setattr(threading, "Timer", Timer)

    def warn(number):
        logger.warning("Invalid HTTP request %d", number)

    for number in range(50):
        warn(number)
    logger.warning("Another kind")
    assert texts == ["Invalid HTTP request 0", "Invalid HTTP request 1", "Invalid HTTP request 2", "Another kind"]
    ((seconds, count),) = timers
    CLOCK[0] += seconds
    count()
    warn(50)
    assert seconds == MINUTE
    assert texts[4:] == [
        "47 more lines like this one were left out within a minute: Invalid HTTP request 3",
        "Invalid HTTP request 50",
    ]
