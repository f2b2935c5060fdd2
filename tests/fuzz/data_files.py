"""Files of pairs and of probes with anything in them, packed in any way: they are read, or one sentence names the file."""

from __future__ import annotations

import functools
import gzip
import io
import random
import tempfile
import zipfile
from pathlib import Path

from model.config import MAX_TOKENS
from model.text.corpus import Corpus, DataError, file_hash, read_pairs
from model.text.probes import read_probe_texts, read_probes
from model.text.tokenizer import Tokenizer
from model.text.windows import Texts, read_paragraphs
from tests.fuzz import damage
from tests.fuzz.core import fuzzer
from tests.fuzz.texts import text
from tests.support import tiny

ENDS = ("\n", "\n", "\n", "\r\n", "\r", "\n\n", "\x0b", "\u2028", "\0")
MARKS = ("\ufeff", "\t", "\t\t", "\0", "\x1a", "#", "|", "\ud800", "")
ENCODINGS = ("utf-8", "utf-8", "utf-8", "utf-8", "utf-16", "latin-1", "utf-8-sig")
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
NAMES = ("pairs.txt", "_about.txt", "a/b.tsv", "\ufffd.txt", "é.txt", "../x.txt", "no")
ROOM = 4 << 20  # bytes that a bomb unpacks to: within the memory, and far over what is packed


@functools.cache
def tokenizer() -> Tokenizer:
    """A vocabulary of the made-up language."""
    return Tokenizer.train(tiny.SENTENCES, 300)


def content(draw: random.Random) -> bytes:
    """Lines of pairs, most of them right, or a great deal of one thing."""
    if draw.random() < 0.05:
        one = draw.choice((b"a\tb\n", b"\n", b"q", b"\0", b"a\tb", b"\xff", "’".encode()))
        return one * (ROOM // len(one) // draw.choice((1, 100)))
    lines = []
    for source, target in draw.sample(tiny.PAIRS, draw.randint(0, 9)):
        source = text(draw) if draw.random() < 0.1 else source
        lines.append(f"{source}\t{target}" + draw.choice(MARKS) if draw.random() < 0.2 else f"{source}\t{target}")
        lines[-1] += draw.choice(ENDS) if draw.random() < 0.2 else "\n"
    errors = draw.choice(("replace", "surrogatepass" if draw.random() < 0.5 else "ignore"))
    return "".join(lines).encode(draw.choice(ENCODINGS[:4]) if errors == "surrogatepass" else draw.choice(ENCODINGS), errors)


def packed(draw: random.Random, raw: bytes, kind: str) -> bytes:
    """The content, packed as the kind of file says, or by mistake otherwise."""
    if draw.random() < 0.1:
        kind = draw.choice(("tsv", "tsv.gz", "zip"))
    if kind.endswith("gz"):
        return gzip.compress(raw, 1) * draw.choice((1, 1, 2))
    if kind == "zip":
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", draw.choice(PACKINGS)) as archive:
            for name in draw.sample(NAMES, draw.randint(0, 3)):
                archive.writestr(name, raw)
        return made.getvalue()
    return raw


def paragraphs(path: Path) -> None:
    """The same lines as a text, cut into windows."""
    found = Texts.encode([read_paragraphs(path)[:1000]], tokenizer())
    windows = found.windows([7]).targets
    assert sum(map(len, windows)) == found.tokens
    assert all(1 <= len(row) <= MAX_TOKENS for row in windows)


@fuzzer("pairs", few=60)
def pairs(draw: random.Random) -> str | None:
    """Read, and made into a corpus."""
    kind = draw.choice(("tsv", "tsv", "tsv.gz", "zip", "ZIP", "txt"))
    made = packed(draw, content(draw), kind.lower())
    if draw.random() < 0.4:
        made = damage.damaged_bytes(draw, made)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / f"pairs.{kind}"
        path.write_bytes(made)
        if draw.random() < 0.05:
            damage.put_something_else(draw, path)
            if path.is_fifo() or path.is_symlink():
                return "left out"  # what nobody writes to is waited for: data may come from another process
        for read in (file_hash, read_probes, read_probe_texts, paragraphs):
            try:
                read(path)
            except DataError as fault:
                damage.is_sentence(str(fault), path)
        try:
            found = read_pairs(path, draw.choice((None, None, 5)))
        except DataError as fault:
            damage.is_sentence(str(fault), path)
            return "refused"
    corpus = Corpus.encode(found[:1000], tokenizer(), tokenizer())
    assert len(corpus) + corpus.dropped == len(found[:1000])
    assert all(1 < len(row) <= MAX_TOKENS for row in (*corpus.sources, *corpus.targets))
    return None
