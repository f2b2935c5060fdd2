"""Formats numbers for people, with a true minus sign and few digits. Also parses command lines, with errors of one line."""

from __future__ import annotations

import argparse
import math
import re
from typing import NoReturn

MINUS = "−"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def decimal(value: float, places: int = 2) -> str:
    """Returns a number with `places` decimals: `−0.50`."""
    return _minus(f"{value:.{places}f}")


def with_sign(value: float, places: int = 2) -> str:
    """Returns a change with its sign: `+0.50`, `−0.50`."""
    return _minus(f"{value:+.{places}f}")


def nats(value: float) -> str:
    """Returns a change of a log-probability; one that rounds to 0 has no sign."""
    return with_sign(value) if abs(value) >= 0.005 else "0.00"


def probability(value: float) -> str:
    """Returns three decimals; `< 0.001` or `> 0.999` for values that would round to 0 or 1."""
    if 0 < value < 0.0005:
        return "< 0.001"
    return "> 0.999" if 0.9995 <= value < 1 else f"{value:.3f}"


def short_probability(value: float) -> str:
    """Returns two decimals; `<0.01` for less than that."""
    return "<0.01" if value < 0.01 else f"{value:.2f}"


def three_figures(value: float) -> str:
    """Returns three significant figures, whole numbers from 1,000 on."""
    return _minus(f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}")


def compact(value: float) -> str:
    """Returns three significant figures, below 1 three decimals; a dash where the value is not finite."""
    if not math.isfinite(value):
        return "–"
    return _minus(f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}" if abs(value) >= 1 else f"{value:.3f}")


def scientific(value: float, digits: int = 2) -> str:
    """Returns `digits` significant figures, with printed powers of ten: `0.013`, `4.4 × 10⁻⁸`."""
    mantissa, _, power = f"{value:.{digits}g}".partition("e")
    if not power:
        return _minus(mantissa)
    spaces = "\u00a0×\u00a0"  # no-break spaces
    return f"{_minus(mantissa)}{spaces}10{str(int(power)).translate(_SUPERSCRIPTS)}"


def count_in_words(count: int) -> str:
    """Returns a count in words: `never`, `once`, `1,200 times`."""
    return {0: "never", 1: "once"}.get(count, f"{count:,} times")


def _minus(text: str) -> str:
    return text.replace("-", MINUS)


DEVICES = "auto, cpu, mps, cuda, or cuda:1 for the second card"


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, with exit status 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {' '.join(message.split())[:1000]}. Try {self.prog} --help.\n")


def device_name(text: str) -> str:
    """Returns the text where it is the name of a device; use shows later if the device exists.

    Raises ValueError, whose text is the expected value.
    """
    if not re.fullmatch("auto|cpu|mps|cuda(:[0-9]{1,2})?", text, re.ASCII):
        raise ValueError(DEVICES)
    return text
