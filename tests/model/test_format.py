from __future__ import annotations

import re
from pathlib import Path

import pytest

from model import format

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("write", "values", "expected"),
    [
        (format.decimal, (-0.5, 0.0, 12.345), ["−0.50", "0.00", "12.35"]),
        (format.signed, (-0.5, 0.5, -1e-9), ["−0.50", "+0.50", "−0.00"]),
        (format.nats, (-0.5, 0.005, 0.0049, -0.0049), ["−0.50", "+0.01", "0.00", "0.00"]),
        (format.figures, (1.2345, -0.0456, 0.0, 123.4, 1234.5, 1e6), ["1.23", "−0.0456", "0", "123", "1,234", "1e+06"]),
        (format.short, (123.4, 1.234, 0.01234, float("inf"), float("nan")), ["123", "1.23", "0.012", "–", "–"]),
        (format.rounded, (4.41e-8, -2e12, 0.0134, 0.0), ["4.4\u00a0×\u00a010⁻⁸", "−2\u00a0×\u00a010¹²", "0.013", "0"]),
        (format.times, (0, 1, 1200), ["never", "once", "1,200 times"]),
    ],
)
def test_numbers_as_they_are_read(write, values, expected):
    assert [write(value) for value in values] == expected


def test_the_minus_is_put_in_one_place():
    modules = [path for folder in ("model", "viz") for path in (ROOT / folder).rglob("*.py")]
    found = {path.name for path in modules if re.search(r"""replace\(\s*["']-["'],\s*["']−""", path.read_text("utf-8"))}
    assert found == set()
    assert "−" in format.decimal(-1)
