"""What edits do over many sentences: to the probability of a text, and to the translation; with intervals.

Whether greedy decoding goes another way under an edit takes no decoding: the first token that differs stands behind a prefix
that is the same, so it differs in the one pass over the unedited translation too. Where a token sees what follows it this
does not hold, and the sentence is decoded again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from model.checkpoint import Checkpoint
from model.config import MAX_CHARACTERS
from model.decoding.search import choose
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import Ablate, Place
from model.experiments.effects import ROWS, first_scored, likeliest_too, scored_tokens, sites, tokens_of
from model.inference.passes import counted, log_probs
from model.inference.request import Request
from model.inference.targets import decode, decode_each
from model.trace import Site

RESAMPLES, SEED, TOGETHER = 1000, 1, 50  # bootstrap samples, their seed, how many are drawn at once
INTERVAL = (2.5, 97.5)  # per cent
Sentence = str | tuple[str, str]  # a source, or with the target whose probability counts


@dataclass(frozen=True)
class Read:
    """What the edits do to one sentence: the tokens that are scored, the change of their summed log-probability under each
    edit in nats, [E], and whether the model's own greedy text changes, [E]; without a decoder, whether the likeliest token
    of any place that is `counted` does."""

    tokens: int
    change: np.ndarray
    changed: np.ndarray
    scored_tokens: str  # which tokens are scored; see `Task.scored_tokens`


@dataclass(frozen=True)
class Sweep:
    """The same over N sentences that are within the text limit: their numbers, from 1 among those given; tokens [N], change
    and changed [N,E]. `scored_tokens` names the tokens that the change sums over, of each sentence [N]: see
    `Task.scored_tokens`."""

    edits: tuple[Intervention, ...]
    numbers: np.ndarray
    tokens: np.ndarray
    change: np.ndarray
    changed: np.ndarray
    scored_tokens: tuple[str, ...]

    def mean_change(self) -> np.ndarray:
        """Nats a sentence, with the 95% interval over the sentences, nan for one sentence alone: [3,E]."""
        return intervals(self.change)

    def strongest(self, most: int = 5) -> list[list[int]]:
        """The numbers of the sentences whose probability each edit lowers most, the largest fall first."""
        return [strongest(column, self.numbers, most) for column in self.change.T]


def heads_of(checkpoint: Checkpoint) -> list[tuple[Site, int]]:
    """Every head of a model, site by site."""
    return [(site, head) for site in sites(checkpoint) for head in range(checkpoint.config.heads)]


def every_head(checkpoint: Checkpoint) -> tuple[Intervention, ...]:
    """For every head the intervention that switches it off."""
    return tuple(Intervention(edits=(Ablate(Place(*site, head)),)) for site, head in heads_of(checkpoint))


def sweep(
    lab: Checkpoint,
    sentences: Sequence[Sentence],
    edits: Sequence[Intervention] | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Sweep:
    """What each edit does to each sentence: `edits`, or where none are named every head switched off in turn.

    A sentence is a source, whose translation by the model itself counts, or a pair with the target that does. A language
    model goes on with the source, and its continuation counts: the prompt is given, so it is not scored. A sentence over the
    text limit, or with what the vocabulary has no token for, is left out. Raises ValueError where none is left, and for
    edits that the model cannot take.
    """
    chosen = every_head(lab) if edits is None else tuple(edits)
    if not chosen:
        raise ValueError("there is no edit to measure; expected at least one")
    numbers, found = [], []
    for number, sentence in enumerate(sentences, 1):
        if (one := read(lab, sentence, chosen)) is not None:
            numbers.append(number)
            found.append(one)
        progress(1)
    if not found:
        raise ValueError("no sentence is within the text limit; expected at least one")
    arrays = (np.array([getattr(one, name) for one in found]) for name in ("tokens", "change", "changed"))
    return Sweep(chosen, np.array(numbers), *arrays, tuple(one.scored_tokens for one in found))


def read(lab: Checkpoint, sentence: Sentence, edits: Sequence[Intervention]) -> Read | None:
    """What the edits do to one sentence; None where it is over the text limit, or the vocabulary has no token for a word."""
    source, target = (sentence, None) if isinstance(sentence, str) else sentence
    if len(source) > MAX_CHARACTERS or len(target or "") > MAX_CHARACTERS:
        return None
    try:
        request = Request(source=source)
        ids, own = tokens_of(lab, request)
        given = own if target is None else tokens_of(lab, Request(source=source, target=target))[1]
    except ValueError:
        return None
    scores, likeliest = _scored(lab, ids, own, edits)
    counted = scores if target is None else _scored(lab, ids, given, edits)[0]
    first = first_scored(lab, request)
    counted, likeliest = counted[:, first:], likeliest[:, first:]
    change = counted.sum(-1, dtype=np.float64)
    changed = (likeliest[1:] != likeliest[:1]).any(-1)
    if own is not None and (unseen := [n for n, edit in enumerate(edits) if not (lab.config.causal and edit.causal_mask)]):
        changed[unseen] = _decoded(lab, request, ids or (), [edits[n] for n in unseen])
    return Read(counted.shape[1], change[1:] - change[0], changed, scored_tokens(lab, ids))


def _scored(
    lab: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None, edits: Sequence[Intervention]
) -> tuple[np.ndarray, np.ndarray]:
    """Log-probability of each token, and the one that would be chosen there, unedited and under each edit: [1+E,T]."""
    if tuple(edits) == every_head(lab):
        found, likeliest, off = likeliest_too(lab, source, target)
        row = {head: n for n, head in enumerate(off, 1)}
        order = [0, *(row[head] for head in heads_of(lab))]
        return found[order], likeliest[order]
    places, tokens = slice(None), target
    if target is None and not lab.config.classes:
        where, tokens = counted(lab, source)
        places = list(where)
    chosen = torch.tensor(list(tokens or ()), device=lab.device)
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    for first in range(0, len(edits), ROWS - 1):
        scores = log_probs(lab, source, target, [BASELINE, *edits[first : first + ROWS - 1]])[:, places]  # [B,T,V]
        if lab.config.classes:
            chosen = scores[0].argmax(-1)  # [1]
        there = scores.gather(-1, chosen.expand(len(scores), -1)[..., None])[..., 0]
        skip = 1 if parts else 0
        likeliest = scores.argmax(-1) if lab.config.classes else choose(scores)
        parts.append((there.cpu().numpy()[skip:], likeliest.cpu().numpy()[skip:]))
    found, likeliest = (np.concatenate(side) for side in zip(*parts, strict=True))
    return found, likeliest


def _decoded(lab: Checkpoint, request: Request, source: Sequence[int], edits: Sequence[Intervention]) -> np.ndarray:
    """Whether the model's own text changes under each edit, by decoding under each: [E]."""
    if "encoder" not in lab.config.kinds:
        written = [decode(lab, request, (), edit)[0][0].ids for edit in (BASELINE, *edits)]
        return np.array([ids != written[0] for ids in written[1:]])
    changed: list[bool] = []
    for first in range(0, len(edits), ROWS - 1):
        own, *others = decode_each(lab, request, source, [BASELINE, *edits[first : first + ROWS - 1]])
        changed += [other[0].ids != own[0].ids for other in others]
    return np.array(changed)


def strongest(change: np.ndarray, numbers: np.ndarray, most: int) -> list[int]:
    """The numbers of the sentences whose log-probability falls most, of changes [N]; those alone where it falls."""
    order = np.argsort(change, kind="stable")[:most]
    return [int(numbers[n]) for n in order if change[n] < 0]


def intervals(values: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    """The mean of [N,...] over the sentences, and the middle 95% of the means of bootstrap samples of them: [3,...].

    With `counts`, values are sums over so many rows, and it is the mean over rows, in samples that have one. The mean is nan
    where there is no row, and the interval is nan where fewer than two sentences have one.
    """
    values = np.asarray(values, dtype=np.float64)
    counts = np.ones_like(values) if counts is None else np.asarray(counts, dtype=np.float64)
    number, draw, sampled = len(values), np.random.default_rng(SEED), []
    for _ in range(0, RESAMPLES, TOGETHER):
        weights = draw.multinomial(number, np.full(number, 1 / number), TOGETHER)  # [R,N]: how often each is drawn
        sampled.append(_mean(np.tensordot(weights, values, 1), np.tensordot(weights, counts, 1)))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN", RuntimeWarning)  # a column without a row in any sample has no interval
        ends = np.nanpercentile(np.concatenate(sampled), INTERVAL, axis=0)
    means = _mean(values.sum(0), counts.sum(0))
    return np.stack([means, *np.where((counts > 0).sum(0) > 1, ends, np.nan)])


def _mean(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
