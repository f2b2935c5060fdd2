"""Measures edits over many sentences: the change of log-probability and of the translation, with intervals.

A change of greedy decoding needs no decoding: the first token that differs follows the same prefix, so one pass over the
unedited translation shows it. This fails where a token sees later tokens. Then the sentence is decoded again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ..checkpoint import Checkpoint
from ..config import MAX_CHARACTERS
from ..decoding.search import choose_greedy
from ..decoding.strategy import Decoding
from ..edits.intervention import BASELINE, Intervention
from ..edits.kinds import Ablate, Place
from ..inference.passes import log_probs, scored_rows_and_tokens
from ..inference.request import Request
from ..inference.scores import Score, scored_tokens
from ..inference.targets import decode, decode_each_edit, prompt_ids
from ..trace import Site
from .effects import ROWS, ablate_each_head_greedy, sites, tokens_of

RESAMPLES, SEED, TOGETHER = 1000, 1, 50  # bootstrap samples, their seed, and samples per batch
INTERVAL = (2.5, 97.5)  # per cent
Sentence = str | tuple[str, str]  # a source, or a pair with the target to score


@dataclass(frozen=True)
class SentenceEffects:
    """Effects of E edits on one sentence.

    `tokens` is the number of scored tokens. `change` [E] is the change of their summed log-probability in nats. `changed`
    [E] is True where the greedy text changes. Without a decoder, it is True where the top token of a `scored_rows` position
    changes.
    """

    tokens: int
    change: np.ndarray
    changed: np.ndarray
    scored_tokens: str  # which tokens are scored; see `Task.scored_tokens`


LISTED = 10  # edits that are printed


@dataclass(frozen=True)
class SweepResult:
    """Effects of E edits on N sentences within the text limit.

    `numbers` [N] count the input sentences from 1. `tokens` [N], `change` [N,E] and `changed` [N,E] are those of
    `SentenceEffects`. `scored_tokens` [N] names the tokens that the change sums over: see `Task.scored_tokens`.
    """

    edits: tuple[Intervention, ...]
    numbers: np.ndarray
    tokens: np.ndarray
    change: np.ndarray
    changed: np.ndarray
    scored_tokens: tuple[str, ...]

    def __str__(self) -> str:
        """Returns the edits with the largest mean changes, each with its 95% interval."""
        mean, low, high = self.mean_change()
        order = np.argsort(-np.abs(mean), kind="stable")
        count = f"{len(self.numbers)} sentence{'' if len(self.numbers) == 1 else 's'}, {len(self.edits)} edits"
        rows = [f"  {self.edits[n].code}: {mean[n]:+.3f} [{low[n]:.3f}, {high[n]:.3f}]" for n in order[:LISTED]]
        return "\n".join([f"{count}; mean change of the log-probability in nats a sentence:", *rows])

    def mean_change(self) -> np.ndarray:
        """Returns the mean in nats a sentence and its 95% interval over the sentences, [3,E]. The interval of one sentence
        is nan."""
        return intervals(self.change)

    def strongest(self, count: int = 5) -> list[list[int]]:
        """Returns for each edit the numbers of the sentences whose probability falls most, the largest fall first."""
        return [strongest(column, self.numbers, count) for column in self.change.T]


def heads_of(checkpoint: Checkpoint) -> list[tuple[Site, int]]:
    """Returns every head of a model, site by site."""
    return [(site, head) for site in sites(checkpoint) for head in range(checkpoint.config.heads)]


def every_head(checkpoint: Checkpoint) -> tuple[Intervention, ...]:
    """Returns for every head the intervention that ablates it."""
    return tuple(Intervention(edits=(Ablate(Place(*site, head)),)) for site, head in heads_of(checkpoint))


def sweep(
    checkpoint: Checkpoint,
    sentences: Sequence[Sentence],
    edits: Sequence[Intervention] | None = None,
    progress: Callable[[int], None] | None = None,
    score: Score | None = None,
    max_new_tokens: int = 0,
) -> SweepResult:
    """Measures each of E edits on each of N sentences, as changes of log-probability in nats, [N,E].

    A language model is scored on the continuation of the source, not on the source. Sentences over the text limit, or with
    characters that the vocabulary lacks, are left out.

    Args:
        checkpoint: the model, as `load` returns it.
        sentences: sources, each scored on its own translation, or pairs of source and target to score.
        edits: interventions; None ablates every head in turn.
        progress: receives 1 after each sentence.
        score: the scored tokens; see `model.inference.scores`. Then a given target is not decoded, and `changed` says
            whether the top token changes at a scored position. With `all`, a text without a target is the target of a
            language model.
        max_new_tokens: limits the continuation of a language model; 0: to the text limit.

    Raises ValueError for one text instead of a list, where no sentence is left, and for edits and scores that the model
    cannot take.
    """
    if isinstance(sentences, str):
        raise ValueError("the sentences are one text; expected a list of texts, such as [text]")
    chosen = every_head(checkpoint) if edits is None else tuple(edits)
    if not chosen:
        raise ValueError("there is no edit to measure; expected at least one")
    numbers, results = [], []
    for number, sentence in enumerate(sentences, 1):
        if (one := sentence_effects(checkpoint, sentence, chosen, score, max_new_tokens)) is not None:
            numbers.append(number)
            results.append(one)
        if progress is not None:
            progress(1)
    if not results:
        raise ValueError("no sentence is within the text limit; expected at least one")
    tokens, change, changed = (np.array([getattr(one, name) for one in results]) for name in ("tokens", "change", "changed"))
    return SweepResult(chosen, np.array(numbers), tokens, change, changed, tuple(one.scored_tokens for one in results))


def sentence_effects(
    checkpoint: Checkpoint,
    sentence: Sentence,
    edits: Sequence[Intervention],
    score: Score | None = None,
    max_new_tokens: int = 0,
) -> SentenceEffects | None:
    """Returns the effects of the edits on one sentence; None over the text limit, or if the vocabulary lacks a character."""
    source, target = (sentence, None) if isinstance(sentence, str) else sentence
    if len(source) > MAX_CHARACTERS or len(target or "") > MAX_CHARACTERS:
        return None
    if score == "all" and target is None and "encoder" not in checkpoint.config.kinds:
        source, target = "", source
    decoding = Decoding(max_new_tokens=max_new_tokens)
    try:
        request = Request(source or target or "", decoding=decoding)
        given = Request(source, target=target, decoding=decoding)
        ids, scored_target = tokens_of(checkpoint, given)
        own = scored_target if target is None or score is not None else tokens_of(checkpoint, request)[1]
    except ValueError:
        return None
    scored = scored_tokens(checkpoint, given, ids, scored_target, score)
    scores, likeliest = _score(checkpoint, ids, own, edits)
    counted = scores if own is scored_target else _score(checkpoint, ids, scored_target, edits)[0]
    counted = counted[:, scored.places]
    likeliest = likeliest[:, scored.places if own is scored_target else slice(len(prompt_ids(checkpoint, request)), None)]
    change = counted.sum(-1, dtype=np.float64)
    changed = (likeliest[1:] != likeliest[:1]).any(-1)
    is_decoded = own is not None and not (given.has_target and score is not None)
    if is_decoded and (unseen := [n for n, edit in enumerate(edits) if not (checkpoint.config.causal and edit.causal_mask)]):
        changed[unseen] = _text_changes(checkpoint, request, ids or (), [edits[n] for n in unseen])
    return SentenceEffects(counted.shape[1], change[1:] - change[0], changed, scored.name)


def _score(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None, edits: Sequence[Intervention]
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the log-probability of each token and the greedy token there, unedited and under each edit: [1+E,T]."""
    if tuple(edits) == every_head(checkpoint):
        values, likeliest, off = ablate_each_head_greedy(checkpoint, source, target)
        row = {head: n for n, head in enumerate(off, 1)}
        order = [0, *(row[head] for head in heads_of(checkpoint))]
        return values[order], likeliest[order]
    places: slice | list[int] = slice(None)
    tokens = target
    if target is None and not checkpoint.config.classes:
        where, tokens = scored_rows_and_tokens(checkpoint, source)
        places = list(where)
    chosen = torch.tensor(list(tokens or ()), device=checkpoint.device)
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    for first in range(0, len(edits), ROWS - 1):
        scores = log_probs(checkpoint, source, target, [BASELINE, *edits[first : first + ROWS - 1]])[:, places]  # [B,T,V]
        if checkpoint.config.classes:
            chosen = scores[0].argmax(-1)  # [1]
        there = scores.gather(-1, chosen.expand(len(scores), -1)[..., None])[..., 0]
        skip = 1 if parts else 0
        greedy = scores.argmax(-1) if checkpoint.config.classes else choose_greedy(scores)
        parts.append((there.cpu().numpy()[skip:], greedy.cpu().numpy()[skip:]))
    values, likeliest = (np.concatenate(side) for side in zip(*parts, strict=True))
    return values, likeliest


def _text_changes(
    checkpoint: Checkpoint, request: Request, source: Sequence[int], edits: Sequence[Intervention]
) -> np.ndarray:
    """Decodes under each edit. Returns True where the model's own text changes: [E]."""
    if "encoder" not in checkpoint.config.kinds:
        written = [decode(checkpoint, request, (), edit)[0][0].ids for edit in (BASELINE, *edits)]
        return np.array([ids != written[0] for ids in written[1:]])
    changed: list[bool] = []
    for first in range(0, len(edits), ROWS - 1):
        own, *others = decode_each_edit(checkpoint, request, source, [BASELINE, *edits[first : first + ROWS - 1]])
        changed += [other[0].ids != own[0].ids for other in others]
    return np.array(changed)


def strongest(change: np.ndarray, numbers: np.ndarray, count: int) -> list[int]:
    """Returns the numbers of the sentences whose log-probability falls most, for changes [N]. Others are left out."""
    order = np.argsort(change, kind="stable")[:count]
    return [int(numbers[n]) for n in order if change[n] < 0]


def intervals(values: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    """Returns the mean of [N,...] over the sentences, and the middle 95% of the means of bootstrap samples: [3,...].

    With `counts`, values are sums over that many rows, and the mean is over rows. The mean is nan without a row. The
    interval is nan where fewer than two sentences have a row.
    """
    values = np.asarray(values, dtype=np.float64)
    counts = np.ones_like(values) if counts is None else np.asarray(counts, dtype=np.float64)
    number, draw, sampled = len(values), np.random.default_rng(SEED), []
    for _ in range(0, RESAMPLES, TOGETHER):
        weights = draw.multinomial(number, np.full(number, 1 / number), TOGETHER)  # [R,N]: count of each in a sample
        sampled.append(_mean(np.tensordot(weights, values, 1), np.tensordot(weights, counts, 1)))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN", RuntimeWarning)  # a column without rows has no interval
        ends = np.nanpercentile(np.concatenate(sampled), INTERVAL, axis=0)
    means = _mean(values.sum(0), counts.sum(0))
    return np.stack([means, *np.where((counts > 0).sum(0) > 1, ends, np.nan)])


def _mean(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.asarray(np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0))
