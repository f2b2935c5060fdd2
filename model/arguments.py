"""Command lines that say in one line what is wrong."""

from __future__ import annotations

import argparse
import re
from typing import NoReturn

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
