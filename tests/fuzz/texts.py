"""Any text at all: it is translated, or one sentence says why not."""

from __future__ import annotations

import functools
import random
import unicodedata

from model.checkpoint import Checkpoint
from model.decoding.strategy import Decoding, RequestError
from model.inference.analyse import analyse
from model.inference.request import Request
from model.text.sentences import split
from model.text.tokenizer import Tokenizer
from tests.fuzz.core import fuzzer
from tests.support import tiny

PARTS = ("The red fox sees a lamp.", "</s>", "<pad>", "<s>", "’", "“", "\0", "\r", "\n", "\t", " ", "é", "e\u0301")
PARTS += ("\ufeff", "\u202e", "\U0001f600", "\U0001f468\u200d\U0001f469", "\ud800", "\udfff", "ﷺ")
PARTS += ("Dr. Mr. St.", "...", "?!", "Ġ", "<b>")


@functools.cache
def tiny_checkpoint() -> Checkpoint:
    """An untrained checkpoint over a vocabulary of the made-up language."""
    return tiny.checkpoint(Tokenizer.train(tiny.SENTENCES, 320))


def text(draw: random.Random) -> str:
    """Words, signs, any characters of Unicode, alone or many times over, up to some hundred thousand characters."""
    made = []
    for _ in range(draw.randint(1, 4)):
        one = draw.choice((draw.choice(PARTS), chr(draw.randrange(0x110000)), draw.choice(tiny.SENTENCES)))
        made.append(one * draw.choice((1, 1, 1, 2, 30, 128, 3000, 250_000 if draw.random() < 0.1 else 1)))
    return draw.choice(("", " ", ". ")).join(made)


@fuzzer("texts", few=60)
def texts(draw: random.Random) -> str | None:
    """Split, tokenised and translated; what comes back of a text is the text."""
    checkpoint, typed = tiny_checkpoint(), text(draw)
    parts = split(typed, draw.choice(("en", "fr", "de", "xx", "")))
    assert all(part.strip() == part and part for part in parts)
    decoding = draw.choice((Decoding(limit=6), Decoding("beam", 6, 3), Decoding("sample", 6, seed=draw.randrange(99))))
    try:
        found = analyse(checkpoint, Request(typed, "tiny", decoding=decoding))
    except RequestError as refusal:
        assert 10 < len(str(refusal)) < 300 and "\n" not in str(refusal)
        return "refused"
    tokenizer = checkpoint.source_tokenizer
    ids = tokenizer.encode(typed)
    assert min(ids) > 2, "a typed text became a control token"
    assert tokenizer.decode(ids) == unicodedata.normalize("NFC", typed)
    assert found.trace.source.ids[:-1] == tuple(tokenizer.encode(typed.strip()))
    return None
