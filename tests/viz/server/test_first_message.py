"""The parts of a run's first message that depend on options alone are Streamlit's own, filled once."""

import pytest
from streamlit import config
from streamlit.config import CustomThemeCategories
from streamlit.proto.NewSession_pb2 import Config, CustomThemeConfig
from streamlit.runtime import app_session

from viz.server.first_message import PARTS, keep_constant_parts

SECTIONS = ["theme", *(f"theme.{each.value}" for each in CustomThemeCategories)]


def parts() -> list[tuple[bool, bytes]]:
    """Each part as a message has it, and whether the message has it at all."""
    found = []
    for section in SECTIONS:
        theme = CustomThemeConfig()
        app_session._populate_theme_msg(theme.sidebar, section)
        found.append((theme.HasField("sidebar"), theme.SerializeToString(deterministic=True)))
    options = Config()
    app_session._populate_config_msg(options)
    return [*found, (True, options.SerializeToString(deterministic=True))]


@pytest.fixture
def reads(monkeypatch):
    """Streamlit's parts; then they are kept, and each later read of an option counts."""
    for name in PARTS:
        monkeypatch.setattr(app_session, name, getattr(app_session, name))  # restored after the test
    before, counts = parts(), []
    for name in ("get_options_for_section", "get_option"):
        read = getattr(config, name)
        monkeypatch.setattr(config, name, lambda key, read=read: counts.append(key) or read(key))
    keep_constant_parts()
    return before, counts


def test_the_parts_are_the_same_and_read_once(reads):
    before, counts = reads
    assert parts() == before and any(is_there for is_there, _ in before[:-1])
    first = len(counts)
    assert parts() == before and len(counts) == first > len(SECTIONS)
