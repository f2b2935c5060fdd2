"""The texts that a command reads: its argument, each line of a file (--data), or each line of standard input (-)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

MAX_LINE = 1_000_000  # characters
STANDARD_INPUT = "-"
NUMBER = "{n}"  # in the name of an output file: the number of the line
FORMS = ".txt, .tsv, .gz or .zip"


def add(parser: argparse.ArgumentParser, noun: str = "sentence") -> None:
    """Adds the argument TEXT and the option --data to a command that answers texts."""
    parser.add_argument("text", nargs="?", metavar="TEXT", help=f"{noun}; - reads standard input, one {noun} per line")
    hint = f"read each line of FILE instead of TEXT: a {noun}, or {noun} TAB further columns, which are ignored"
    parser.add_argument("--data", metavar="FILE", help=f"{hint}; - is standard input")
    parser.set_defaults(noun=noun)


def check(args: argparse.Namespace) -> None:
    """Raises ValueError unless exactly one of TEXT and --data is given."""
    if (args.text is None) == (args.data is None):
        given = f"no {args.noun} is" if args.text is None else f"a {args.noun} and --data are"
        raise ValueError(f"{given} given; expected a {args.noun}, - for standard input, or --data FILE")


def _reads_lines(args: argparse.Namespace) -> bool:
    return args.data is not None or args.text == STANDARD_INPUT


def for_each(args: argparse.Namespace, answer: Callable[[str, int], None], empty: str = "") -> None:
    """Calls `answer` with the text and 0, or with each line and its number. Prints `empty` for an empty line.

    Raises ValueError that names the line, and where there is none.
    """
    if not _reads_lines(args):
        answer(args.text, 0)
        return
    answered = 0
    for number, text in lines(args):
        if not text.strip():  # keeps output lines aligned with input lines
            print(empty, flush=True)
            continue
        try:
            answer(text, number)
        except ValueError as fault:
            raise ValueError(f"line {number}: {fault}") from None
        answered += 1
    if not answered:
        place = "standard input" if STANDARD_INPUT in (args.text, args.data) else args.data
        raise ValueError(f"there is no {args.noun} in {place}; write one on each line")


def lines(args: argparse.Namespace) -> Iterator[tuple[int, str]]:
    """Yields the number and the text of each line, of --data the first column.

    Raises ValueError for a line that is too long, text that is not UTF-8, and an unreadable file.
    """
    from ..corpus.corpus import read_lines

    if args.data is None:
        yield from input_lines()
        return
    pairs = input_lines() if args.data == STANDARD_INPUT else read_lines(Path(args.data), FORMS)
    for number, line in pairs:
        yield number, line.partition("\t")[0].strip()


def input_lines() -> Iterator[tuple[int, str]]:
    """Yields the number and the text of each line of standard input, as soon as it is there."""
    number = 0
    while line := _read_line():
        number += 1
        if len(line) > MAX_LINE:
            raise ValueError(f"line {number} has more than {MAX_LINE:,} characters; write a sentence on each line")
        yield number, line.removeprefix("\ufeff").rstrip("\r\n")


def _read_line() -> str:
    if sys.stdin is None:  # closed by the parent process
        return ""
    try:
        return sys.stdin.readline(MAX_LINE + 1)
    except UnicodeDecodeError as fault:
        raise ValueError(f"the byte 0x{fault.object[fault.start]:02x} on standard input is no UTF-8") from None


def check_output(args: argparse.Namespace, option: str, path: Path) -> None:
    """Raises ValueError as `check` does, and where several texts would be written to one file."""
    check(args)
    if _reads_lines(args) and NUMBER not in path.name:
        name = f"{path.stem}-{NUMBER}{path.suffix}"
        raise ValueError(f"{option} names one file for several {args.noun}s; put {NUMBER} in its name, such as {name}")


def output_path(path: Path, number: int) -> Path:
    """Returns the path of the output of a line."""
    return path.with_name(path.name.replace(NUMBER, str(number))) if number else path
