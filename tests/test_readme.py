"""Statements of README.md and docs/ agree with the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from model.config import MAX_TOKENS
from model.edits.intervention import Intervention
from model.inference.request import Request
from model.network import attention
from viz.rooms.room import LENGTH, new_code

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
NUMBERS = {6: "six"}


@pytest.mark.parametrize("path", ["README.md", "docs/export.md", "docs/checks.md", "docs/html.md"])
def test_text_limit_is_stated(path):
    assert f"at most {MAX_TOKENS} tokens" in " ".join((ROOT / path).read_text(encoding="utf-8").split())


def test_request_states_the_text_limit():
    assert f"at most {MAX_TOKENS} tokens" in " ".join((Request.__doc__ or "").split())


def test_room_code_is_described_as_it_is_made():
    assert len(new_code()) == LENGTH
    assert f"{NUMBERS[LENGTH]} letters and digits" in README and f"{NUMBERS[LENGTH]} letters at" not in README


def test_both_implementations_of_attention_are_named():
    for text in (README, attention.__doc__ or ""):
        assert "nowhere else" not in text and "fast" in text and "1e-5" in " ".join(text.split())


def test_every_edit_code_of_the_readme_is_read():
    table = README.split("| edit | code |")[1].split("\n\n")[0]
    codes = re.findall(r"`([a-z][^`]*)`", table)
    assert len(codes) > 20
    for code in codes:
        assert Intervention().with_edit(code) != Intervention()


def test_measured_times_name_machine_and_day():
    (before, table), *_ = re.findall(r"([^\n]+)\n\n(\| \| \|\n(?:\|[^\n]*\n)+)", README)
    assert re.search(r"\d ms|\d s\b", table) and re.search(r"on \d{4}-\d\d-\d\d on .* cores of", before)
