"""king − man + woman: what the rows of an embedding table give for a sum of words (Mikolov, Yih and Zweig 2013, "Linguistic
Regularities in Continuous Space Word Representations")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from model.checkpoint import Checkpoint
from model.config import CONTROL_TOKENS
from model.readings.neighbours import RARE, Side, vectors
from model.text.languages import ENGLISH

FAMOUS = ENGLISH.analogy


@dataclass(frozen=True)
class Analogy:
    """a − b + c, and the fourth word, which it should give. `pieces`: the tokens of each word, inside a sentence; `seen`:
    how often training had each word, where that is known. The rest is empty unless the first three are one token each."""

    words: tuple[str, str, str, str]
    pieces: tuple[tuple[str, ...], ...]
    seen: tuple[int, ...] | None
    nearest: tuple[tuple[str, float], ...] = ()  # labels and cosines, the three and hardly trained tokens left out
    itself: str = ""  # the nearest of all: often one of the three
    rank: int | None = None  # of the fourth word, from 1, where it is one token; the three left out
    of: int = 0  # how many tokens are ranked
    rare: int = 0  # how many tokens are not ranked because training had them fewer than RARE times in `language`
    language: str = ""

    @property
    def holds(self) -> bool:
        return self.rank == 1


@torch.inference_mode()
def analogy(checkpoint: Checkpoint, words: tuple[str, str, str, str] = FAMOUS, count: int = 5) -> Analogy:
    """The sum of the rows of a source table, or of the only one, each of length 1, and what lies nearest to it."""
    side: Side = "source" if "encoder" in checkpoint.config.kinds else "target"
    tokenizer, seen = checkpoint.source_tokenizer, checkpoint.seen
    ids = [tuple(tokenizer.encode(f" {word}")) for word in words]
    known = None if seen is None else tuple(seen.words.get(word, 0) for word in words)
    pieces = tuple(tuple(tokenizer.piece(token) for token in own) for own in ids)
    if any(len(own) > 1 for own in ids[:3]):
        return Analogy(words, pieces, known)
    (a,), (b,), (c,) = ids[:3]
    rows = vectors(checkpoint, side)
    total = torch.nn.functional.normalize(rows[a] - rows[b] + rows[c], dim=0)
    alike = (rows @ total).cpu().numpy()
    allowed = np.arange(len(alike)) >= len(CONTROL_TOKENS)
    total_tokens = int(allowed.sum())
    if checkpoint.counts:
        allowed &= np.asarray(checkpoint.counts[side]) >= RARE
    fourth = ids[3][0] if len(ids[3]) == 1 else None
    allowed[[a, b, c] if fourth is None else [a, b, c, fourth]] = True
    rare = total_tokens - int(allowed.sum())
    itself = int(np.where(allowed, alike, -2).argmax())
    allowed[[a, b, c]] = False
    order = [int(i) for i in np.argsort(-alike, kind="stable") if allowed[i]]
    nearest = tuple((tokenizer.piece(i), float(alike[i])) for i in order[:count])
    rank = None if fourth is None else order.index(fourth) + 1
    language = checkpoint.languages[side == "target"]
    return Analogy(words, pieces, known, nearest, tokenizer.piece(itself), rank, len(order), rare, language)
