"""Formats numbers and heads for people, with few digits and a true minus sign. Command lines have one-line errors."""

from __future__ import annotations

import argparse
import difflib
import math
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

MINUS = "−"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def decimal(value: float, places: int = 2) -> str:
    """Returns a number with `places` decimals: `−0.50`."""
    return _minus(f"{value:.{places}f}")


def probability(value: float) -> str:
    """Returns a probability or an attention weight with two decimals; `<0.01` or `>0.99` near 0 and 1, but not at them."""
    if 0 < value < 0.01:
        return "<0.01"
    return ">0.99" if 0.99 < value < 1 else f"{value:.2f}"


def exact_probability(value: float) -> str:
    """Returns a probability or an attention weight with four significant digits, at most 7 decimals.

    It has more digits where four would round to 1.
    """
    if value in (0, 1):
        return f"{value:.0f}"
    if value < 0.001:
        return f"{value:.3e}" if value < 5e-8 else f"{value:.7f}"
    text = f"{value:#.4g}"
    return f"{1 - float(f'{1 - value:.2g}'):.15g}" if float(text) == 1 else text


def round_probabilities(values: np.ndarray) -> np.ndarray:
    """Returns probabilities or weights with 5 decimals, and 7 below 0.01: the digits of `exact_probability`."""
    return np.where(values < 0.01, np.round(values, 7), np.round(values, 5))


def three_digits(value: float) -> str:
    """Returns three significant digits, at most three decimals, and whole numbers from 1,000 on; a dash where not finite.

    Sums and metrics in nats, scores and lengths have this form: `−15.9`, `0.698`.
    """
    if not value or not math.isfinite(value):
        return "–" if value else "0"
    places = 2 - int(f"{value:.2e}".partition("e")[2])  # of the rounded value: 9.996 is 10.0
    text = f"{value:.3g}" if abs(value) >= 1e6 else f"{value:,.{min(3, max(0, places))}f}"
    return _minus(text) if abs(value) >= 0.0005 else "0.00"


def signed(value: float) -> str:
    """Returns a difference in three digits with its sign: `+0.698`, `−15.9`; one that rounds to 0 has none."""
    return f"+{three_digits(value)}" if value >= 0.0005 else three_digits(value)


def head_name(kind: str, layer: int, head: int | None) -> str:
    """Returns the one name of a head (from 0) on the screen, `cross 3.5`, or of the mean over the heads of a layer."""
    return f"{kind} {layer + 1}" + (", mean over heads" if head is None else f".{head + 1}")


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
    """An argument parser whose errors are one line, with exit status 2. A command reports its own unknown options."""

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:
        """Returns the options. Unknown ones are an error here, else argparse reports those of a command for the program."""
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._similar_options(unknown)}")
        return known, unknown

    def _similar_options(self, unknown: Sequence[str]) -> str:
        """Returns a question for each unknown option that resembles an option."""
        names = {option.lstrip("-"): option for option in self._option_string_actions if option.startswith("--")}
        questions = []
        for word in dict.fromkeys(word.partition("=")[0] for word in unknown if word.startswith("-")):
            if near := difflib.get_close_matches(word.lstrip("-"), names, 1):
                questions.append(f" ({word}: did you mean {names[near[0]]}?)")
        return "".join(questions)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {' '.join(message.split())[:1000]}. Try {self.prog} --help.\n")


def device_name(text: str) -> str:
    """Returns the text where it is the name of a device; use shows later if the device exists.

    Raises ValueError, whose text is the expected value.
    """
    if not re.fullmatch("auto|cpu|mps|cuda(:[0-9]{1,2})?", text, re.ASCII):
        raise ValueError(DEVICES)
    return text


Z95 = 1.959964  # quantile of the standard normal distribution for a 95% interval


def wilson_interval(count: int, total: int, z: float = Z95) -> tuple[float, float]:
    """Returns the interval of a share, each from 0 to 1 (Wilson 1927; Brown et al. 2001, section 3.1.1), by default of 95%.

    Raises ValueError for a total below 1.
    """
    if total < 1:
        raise ValueError(f"the total is {total}; expected at least 1")
    share, weight = count / total, z * z / total
    middle = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(share * (1 - share) / total + weight / (4 * total))
    return (0.0 if count == 0 else middle - half), (1.0 if count == total else middle + half)
