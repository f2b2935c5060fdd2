"""Numbers as they are read: with a real minus, and no more figures than are meant. One place for all pages and answers.

Command lines that say in one line what is wrong."""

from __future__ import annotations

import argparse
import math
import re
from typing import NoReturn

MINUS = "−"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def decimal(value: float, places: int = 2) -> str:
    """So many decimals: `−0.50`."""
    return _minus(f"{value:.{places}f}")


def signed(value: float, places: int = 2) -> str:
    """A change, with its sign: `+0.50`, `−0.50`."""
    return _minus(f"{value:+.{places}f}")


def nats(value: float) -> str:
    """A change of a log-probability; one that rounds to nothing has no sign."""
    return signed(value) if abs(value) >= 0.005 else "0.00"


def probability(value: float) -> str:
    """Three decimals; what would round to 0 or 1, and is neither, says so: `< 0.001`, `> 0.999`."""
    if 0 < value < 0.0005:
        return "< 0.001"
    return "> 0.999" if 0.9995 <= value < 1 else f"{value:.3f}"


def figures(value: float) -> str:
    """Three significant figures, whole numbers from 1,000 on."""
    return _minus(f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}")


def short(value: float) -> str:
    """Three significant figures, below 1 as many decimals; a dash for what is no number."""
    if not math.isfinite(value):
        return "–"
    return _minus(f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}" if abs(value) >= 1 else f"{value:.3f}")


def rounded(value: float, figures: int = 2) -> str:
    """So many significant figures, with powers of ten as they are printed: `0.013`, `4.4 × 10⁻⁸`."""
    mantissa, _, power = f"{value:.{figures}g}".partition("e")
    if not power:
        return _minus(mantissa)
    spaces = "\u00a0×\u00a0"  # which hold a line together
    return f"{_minus(mantissa)}{spaces}10{str(int(power)).translate(_SUPERSCRIPTS)}"


def times(count: int) -> str:
    """How often: `never`, `once`, `1,200 times`."""
    return {0: "never", 1: "once"}.get(count, f"{count:,} times")


def _minus(text: str) -> str:
    return text.replace("-", MINUS)


DEVICES = "auto, cpu, mps, cuda, or cuda:1 for the second card"


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, with exit status 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {' '.join(message.split())[:1000]}. Try {self.prog} --help.\n")


def device_name(text: str) -> str:
    """The text where it can be the name of a device (whether it is there is seen when it is used).

    Raises ValueError, whose text is what was expected.
    """
    if not re.fullmatch("auto|cpu|mps|cuda(:[0-9]{1,2})?", text, re.ASCII):
        raise ValueError(DEVICES)
    return text
