"""Streamlit's theme options, read once: each run sends them, and Streamlit reads 300 options for each of six sections."""

from __future__ import annotations

from functools import cache
from typing import Any

from streamlit import config


def keep_theme_options() -> None:
    """Makes Streamlit read the theme options once; call it after the options are set. A later change has no effect."""
    options_of = config.get_options_for_section

    @cache
    def theme_options(section: str) -> dict[str, Any]:
        return {name: value for name, value in options_of(section).items() if value is not None}

    def read(section: str) -> dict[str, Any]:
        return theme_options(section) if section.partition(".")[0] == "theme" else options_of(section)

    config.get_options_for_section = read
