"""Table of every head over a corpus: effect of switching it off, metrics of its pattern, strongest sentences.

A side file stores each sentence at once, so a stopped run can continue.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ...checkpoint import Checkpoint
from ...edits.intervention import BASELINE
from ...experiments.effects import tokens_of
from ...experiments.head_survey import HeadSurvey, pattern_sums
from ...experiments.sweep import every_head, heads_of, intervals, sentence_effects, strongest
from ...inference.passes import teacher_force
from ...inference.request import Request
from ...inference.scores import scored_name
from ...inference.source_reading import source_ids
from ...io.files import short_repr
from ...readings.heads.head_roles import MEASURES, MIN_ROWS, PEAKS, ROLES
from ...text.head_statistics import CorpusSummary, HeadsOverCorpus
from ...text.measurements import AlignmentRates
from ...text.route_heads import CARRIES, ROLE
from .. import sharding
from ..corpus.corpus import read_pairs
from .constant_heads import content_change, is_constant

SCHEMA = 4
MAX_HEADER = 1 << 20  # bytes
CONTENT = "content_change"  # column of the measure of two passes
MEASURED = (*MEASURES, CONTENT)  # columns, in the order of the side file
STRONGEST = 5  # sentences per head
NO_EFFECT = 0.01  # nats a sentence: a head is dead if the interval of its change lies within this bound


@dataclass(frozen=True)
class CorpusLine:
    """Sentence of the corpus, the number of its first line, and its target there."""

    number: int
    source: str
    target: str

    @property
    def text(self) -> str:
        """The sentence: the source, or the text that a language model is scored on."""
        return self.source or self.target


def distinct_lines(pairs: Sequence[tuple[str, str]], limit: int | None = None) -> list[CorpusLine]:
    """Returns the first line of each distinct source that is not empty, at most `limit`."""
    lines: dict[str, CorpusLine] = {}
    for number, (source, target) in enumerate(pairs, 1):
        if source:
            lines.setdefault(source, CorpusLine(number, source, target))
    return list(lines.values())[:limit]


def read_distinct_lines(path: Path, limit: int | None, with_targets: bool = False) -> list[CorpusLine]:
    """Returns the first line of each distinct source of a file, see `read_pairs`. Empty lines are skipped, but counted."""
    return distinct_lines(read_pairs(path, with_targets=with_targets, keep_blank=True), limit)


def as_given_texts(lines: Sequence[CorpusLine]) -> list[CorpusLine]:
    """Returns lines whose text is a target without a source: what a language model is scored on."""
    return [CorpusLine(line.number, "", line.source) for line in lines]


def header_of(lab: Checkpoint) -> dict[str, Any]:
    """Returns the header of a side file. A side file with other heads or metrics cannot be continued."""
    heads = [[*site, head] for site, head in heads_of(lab)]
    return {"schema": SCHEMA, "heads": heads, "metrics": list(MEASURED)}


def _width(heads: int, metrics: int) -> int:
    return 1 + 2 * heads + 2 * metrics * heads


def measure_line(lab: Checkpoint, line: CorpusLine, is_reference: bool) -> np.ndarray:
    """Returns the numbers of one sentence, [1+2E+2ME].

    The number of tokens (0 over the text limit, where nothing else counts); for each head the change, and whether the
    translation changes; for each metric and head the sum over rows and the number of rows.
    """
    score = None if line.source else "all"
    effects = sentence_effects(lab, (line.source, line.target) if is_reference else line.source, every_head(lab), score)
    if effects is None:
        return np.zeros(_width(len(heads_of(lab)), len(MEASURED)))
    source, target = line_tokens(lab, line, is_reference)
    (trace,) = teacher_force(lab, source, target, [BASELINE])
    parts = zip(pattern_sums(trace, lab), content_change(lab, source, target, trace), strict=True)
    return np.concatenate(([effects.tokens], effects.change, effects.changed, *(np.vstack(each).ravel() for each in parts)))


def line_tokens(lab: Checkpoint, line: CorpusLine, is_reference: bool) -> tuple[Sequence[int] | None, Sequence[int] | None]:
    """Returns the ids that the model reads for a sentence: source and target, None for a side that it lacks."""
    return tokens_of(lab, Request(source=line.source, target=line.target if is_reference else None))


class SideFile:
    """Side file of a run: a line of JSON as header, then a row of float64 per sentence, in the order of the sentences.

    Of several processes only the first one has a file and rows, so another number of processes can continue.
    """

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        """Opens or creates the file, and drops a truncated row. Raises ValueError for another header."""
        self.path, first = path, json.dumps(header, sort_keys=True).encode() + b"\n"
        width = _width(len(header["heads"]), len(header["metrics"]))
        self.rows: list[np.ndarray] = []
        self._file: BinaryIO = io.BytesIO()
        if not sharding.is_first():
            return
        try:
            self._file = open(path, "r+b" if path.exists() else "w+b")  # noqa: SIM115
        except OSError as fault:
            raise ValueError(f"{short_repr(str(path))} cannot be written: {fault.strerror}") from None
        try:
            self._begin(first, width)
        except BaseException:
            self._file.close()
            raise

    def _begin(self, first: bytes, width: int) -> None:
        there = self._file.readline(MAX_HEADER)
        if there and there != first:
            raise ValueError(
                f"{self.path} is from a run over {_difference(there, first)}; continue that run, or remove the file"
            )
        if not there:
            self._file.write(first)
        while len(raw := self._file.read(8 * width)) == 8 * width:
            self.rows.append(np.frombuffer(raw))
        self._file.seek(len(first) + 8 * width * len(self.rows))
        self._file.truncate()
        self._file.flush()

    def add(self, row: np.ndarray) -> None:
        self._file.write(row.astype(np.float64).tobytes())
        self._file.flush()
        self.rows.append(row)

    def __enter__(self) -> SideFile:
        return self

    def __exit__(self, *fault: object) -> None:
        self._file.close()


def _difference(there: bytes, expected: bytes) -> str:
    """Describes the other content of a side file."""
    try:
        stored, wanted = json.loads(there), json.loads(expected)
        what = {"data": "another corpus", "checkpoint": "another checkpoint", "of": "other targets"}
        return next(words for key, words in what.items() if stored[key] != wanted[key])
    except (ValueError, KeyError, TypeError, StopIteration):
        return "something else"


def measure_lines(
    lab: Checkpoint,
    lines: Sequence[CorpusLine],
    is_reference: bool,
    side: SideFile,
    progress: Callable[[int], None] = lambda done: None,
) -> np.ndarray:
    """Returns the numbers of all sentences [N,...]: those of the side file, then new ones, which are added to it.

    Returns no rows in a process that has no file.
    """
    done = sharding.from_first(len(side.rows))
    for row in sharding.ordered_map(lambda line: measure_line(lab, line, is_reference), lines[done:]):
        if sharding.is_first():
            side.add(row)
        progress(1)
    return np.array(side.rows[: len(lines)])


def table(
    lab: Checkpoint,
    lines: Sequence[CorpusLine],
    rows: np.ndarray,
    aligned: AlignmentRates | None = None,
    with_texts: bool = False,
    hashes: dict[str, str] | None = None,
) -> tuple[list[str], list[list[str | int | float | None]]]:
    """Returns column names, and a row of cells for each head; None where a number does not exist.

    Each mean has its 95% interval over at least two sentences, and each metric the number of its sentences. `hashes` are
    those of the checkpoint and the data, repeated in each row. Raises ValueError where no sentence is within the text limit.
    """
    heads, metrics = heads_of(lab), len(MEASURED)
    within = rows[:, 0] > 0
    if not within.any():
        raise ValueError("no sentence is within the text limit; expected at least one")
    scored, numbers = rows[within], np.array([line.number for line in lines])[within]
    parts = np.split(scored[:, 1:], np.cumsum([len(heads), len(heads), metrics * len(heads)]), axis=1)
    change, changed, sums, counts = parts
    columns: dict[str, list[Any]] = {"site": [], "layer": [], "head": []}
    for site, head in heads:
        for name, value in zip(columns, (site.kind, site.layer + 1, head + 1), strict=True):
            columns[name].append(value)
    columns |= {"sentences": [len(scored)] * len(heads), "tokens": [int(scored[:, 0].sum())] * len(heads)}
    texts = {line.number: line.text for line in lines}
    columns["scored_tokens"] = [scored_tokens(lab, lines, rows)] * len(heads)
    columns |= _with_interval("change_nats", intervals(change))
    columns["change_nats_per_token"] = list(change.sum(0) / scored[:, 0].sum())
    columns |= _with_interval("translations_changed", intervals(changed))
    measured_rows = {}
    for n, name in enumerate(MEASURED):
        mine = slice(n * len(heads), (n + 1) * len(heads))
        columns |= _with_interval(name, intervals(sums[:, mine], counts[:, mine]))
        columns[f"{name}_sentences"] = (counts[:, mine] > 0).sum(0).tolist()
        measured_rows[name] = counts[:, mine].sum(0)
    if aligned is not None:
        columns |= _rates(lab, aligned)
    columns |= _answers(lab, columns) | _roles(lab, columns, measured_rows)
    strongest_lines = [strongest(column, numbers, STRONGEST) for column in change.T]
    columns["strongest_lines"] = [" ".join(map(str, each)) for each in strongest_lines]
    if with_texts:
        columns["strongest_texts"] = [" | ".join(texts[number] for number in each) for each in strongest_lines]
    columns |= {f"{name}_sha256": [value] * len(heads) for name, value in (hashes or {}).items()}
    return list(columns), [[_cell(value) for value in row] for row in zip(*columns.values(), strict=True)]


def _answers(lab: Checkpoint, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Returns for each head its rank by effect, if it is dead or constant, and the sink that it rests on."""
    size = [-abs(change) for change in columns["change_nats"]]
    ends = zip(columns["change_nats_low"], columns["change_nats_high"], columns["translations_changed"], strict=True)
    dead = [None if np.isnan(low) else max(-low, high) < NO_EFFECT and changed == 0 for low, high, changed in ends]
    sinks = [_sink(start, end) for start, end in zip(columns["start"], columns["end"], strict=True)]
    return {
        "rank": (1 + np.argsort(np.argsort(size, kind="stable"))).tolist(),
        "dead": [None if each is None else int(each) for each in dead],
        "constant": [is_constant(high) for high in columns[f"{CONTENT}_high"]],
        "sink": [name for name, _ in sinks],
        "sink_share": [share for _, share in sinks],
    }


def _roles(lab: Checkpoint, columns: dict[str, list[Any]], rows: dict[str, np.ndarray]) -> dict[str, list[Any]]:
    """Returns for each head its role, the share behind it with its interval, and the number of sentences.

    The role is that of `report routes`, or a positional one: a share of rows whose largest weight is on that position.
    """
    measured = () if lab.route_heads is None else lab.route_heads.heads
    known = {(each.site, each.layer, each.head): each for each in measured if each.share >= CARRIES}
    roles: list[tuple[Any, ...]] = []
    for n, (site, head) in enumerate(heads_of(lab)):
        role: tuple[Any, ...] = (None,) * 5
        if carried := known.get((site.kind, site.layer, head)):
            role = (ROLE, carried.share, carried.low, carried.high, lab.route_heads.sentences)
        else:
            for name, (column, _) in PEAKS.items():
                if rows[column][n] >= MIN_ROWS and columns[column][n] >= ROLES[name].bar:
                    numbers = (columns[f"{column}{ending}"][n] for ending in ("", "_low", "_high", "_sentences"))
                    role = (name, *numbers)
        roles.append(role)
    names = ("role", "role_share", "role_low", "role_high", "role_sentences")
    return {name: list(values) for name, values in zip(names, zip(*roles, strict=True), strict=True)}


def _sink(start: float, end: float) -> tuple[str | None, float | None]:
    """Returns `<s>` or `</s>` and the share of the weight on it, where it is a sink (`head_roles.ROLES`)."""
    share, name = max((share, name) for share, name in ((np.nan_to_num(start), "<s>"), (np.nan_to_num(end), "</s>")))
    is_sink = share >= ROLES[f"attention sink on {name}"].bar
    return (name, float(share)) if is_sink else (None, None)


def scored_tokens(lab: Checkpoint, lines: Sequence[CorpusLine], rows: np.ndarray) -> str:
    """Names the tokens that the change sums over. Both names where some texts have blanks and some have none."""
    within = [line for line, row in zip(lines, rows, strict=True) if row[0] > 0]
    if lab.config.kinds != ("encoder",):
        return scored_name(lab, None, bool(within and within[0].source))
    return " and ".join(sorted({scored_name(lab, source_ids(lab, line.text)) for line in within}))


def heads_over_corpus(
    lab: Checkpoint,
    lines: Sequence[CorpusLine],
    rows: np.ndarray,
    is_reference: bool,
    names: dict[str, str],
    progress: Callable[[int], None] = lambda done: None,
) -> HeadsOverCorpus:
    """Returns what a checkpoint stores: the `rows` of all sentences, and one more pass for each.

    `names` are the hashes and the name of the corpus, see `CorpusSummary`. Raises ValueError where no sentence is within
    the text limit.
    """
    survey, within = HeadSurvey(lab), rows[:, 0] > 0
    if not within.any():
        raise ValueError("no sentence is within the text limit; expected at least one")
    for line, is_within in zip(lines, within, strict=True):
        if is_within:
            (trace,) = teacher_force(lab, *line_tokens(lab, line, is_reference), [BASELINE])
            survey.add(trace)
        progress(1)
    heads, scored = len(survey.heads), rows[within]
    change, changed, sums, counts = np.split(scored[:, 1:], np.cumsum([heads, heads, len(MEASURED) * heads]), axis=1)
    sums, counts = (each.reshape(-1, len(MEASURED), heads)[:, : len(MEASURES)] for each in (sums, counts))
    left_out, tokens = len(lines) - len(scored), int(scored[:, 0].sum())
    summary = CorpusSummary(**names, scored_tokens=scored_tokens(lab, lines, rows), sentences=len(scored))
    return survey.statistics(sums, counts, summary._replace(left_out=left_out, tokens=tokens), (change, changed))


def _with_interval(name: str, interval: np.ndarray) -> dict[str, list[Any]]:
    return {name + ending: list(row) for ending, row in zip(("", "_low", "_high"), interval, strict=True)}


def _rates(lab: Checkpoint, aligned: AlignmentRates) -> dict[str, list[Any]]:
    """Returns the alignment error rate of each cross-attention head, and the row of its links."""
    columns: dict[str, list[Any]] = {name: [] for name in ("aer", "aer_low", "aer_high", "aer_row")}
    for site, head in heads_of(lab):
        row, rate = aligned.best_row(site.layer, head) if site.kind == "cross" else (None, None)
        values: tuple[float | None, ...] = (None, None, None)
        if rate is not None:
            values = (rate.error, rate.low, rate.high) if aligned.sentences > 1 else (rate.error, None, None)
        for name, value in zip(columns, (*values, row), strict=True):
            columns[name].append(value)
    return columns


def _cell(value: Any) -> str | int | float | None:
    """Rounds a number to its significant digits."""
    if isinstance(value, float):
        return None if np.isnan(value) else float(f"{value:.6g}")
    return value
