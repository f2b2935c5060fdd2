"""python -m model report strongest: the sentences of a file in which one head has the largest numbers."""

from __future__ import annotations

import argparse
import json

from ...edits.edit import parse
from ...edits.kinds import Ablate
from ...io.numbers import signed, three_digits
from ...readings.heads.head_roles import MEASURES
from ...trace import Site
from . import options

EFFECT = "effect"
LISTED = 20  # sentences


def add_strongest(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("for strongest")
    group.add_argument("--head", metavar="CODE", help="the head, such as enc.1.2, dec.3.4 or cross.1.7")
    hint = "number that ranks the sentences; effect: the loss of log-probability without the head (default: largest)"
    group.add_argument("--by", choices=[*MEASURES, EFFECT], help=hint)


def run_strongest(args: argparse.Namespace) -> None:
    """Measures the head over the sentences and prints those with the largest numbers; by effect, the largest losses."""
    from ... import checkpoint as checkpoints
    from ...experiments.head_survey import effect_of_head, measure_heads, text_limit
    from ...experiments.sweep import heads_of
    from ..reports.heads_report import read_distinct_lines

    if args.head is None:
        raise ValueError("strongest needs --head CODE, such as cross.1.7")
    try:
        edit = parse(f"off_{args.head}")
    except ValueError:
        edit = None
    if not isinstance(edit, Ablate) or edit.place.layer is None or edit.place.head is None:
        raise ValueError(f"--head is {args.head[:50]!r}; expected a head such as enc.1.2, dec.3.4 or cross.1.7")
    lines = read_distinct_lines(args.data, args.limit)
    loaded, by = checkpoints.load(args.checkpoint, options.machine(args)), args.by or "largest"
    site, head = Site(edit.place.kind, edit.place.layer), edit.place.head
    if (site, head) not in heads_of(loaded):
        raise ValueError(
            f"{loaded.name} has no head {site.head_name(head)}; expected one of its {len(heads_of(loaded))} heads"
        )
    with options.progress(args, total=len(lines), unit="sentence") as bar:
        done = 0

        def advance(share: float) -> None:
            nonlocal done
            bar.update(round(share * len(lines)) - done)
            done = round(share * len(lines))

        measured = measure_heads(loaded, [line.source for line in lines], advance, name=args.data.name)
    values = effect_of_head(loaded, measured, site, head) if by == EFFECT else measured.of_head(site, head, by)
    rows = [
        {"line": lines[number - 1].number, "value": round(value, 6), "text": lines[number - 1].text}
        for number, value in measured.ranked(values, LISTED, least_first=by == EFFECT)
    ]
    left_out = [line.number for n, line in enumerate(lines, 1) if n not in measured.numbers]
    if args.json:
        counts = {"sentences": len(measured.numbers), "lines_left_out": left_out}
        print(json.dumps({"head": args.head, "by": by} | counts | {"strongest": rows}))
        return
    form = signed if by == EFFECT else three_digits
    print(f"{loaded.name}: {args.head} by {by} over {len(measured.numbers):,} sentences; line of the file, number, text")
    if left_out:
        numbers = ", ".join(map(str, left_out[:LISTED])) + (", ..." if len(left_out) > LISTED else "")
        count = "1 line" if len(left_out) == 1 else f"{len(left_out):,} lines"
        print(f"{count} over the text limit of {text_limit(loaded)} left out: {numbers}")
    print("\n".join(f"{row['line']:>6}  {form(row['value']):>7}  {row['text']}" for row in rows))
