"""The theme in the first message of a run is Streamlit's own, read once."""

import pytest
from streamlit import config
from streamlit.config import CustomThemeCategories
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime.app_session import _populate_theme_msg

from viz.server.theme_options import keep_theme_options

SECTIONS = ["theme", *(f"theme.{each.value}" for each in CustomThemeCategories)]


def themes() -> list[bytes]:
    messages = [CustomThemeConfig() for _ in SECTIONS]
    for message, section in zip(messages, SECTIONS, strict=True):
        _populate_theme_msg(message, section)
    return [message.SerializeToString(deterministic=True) for message in messages]


@pytest.fixture
def reads(monkeypatch):
    """Streamlit's themes; then they are kept, and each later read of an option counts."""
    before, counts = themes(), []
    read = config.get_options_for_section
    monkeypatch.setattr(config, "get_options_for_section", lambda section: counts.append(section) or read(section))
    keep_theme_options()
    return before, counts


def test_the_themes_are_the_same_and_read_once(reads):
    before, counts = reads
    assert themes() == before and any(before)
    assert themes() == before and sorted(counts) == sorted(SECTIONS)


def test_other_options_are_read_each_time(reads):
    given = config.get_option("server.maxUploadSize")
    config.set_option("server.maxUploadSize", given + 1)
    assert config.get_options_for_section("server")["maxUploadSize"] == given + 1
    config.set_option("server.maxUploadSize", given)
    assert config.get_options_for_section("server")["maxUploadSize"] == given
