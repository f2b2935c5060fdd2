"""Nearest tokens in an embedding table by cosine, and word analogies such as king − man + woman.

In a joint vocabulary the counts of the training data on each side decide the language of a token. For analogies see Mikolov,
Yih and Zweig 2013, "Linguistic Regularities in Continuous Space Word Representations".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
import torch

from ...checkpoint import Checkpoint
from ...config import CONTROL_TOKENS
from ...text.languages import ENGLISH
from ...text.tokenizer import Tokenizer

Side = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")
RARE = 20  # training occurrences below which neighbours of a token mean little
SHARE = 0.25  # smallest share of its occurrences for a token to belong to a language
SURVEYED = 500
BAND = 100  # tokens of similar frequency to each side: rare tokens are nearer to one another than frequent ones
MIN_TOKENS = 50  # smallest number of tokens for an estimate of chance
CHANCE = 0.05  # probability that the nearest token of a random table counts as standing out
WITHOUT_SPACE = "##"  # prefix for the label of a token without a space, where the label alone is ambiguous


@dataclass(frozen=True)
class Neighbour:
    """A token near another one."""

    id: int
    cosine: float  # -1 to 1
    count: int | None  # occurrences in the training data on this side; None if unknown
    shared: bool  # True for a token of both languages
    stands_out: bool | None = None  # nearer than chance explains; None if unknown


@dataclass(frozen=True)
class NeighbourSurvey:
    """Nearest tokens of the most frequent tokens of a single language: how many share it, and how many belong to both."""

    tokens: int
    same: int
    both: int


def pieces_of(tokenizer: Tokenizer, word: str, sentence: Sequence[int], counts: Sequence[int] | None) -> tuple[int, ...]:
    """Returns the tokens of a typed word, never a control token.

    A label of a token of the sentence names that token. `·chat` names the token with a space in front, `##chat` the one
    without. Any other word is split as inside a sentence or as at its start, with fewer pieces preferred. In a tie, a
    lower-case word is read as inside a sentence, another one as the more frequent token.

    Raises:
        ValueError: The word is empty, or is not valid Unicode.
    """
    text = word.strip()
    if not text:
        raise ValueError("The word is empty: type one, or pick a token of the sentence.")
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError("The word has an invalid character; expected valid Unicode.")
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
    """Returns a text that `pieces_of` reads as this token: its label where possible. Not for control tokens."""
    label = tokenizer.piece(token)
    return label if pieces_of(tokenizer, label, sentence, counts) == (token,) else WITHOUT_SPACE + label


def vectors(checkpoint: Checkpoint, side: Side) -> torch.Tensor:
    """Returns the normalized rows of a side's table, [V,D]."""
    model = checkpoint.model
    table = (model.source_embedding if side == "source" else model.target_embedding).table.weight.detach()
    return torch.nn.functional.normalize(table.float(), dim=-1)


@torch.inference_mode()
def cosines(checkpoint: Checkpoint, token: int, side: Side) -> np.ndarray:
    """Returns the cosines of a token with every row of the table, float32 [V]. Raises ValueError for an unknown token."""
    rows = vectors(checkpoint, side)
    if not 0 <= token < len(rows):
        raise ValueError(f"There is no token {token}; the table has tokens 0 to {len(rows) - 1}.")
    return (rows @ rows[token]).clamp(-1, 1).cpu().numpy()


def language_of(counts: dict[str, tuple[int, ...]], side: Side, joint: bool) -> np.ndarray:
    """Returns the tokens that belong to a side, bool [V].

    They occur there at least `RARE` times. In a joint vocabulary at least a quarter of their occurrences are there, so a
    token may belong to both sides. Control tokens belong to none.
    """
    own = np.asarray(counts[side])
    belongs = own >= RARE
    if joint:
        belongs &= own >= SHARE * (np.asarray(counts["source"]) + np.asarray(counts["target"]))
    belongs[: len(CONTROL_TOKENS)] = False
    return belongs


def nearest(
    checkpoint: Checkpoint, token: int, side: Side, count: int = 10
) -> dict[Side | Literal["unknown"], tuple[Neighbour, ...]]:
    """Returns the nearest tokens by cosine, one list for each side that shares the table.

    The token itself, control tokens and rare tokens are excluded. Without training counts there is one list of all tokens,
    `unknown`.
    """
    alike, joint, counts = cosines(checkpoint, token, side), checkpoint.config.has_shared_embedding, checkpoint.token_counts
    if not counts:
        everything = np.arange(len(alike)) >= len(CONTROL_TOKENS)
        return {"unknown": _ranked(alike, everything, token, count, None, None, None)}
    sides = SIDES if joint else (side,)
    lists = {}
    for each in sides:
        other = language_of(counts, SIDES[each == "source"], True) if joint else None
        belongs = language_of(counts, each, joint)
        beyond = standing_out(alike, belongs, token, counts[each])
        lists[each] = _ranked(alike, belongs, token, count, counts[each], other, beyond)
    return lists


def standing_out(alike: np.ndarray, allowed: np.ndarray, token: int, seen: Sequence[int]) -> np.ndarray | None:
    """Returns the allowed tokens whose cosine with a token is larger than chance explains, bool [V].

    The cosine is compared with the mean and spread of tokens of similar frequency. It stands out where normal noise reaches
    that value in only one of 20 tables. None for too few tokens.
    """
    others = np.flatnonzero(allowed & (np.arange(len(alike)) != token))
    if len(others) < MIN_TOKENS:
        return None
    order = others[np.argsort(np.asarray(seen)[others], kind="stable")]
    values = alike[order].astype(np.float64)
    low = np.maximum(np.arange(len(order)) - BAND, 0)
    high = np.minimum(np.arange(len(order)) + BAND + 1, len(order))
    total, squares = (np.concatenate([[0.0], np.cumsum(each)]) for each in (values, values**2))
    mean, square = ((each[high] - each[low]) / (high - low) for each in (total, squares))
    spread = np.sqrt(np.maximum(square - mean**2, 1e-12))
    result = np.zeros(len(alike), dtype=bool)
    result[order] = (values - mean) / spread > NormalDist().inv_cdf((1 - CHANCE) ** (1 / len(order)))
    return result


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
def survey(checkpoint: Checkpoint, side: Side, count: int = SURVEYED) -> NeighbourSurvey | None:
    """Measures the separation of languages in a joint table. None for one language, or without training counts."""
    if not checkpoint.config.has_shared_embedding or not checkpoint.token_counts:
        return None
    own, other = (language_of(checkpoint.token_counts, each, True) for each in (side, SIDES[side == "source"]))
    alone = np.flatnonzero(own & ~other)
    picked = alone[np.argsort(-np.asarray(checkpoint.token_counts[side])[alone], kind="stable")[:count]]
    rows = vectors(checkpoint, side)
    alike = rows[torch.as_tensor(picked, device=rows.device)] @ rows.T  # [N,V]
    alike = alike.cpu().numpy()
    alike[:, ~(own | other)] = -np.inf
    alike[np.arange(len(picked)), picked] = -np.inf
    best = alike.argmax(1)
    return NeighbourSurvey(len(picked), int((own & ~other)[best].sum()), int((own & other)[best].sum()))


FAMOUS = ENGLISH.analogy


@dataclass(frozen=True)
class Analogy:
    """The nearest tokens of a − b + c, and the expected fourth word.

    `pieces` has the tokens of each word inside a sentence, `seen` its training occurrences, if known. The rest is empty
    unless each of the first three words is one token.
    """

    words: tuple[str, str, str, str]
    pieces: tuple[tuple[str, ...], ...]
    seen: tuple[int, ...] | None
    nearest: tuple[tuple[str, float], ...] = ()  # labels and cosines, without the three words and rare tokens
    itself: str = ""  # the nearest token, often one of the three
    rank: int | None = None  # of the fourth word, from 1, without the three, if it is one token
    ranked: int = 0  # number of ranked tokens
    rare: int = 0  # number of tokens with fewer than `RARE` occurrences in `language`, not ranked
    language: str = ""

    @property
    def holds(self) -> bool:
        return self.rank == 1


@torch.inference_mode()
def analogy(checkpoint: Checkpoint, words: tuple[str, str, str, str] = FAMOUS, count: int = 5) -> Analogy:
    """Returns the nearest tokens of a − b + c over normalized rows of the source table, or of the only one."""
    side: Side = "source" if "encoder" in checkpoint.config.kinds else "target"
    tokenizer, seen = checkpoint.source_tokenizer, checkpoint.corpus_stats
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
    if checkpoint.token_counts:
        allowed &= np.asarray(checkpoint.token_counts[side]) >= RARE
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
