"""Fuzzers run long: python -m tests.fuzz [NAME ...] [--minutes 5]

A case that broke a promise is tried again by its number: python -m tests.fuzz NAME --first 17 --cases 1
"""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import sys
import time

from tests.fuzz import core


def main() -> int:
    known = core.all_fuzzers()
    whole = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__, formatter_class=whole)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one or more of {', '.join(known)} (default: all)")
    parser.add_argument("--minutes", type=float, default=1.0, help="for each fuzzer (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case (default: %(default)s)")
    parser.add_argument("--cases", type=int, help="how many cases of each fuzzer, at most")
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in known]:
        parser.error(f"there is no fuzzer {unknown[0]!r}; expected one of {', '.join(known)}")
    broken = 0
    for name in args.names or known:
        faulthandler.dump_traceback_later(60 * args.minutes + 5 * core.MAX_SECONDS, exit=True)  # a case that never ends
        numbers = itertools.islice(itertools.count(args.first), args.cases)
        found = core.try_cases(known[name], numbers, time.monotonic() + 60 * args.minutes)
        faulthandler.cancel_dump_traceback_later()
        print(f"{name}: {found.told()}", *found.broken[:20], sep="\n  ", flush=True)
        broken += len(found.broken)
    return min(broken, 1)


if __name__ == "__main__":
    sys.exit(main())
