"""Parallel corpora: reads tab-separated pairs and cuts them into batches of similar length."""

from __future__ import annotations

import gzip
import hashlib
import io
import random
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import torch
from torch import Tensor

from ...config import END, MAX_CHARACTERS, MAX_TOKENS, PAD
from ...io.files import DAMAGED, FileError, open_file
from ...text.tokenizer import Tokenizer

MAX_LINE = 1_000_000  # bytes
MAX_BYTES = 1 << 32  # of a file, unpacked
MAX_PAIRS = 10_000_000
STANDARD_INPUT = Path("-")
GZIP = b"\x1f\x8b"  # the first bytes of a .gz file
_inputs: dict[Any, bytes] = {}  # what standard input held, by its stream
MAX_BLANK = 1000  # empty lines at the end
PLAIN_TEXT = "save the file as plain text, with line ends as Unix or Windows have them."


class DataError(ValueError):
    """A data file that cannot be used. The message says which file, where, and what was expected."""


def read_pairs(
    path: Path,
    limit: int | None = None,
    with_targets: bool = True,
    names: tuple[str, str] = ("source", "target"),
    entry: str | None = None,
    keep_blank: bool = False,
) -> list[tuple[str, str]]:
    """Returns source and target of every line of a tab-separated file. Ignores further columns.

    Without targets a line may be a source only, and the targets are empty. Error messages call the columns `names`. Reads
    plain text, `.gz`, or the `.zip` that manythings.org/anki publishes, piece by piece. `entry` names a file of a zip.
    Raises DataError with the line number if a line is empty or lacks a tab or a text, and if the file is not UTF-8, not
    plain text, too large or unreadable. The path `-` is standard input. With `keep_blank`, an empty line before a pair is a
    pair of empty texts, so that the place in the list is the line of the file.
    """
    pairs: list[tuple[str, str]] = []
    form = " TAB ".join(names) if with_targets else "a sentence"
    blank = 0  # number of the first empty line in a row; allowed at the end of the file
    forms = ".tsv, .tsv.gz or .zip" if with_targets else ".txt, .tsv, .tsv.gz or .zip"
    for number, line in read_lines(path, forms, entry):
        if not line.strip():
            blank = blank or number
            if number - blank >= MAX_BLANK:
                raise DataError(f"{path}, line {blank}: more than {MAX_BLANK:,} empty lines follow; remove them.")
            continue
        if blank and keep_blank:
            pairs += [("", "")] * (number - blank)
            blank = 0
        elif blank:
            raise DataError(f"{path}, line {blank}: the line is empty; expected {form}. Remove the line.")
        fields = [f.strip() for f in line.split("\t")]
        if not with_targets:
            fields[1:] = [""]
        if len(fields) < 2:
            raise DataError(f"{path}, line {number}: no tab; expected {form} on every line.")
        if not fields[0] or (with_targets and not fields[1]):
            side = f"{names[0]} (column 1)" if not fields[0] else f"{names[1]} (column 2)"
            expected = "a sentence" if not with_targets else "a sentence on both sides" if names[0] == "source" else form
            raise DataError(f"{path}, line {number}: the {side} is empty; expected {expected}.")
        if len(pairs) == MAX_PAIRS:
            raise DataError(f"{path}, line {number}: more than {MAX_PAIRS:,} pairs; use a part of the file.")
        pairs.append((fields[0], fields[1]))
        if limit and len(pairs) >= limit:
            break
    if not pairs:
        raise DataError(f"{path}: no {'pair' if with_targets else 'sentence'}; expected at least one line of {form}.")
    return pairs


def read_lines(path: Path, forms: str, entry: str | None = None) -> Iterator[tuple[int, str]]:
    """Yields the lines of a text file with their numbers from 1: plain, `.gz`, the first text in a `.zip`, or an entry.

    Raises DataError, with the line number where possible, if the file is not UTF-8, not plain text, or unreadable. The
    message names the expected `forms`.
    """
    try:
        for number, raw in enumerate(_raw_lines(path, entry), 1):
            line = _decode(path, number, raw)
            if "\0" in line:
                raise DataError(f"{path}, line {number}: it contains a NUL byte; {PLAIN_TEXT}")
            if "\r" in line.rstrip("\r\n"):
                raise DataError(f"{path}, line {number}: a carriage return inside it, as in old Mac files; {PLAIN_TEXT}")
            yield number, line
    except DataError:
        raise
    except DAMAGED as fault:
        reason = " ".join(str(getattr(fault, "strerror", None) or fault or type(fault).__name__).split())[:200]
        raise DataError(f"{path}: {reason}; expected a readable {forms} file.") from None


def _decode(path: Path, number: int, raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as fault:
        raise DataError(
            f"{path}, line {number}: the byte 0x{fault.object[fault.start]:02x} is no UTF-8; save the file as UTF-8."
        ) from None


def _raw_lines(path: Path, entry: str | None) -> Iterator[bytes]:
    kind = path.suffix.lower()
    if path == STANDARD_INPUT:
        content = io.BytesIO(_standard_input())
        yield from _bounded_lines(path, gzip.GzipFile(fileobj=content) if content.getvalue()[:2] == GZIP else content)
    elif kind == ".zip" or entry is not None:
        with zipfile.ZipFile(path) as archive:
            texts = [entry] if entry is not None else [n for n in archive.namelist() if _is_text(n)]
            if not texts:
                raise DataError(f"{path}: no .txt or .tsv file in the archive; expected one with the pairs.")
            with io.BufferedReader(archive.open(texts[0]), 1 << 16) as raw:  # an archive's own `readline` is slow
                yield from _bounded_lines(path, raw)
    else:
        opener = gzip.open if kind == ".gz" else open
        with opener(path, "rb") as raw:
            yield from _bounded_lines(path, raw)


def _standard_input() -> bytes:
    """Returns the whole of standard input. It is read once, because a command hashes its data and reads them."""
    if sys.stdin not in _inputs:
        _inputs.clear()
        stream: Any = getattr(sys.stdin, "buffer", sys.stdin)
        _inputs[sys.stdin] = b"" if stream is None else stream.read(MAX_BYTES)
    return _inputs[sys.stdin]


def _is_text(name: str) -> bool:
    return name.endswith((".txt", ".tsv")) and not name.startswith("_")


def _bounded_lines(path: Path, raw: IO[bytes]) -> Iterator[bytes]:
    """Yields the lines up to a length and a total size, because a small archive may unpack to more than memory holds."""
    number = total = 0
    while line := raw.readline(MAX_LINE + 1):
        number, total = number + 1, total + len(line)
        if len(line) > MAX_LINE:
            raise DataError(f"{path}, line {number}: more than {MAX_LINE:,} bytes without a line end; {PLAIN_TEXT}")
        if total > MAX_BYTES:
            raise DataError(f"{path}, line {number}: more than {MAX_BYTES:,} bytes, unpacked; expected no more.")
        yield line


def file_hash(path: Path) -> str:
    """Returns the SHA-256 of the file, or of standard input, in hexadecimal digits.

    Raises DataError if it is unreadable or no regular file.
    """
    if path == STANDARD_INPUT:
        return hashlib.sha256(_standard_input()).hexdigest()
    try:
        with open_file(path, MAX_BYTES) as raw:
            digest = hashlib.sha256()
            while piece := raw.read(MAX_LINE):
                digest.update(piece)
            return digest.hexdigest()
    except FileError as fault:
        raise DataError(f"{fault}; expected a readable file.") from None
    except OSError as fault:
        raise DataError(f"{path}: {fault.strerror}; expected a readable file.") from None


def targets_by_source(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Returns all targets of each distinct source string, in the order of the file."""
    groups: dict[str, list[str]] = {}
    for source, target in pairs:
        groups.setdefault(source, []).append(target)
    return groups


def with_typeset_copies(pairs: Sequence[tuple[str, str]], share: int = 20) -> list[tuple[str, str]]:
    """Returns the pairs, and a copy with typographic apostrophes of one in `share` of those with an apostrophe.

    Phones type ’ where corpora have '. Without copies the model would hardly see it.
    """
    straight = [pair for pair in pairs if "'" in pair[0]]
    return [*pairs, *((source.replace("'", "’"), target) for source, target in straight[::share])]


@dataclass(frozen=True)
class Batch:
    """Padded ids of pairs: source [B,S] and decoder outputs [B,T], both with `</s>`. Windows of a text have no source."""

    source: Tensor | None
    outputs: Tensor

    def to(self, device: torch.device) -> Batch:
        return Batch(None if self.source is None else self.source.to(device), self.outputs.to(device))


@dataclass(frozen=True)
class Corpus:
    """Encoded pairs within the text limit. Each side ends in `</s>`."""

    sources: list[list[int]]
    targets: list[list[int]]
    too_long: int = 0  # pairs over the limit
    # Rows whose target is the first of their source; typeset copies count as their source.
    first_target_rows: list[int] = field(default_factory=list)
    pair_indices: list[int] = field(default_factory=list)  # index of each row in the encoded pairs

    @classmethod
    def encode(cls, pairs: Sequence[tuple[str, str]], source: Tokenizer, target: Tokenizer) -> Corpus:
        total = len(pairs)
        short = [i for i, pair in enumerate(pairs) if max(map(len, pair)) <= MAX_CHARACTERS]  # longer ones exceed the limit
        pairs = [pairs[i] for i in short]
        sources = source.encode_batch([s for s, _ in pairs])
        targets = target.encode_batch([t for _, t in pairs])
        both = [([*s, END], [*t, END]) for s, t in zip(sources, targets, strict=True)]
        fitting = [i for i, (s, t) in enumerate(both) if len(s) <= MAX_TOKENS and len(t) <= MAX_TOKENS]
        straight = [pairs[i][0].replace("’", "'") for i in fitting]
        firsts = {source: pairs[i][1] for source, i in reversed(list(zip(straight, fitting, strict=True)))}
        first = [row for row, i in enumerate(fitting) if pairs[i][1] == firsts[straight[row]]]
        return cls(
            [both[i][0] for i in fitting],
            [both[i][1] for i in fitting],
            total - len(fitting),
            first,
            [short[i] for i in fitting],
        )

    def with_rows(self, sources: list[list[int]], targets: list[list[int]]) -> Corpus:
        """Returns the corpus with more encoded pairs after its own. Each side ends in `</s>`."""
        return Corpus(self.sources + sources, self.targets + targets, self.too_long, self.first_target_rows)

    def __len__(self) -> int:
        return len(self.sources)

    def batches(self, tokens: int, seed: int, epoch: int, rows: Sequence[int] | None = None) -> list[list[int]]:
        """Returns the rows of each batch of an epoch: similar lengths, at most `tokens` padded tokens a side, shuffled.

        Uses all pairs, or those in `rows`. The order depends on seed and epoch only. Raises ValueError if a sentence is
        longer than `tokens`.
        """
        draw = random.Random(f"{seed}/{epoch}")
        noise = [draw.random() for _ in self.sources]
        order = sorted(
            range(len(self)) if rows is None else rows, key=lambda i: (len(self.targets[i]), len(self.sources[i]), noise[i])
        )
        batches: list[list[int]] = [[]]
        longest = 0
        for i in order:
            length = max(len(self.targets[i]), len(self.sources[i]))
            if length > tokens:
                raise ValueError(f"a batch holds {tokens} tokens, a sentence has {length}; give a larger batch_tokens")
            longest = max(longest, length)
            if longest * (len(batches[-1]) + 1) > tokens:
                batches.append([])
                longest = length
            batches[-1].append(i)
        draw.shuffle(batches)
        return batches

    def tokens(self, rows: Sequence[int]) -> int:
        """Returns the number of tokens that are predicted in some rows."""
        return sum(len(self.targets[i]) for i in rows)

    def batch(self, indices: Sequence[int]) -> Batch:
        targets = [self.targets[i] for i in indices]
        return Batch(pad([self.sources[i] for i in indices]), pad(targets))


def count_tokens(rows: list[list[int]], size: int) -> tuple[int, ...]:
    """Returns the count of each of `size` tokens."""
    counts = Counter(token for row in rows for token in row)
    return tuple(counts[token] for token in range(size))


def pad(rows: Sequence[Sequence[int]]) -> Tensor:
    """Returns rows of ids, padded with `<pad>` to one length: [B,S]."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows], dtype=torch.long)
