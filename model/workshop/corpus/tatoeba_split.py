"""The splits of the shipped translation models, made again from the file of the publisher.

manythings.org/anki published `fra-eng.zip` of 2019-04-07: lines of English TAB French, selected from Tatoeba. The English
sentences form groups: case, punctuation and other signs do not count. Each group belongs to one split, so no English
sentence of dev or test is also in train. `tatoeba_split.npz` lists the groups of each split as the first five bytes of their
SHA-256, without any sentence. Groups in no list are dropped: they are reserved for measurements.

The lists have 114,690 groups and no prefix twice. A group in no list matches one by chance with a probability of
114,690 / 2^40, about 1 in 10 million.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from ...io.archive import check_compression, open_zip
from ...io.files import MEGABYTE, FileError, check_new, open_file, write_new
from .corpus import DataError, read_pairs

SPLITS = ("train", "dev", "test")
LISTS = Path(__file__).with_name("tatoeba_split.npz")
PUBLISHED = "the publisher's file of 2019-04-07"
TEXT = "fra.txt"
PREFIX_BYTES = 5  # of the SHA-256 of a group
MIN_SHARE = 0.99  # of the groups in the lists that must occur; a later file of the publisher has other sentences
MAX_ZIP, MAX_TEXT = 64 * MEGABYTE, 256 * MEGABYTE  # bytes; the file of 2019-04-07 has about 6 and 12 MB
ADVICE = f"Download fra-eng.zip, {PUBLISHED} of https://www.manythings.org/anki/"
_SIGNS = re.compile(r"[^\w\s]")
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class SplitLists:
    """The groups of each split, and the content that each file must have.

    groups: sorted prefixes [G] by split, as uint64; digests: SHA-256 of the rows of each split, in hex (see `rows_bytes`).
    """

    groups: Mapping[str, np.ndarray]
    digests: Mapping[str, str]

    @classmethod
    def of(cls, splits: Mapping[str, Pairs]) -> SplitLists:
        """Returns the lists of known splits. Raises ValueError where two splits share a prefix."""
        prefixes = {name: {group_prefix(source) for source, _ in rows} for name, rows in splits.items()}
        if (shared := sum(map(len, prefixes.values())) - len(set().union(*prefixes.values()))) > 0:
            raise ValueError(f"{shared:,} groups are in two splits; expected each group in one")
        groups = {name: np.array(sorted(own), dtype=np.uint64) for name, own in prefixes.items()}
        return cls(groups, {name: hashlib.sha256(rows_bytes(rows)).hexdigest() for name, rows in splits.items()})

    @classmethod
    def load(cls, path: Path = LISTS) -> SplitLists:
        """Reads the lists of `save`."""
        with np.load(path) as arrays:
            groups = {name: arrays[name].cumsum(dtype=np.uint64) for name in SPLITS}
            return cls(groups, {name: arrays[f"{name}_sha256"].tobytes().hex() for name in SPLITS})

    def save(self, path: Path = LISTS) -> None:
        """Writes the differences of the sorted prefixes, which compress well, and the digests."""
        arrays = {name: np.diff(groups, prepend=np.uint64(0)) for name, groups in self.groups.items()}
        for name, digest in self.digests.items():
            arrays[f"{name}_sha256"] = np.frombuffer(bytes.fromhex(digest), dtype=np.uint8)
        np.savez_compressed(path, **arrays)

    def split(self, pairs: Pairs) -> dict[str, list[tuple[str, str]]]:
        """Returns the rows of each split: normalised, each once, sorted by English and then by French.

        Raises DataError where fewer than `MIN_SHARE` of the groups occur.
        """
        owner = {int(prefix): name for name, groups in self.groups.items() for prefix in groups}
        chosen: dict[str, set[tuple[str, str]]] = {name: set() for name in self.groups}
        known: set[int] = set()
        for source, target in pairs:
            prefix = group_prefix(source)
            if name := owner.get(prefix):
                known.add(prefix)
                chosen[name].add((normalize_spaces(source), normalize_spaces(target)))
        if len(known) < MIN_SHARE * len(owner):
            raise DataError(f"not {PUBLISHED}: it has {len(known):,} of {len(owner):,} known groups of sentences. {ADVICE}.")
        return {name: sorted(rows) for name, rows in chosen.items()}

    def has_content(self, name: str, rows: Pairs) -> bool:
        """Returns True where the rows of a split are those that the shipped models were trained and scored on."""
        return hashlib.sha256(rows_bytes(rows)).hexdigest() == self.digests[name]


def normalize_spaces(text: str) -> str:
    """Returns a text in NFC with one plain space for every run of spaces of any kind."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def group_of(english: str) -> str:
    """Returns the group of a sentence: its words without case, punctuation and other signs."""
    return normalize_spaces(_SIGNS.sub("", normalize_spaces(english).casefold()))


def group_prefix(english: str) -> int:
    """Returns the first `PREFIX_BYTES` bytes of the SHA-256 of a sentence's group, as a number."""
    return int.from_bytes(hashlib.sha256(group_of(english).encode()).digest()[:PREFIX_BYTES], "big")


def rows_bytes(rows: Iterable[tuple[str, str]]) -> bytes:
    """Returns rows as lines of source TAB target in UTF-8."""
    return "".join(f"{source}\t{target}\n" for source, target in rows).encode()


def pack(name: str, rows: Pairs) -> bytes:
    """Returns rows as a `.tsv.gz` without a time. The bytes depend on the rows, on `name` and on zlib only."""
    raw = io.BytesIO()
    with gzip.GzipFile(f"{name}.tsv", "wb", 9, raw, 0) as packed:
        packed.write(rows_bytes(rows))
    return raw.getvalue()


def read_publisher_zip(path: Path) -> list[tuple[str, str]]:
    """Returns the pairs of `fra.txt` in the publisher's zip.

    Raises FileError for another file, DataError for a damaged text, FileNotFoundError.
    """
    with open_file(path, MAX_ZIP) as raw:
        try:
            with open_zip(raw, ADVICE) as packed:
                entries = [each for each in packed.infolist() if PurePosixPath(each.filename).name == TEXT]
                if len(entries) != 1:
                    raise FileError(f"has {'no' if not entries else len(entries)} {TEXT}. {ADVICE}")
                check_compression(entries[0])
                if (size := entries[0].file_size) > MAX_TEXT:
                    raise FileError(f"has a {TEXT} of {size:,} bytes; expected at most {MAX_TEXT:,}. {ADVICE}")
        except FileError as fault:
            raise FileError(f"{path} {fault}.") from None
    return read_pairs(path, entry=entries[0].filename)


def split_zip(path: Path, folder: Path, lists: SplitLists) -> dict[str, tuple[Path, int, bool]]:
    """Writes the files `train.tsv.gz`, `dev.tsv.gz` and `test.tsv.gz` into a folder, which is created where it is missing.

    Returns file, number of rows, and `has_content` by split. Leaves no file after an error: FileError as
    `read_publisher_zip`, for an existing file and a full disk; DataError where the zip is not the publisher's.
    """
    files = {name: folder / f"{name}.tsv.gz" for name in lists.groups}
    for file in files.values():
        check_new(file if folder.exists() else folder)
    try:
        splits = lists.split(read_publisher_zip(path))
    except DataError as fault:
        raise DataError(str(fault) if str(path) in str(fault) else f"{path} is {fault}") from None
    contents = {name: pack(name, rows) for name, rows in splits.items()}
    folder.mkdir(exist_ok=True)
    written: list[Path] = []
    try:
        for name, file in files.items():
            write_new(file, contents[name])
            written.append(file)
    except BaseException:
        for file in written:
            file.unlink()
        raise
    return {name: (file, len(splits[name]), lists.has_content(name, splits[name])) for name, file in files.items()}


def write_lists(folder: Path, path: Path = LISTS) -> None:
    """Writes the lists of known splits, from the files `train.tsv.gz`, `dev.tsv.gz` and `test.tsv.gz` of a folder."""
    SplitLists.of({name: read_pairs(folder / f"{name}.tsv.gz") for name in SPLITS}).save(path)
