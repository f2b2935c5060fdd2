"""Which tokens lie near one another in an embedding table, by the cosine of their vectors.

In a joint vocabulary a token has no language of its own: it is told by how often each side of the training data has it.

king − man + woman: what the rows of an embedding table give for a sum of words (Mikolov, Yih and Zweig 2013, "Linguistic
Regularities in Continuous Space Word Representations")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
import torch

from model.checkpoint import Checkpoint
from model.config import CONTROL_TOKENS
from model.text.languages import ENGLISH
from model.text.tokenizer import Tokenizer

Side = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")
RARE = 20  # a token seen less often in training has not been placed by its use
SHARE = 0.25  # of a token's occurrences: with fewer on a side, it does not count as a token of that language
SURVEYED = 500
BAND = 100  # tokens to each side that were seen about as often: rare tokens lie nearer to one another than frequent ones
FEWEST = 50  # tokens of which it can be told what chance would do
CHANCE = 0.05  # that the likest token of a table without any order would be told as standing out
WITHOUT_SPACE = "##"  # before the label of a token that has no space in front, where the label alone would name another


@dataclass(frozen=True)
class Neighbour:
    """A token near another one."""

    id: int
    cosine: float  # -1 to 1
    count: int | None  # how often the training data has it on this side; None where that is not known
    shared: bool  # True for a token of both languages
    stands_out: bool | None = None  # more alike than chance makes the likest of all; None where that cannot be told


@dataclass(frozen=True)
class Survey:
    """Of the most frequent tokens of one language alone, how many have a nearest token of the same language alone, and how
    many have one of both languages."""

    tokens: int
    same: int
    both: int


def pieces_of(tokenizer: Tokenizer, word: str, sentence: Sequence[int], counts: Sequence[int] | None) -> tuple[int, ...]:
    """The tokens of a typed word. `·chat`, a label with its mark of a space, names one token, `##chat` the one without a
    space, and so does the label of a token of the sentence; else the word is read as inside a sentence or as at its start,
    whichever has fewer pieces; of as many, in small letters as inside, for without a space it would be the end of another
    word, else as the training saw it more often. Typed text never becomes a control token.

    Raises ValueError where nothing is left of the word, and for what is no character.
    """
    text = word.strip()
    if not text:
        raise ValueError("The word is empty: type one, or pick a token of the sentence.")
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError("The word has something in it that is no character; expected valid Unicode.")
    first = len(CONTROL_TOKENS)
    for token in sentence:
        if token >= first and tokenizer.piece(token) == text:
            return (token,)
    label = text.removeprefix(WITHOUT_SPACE)
    if label and (label != text or text.startswith(("·", "⟨"))):
        for token in range(first, tokenizer.size):
            if tokenizer.piece(token) == label:
                return (token,)
    start, inside = tuple(tokenizer.encode(text)), tuple(tokenizer.encode(" " + text))
    if text[0].islower():
        return inside if len(inside) <= len(start) else start
    return min((start, inside), key=lambda ids: (len(ids), -(counts[ids[0]] if counts else 0)))


def name_of(tokenizer: Tokenizer, token: int, sentence: Sequence[int], counts: Sequence[int] | None) -> str:
    """What `pieces_of` reads as this very token, its label where that does; not for control tokens."""
    label = tokenizer.piece(token)
    return label if pieces_of(tokenizer, label, sentence, counts) == (token,) else WITHOUT_SPACE + label


def vectors(checkpoint: Checkpoint, side: Side) -> torch.Tensor:
    """The rows of a side's table, each of length 1: [V,D]."""
    model = checkpoint.model
    table = (model.source_embedding if side == "source" else model.target_embedding).table.weight.detach()
    return torch.nn.functional.normalize(table.float(), dim=-1)


@torch.inference_mode()
def cosines(checkpoint: Checkpoint, token: int, side: Side) -> np.ndarray:
    """Of one token's vector with every vector of the table: float32 [V]. ValueError for a token outside the table."""
    rows = vectors(checkpoint, side)
    if not 0 <= token < len(rows):
        raise ValueError(f"There is no token {token}; the table has tokens 0 to {len(rows) - 1}.")
    return (rows @ rows[token]).clamp(-1, 1).cpu().numpy()


def language_of(counts: dict[str, tuple[int, ...]], side: Side, joint: bool) -> np.ndarray:
    """Which tokens belong to a side: bool [V]. They were seen at least `RARE` times there; in a joint vocabulary at least a
    quarter of their occurrences are there too, so a token may belong to both sides. Control tokens belong to none."""
    own = np.asarray(counts[side])
    belongs = own >= RARE
    if joint:
        belongs &= own >= SHARE * (np.asarray(counts["source"]) + np.asarray(counts["target"]))
    belongs[: len(CONTROL_TOKENS)] = False
    return belongs


def nearest(
    checkpoint: Checkpoint, token: int, side: Side, count: int = 10
) -> dict[Side | Literal["unknown"], tuple[Neighbour, ...]]:
    """The tokens nearest to one, itself and control tokens left out, most alike first: a list for each side that shares its
    table. Hardly trained tokens are left out; where nothing is known of the training, one list of all tokens, `unknown`."""
    alike, joint, counts = cosines(checkpoint, token, side), checkpoint.config.two_in_one, checkpoint.counts
    if not counts:
        everything = np.arange(len(alike)) >= len(CONTROL_TOKENS)
        return {"unknown": _ranked(alike, everything, token, count, None, None, None)}
    sides = SIDES if joint else (side,)
    found = {}
    for each in sides:
        other = language_of(counts, SIDES[each == "source"], True) if joint else None
        belongs = language_of(counts, each, joint)
        beyond = standing_out(alike, belongs, token, counts[each])
        found[each] = _ranked(alike, belongs, token, count, counts[each], other, beyond)
    return found


def standing_out(alike: np.ndarray, allowed: np.ndarray, token: int, seen: Sequence[int]) -> np.ndarray | None:
    """Which of the allowed tokens are more alike to one than chance would make the likest of them: bool [V].

    A cosine is held against those of the tokens that were seen about as often, by their mean and spread: it stands out where
    normal noise would reach so far in one of 20 tables alone. None where there are too few tokens to tell.
    """
    others = np.flatnonzero(allowed & (np.arange(len(alike)) != token))
    if len(others) < FEWEST:
        return None
    order = others[np.argsort(np.asarray(seen)[others], kind="stable")]
    values = alike[order].astype(np.float64)
    low = np.maximum(np.arange(len(order)) - BAND, 0)
    high = np.minimum(np.arange(len(order)) + BAND + 1, len(order))
    total, squares = (np.concatenate([[0.0], np.cumsum(each)]) for each in (values, values**2))
    mean, square = ((each[high] - each[low]) / (high - low) for each in (total, squares))
    spread = np.sqrt(np.maximum(square - mean**2, 1e-12))
    found = np.zeros(len(alike), dtype=bool)
    found[order] = (values - mean) / spread > NormalDist().inv_cdf((1 - CHANCE) ** (1 / len(order)))
    return found


def _ranked(
    alike: np.ndarray,
    allowed: np.ndarray,
    token: int,
    count: int,
    seen: Sequence[int] | None,
    other: np.ndarray | None,
    beyond: np.ndarray | None,
) -> tuple[Neighbour, ...]:
    order = [int(i) for i in np.argsort(-alike, kind="stable") if allowed[i] and i != token][:count]
    return tuple(
        Neighbour(
            i,
            float(alike[i]),
            None if seen is None else seen[i],
            other is not None and bool(other[i]),
            None if beyond is None else bool(beyond[i]),
        )
        for i in order
    )


@torch.inference_mode()
def survey(checkpoint: Checkpoint, side: Side, count: int = SURVEYED) -> Survey | None:
    """How far a joint table keeps its languages apart; None where it has but one, or nothing is known of the training."""
    if not checkpoint.config.two_in_one or not checkpoint.counts:
        return None
    own, other = (language_of(checkpoint.counts, each, True) for each in (side, SIDES[side == "source"]))
    alone = np.flatnonzero(own & ~other)
    picked = alone[np.argsort(-np.asarray(checkpoint.counts[side])[alone], kind="stable")[:count]]
    rows = vectors(checkpoint, side)
    alike = rows[torch.as_tensor(picked, device=rows.device)] @ rows.T  # [N,V]
    alike = alike.cpu().numpy()
    alike[:, ~(own | other)] = -np.inf
    alike[np.arange(len(picked)), picked] = -np.inf
    best = alike.argmax(1)
    return Survey(len(picked), int((own & ~other)[best].sum()), int((own & other)[best].sum()))


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
