"""How well a decoder-only model foretells a text: every token predicted once, each with much of the text before it.

How a language model's continuations fail, in numbers: how much of them says the same again, beside the text itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from model.checkpoint import Checkpoint
from model.config import END, MAX_TOKENS
from model.decoding.strategy import Decoding
from model.network.context import forced
from model.network.transformer import Transformer
from model.text.tokenizer import Tokenizer
from model.workshop.corpus.windows import characters

STRIDE = 32  # tokens that a window predicts, and after which the next one begins
ROWS = 16  # windows that are computed at once


def bits_per_character(nats: float, count: int) -> float:
    """Of a text of so many characters that costs so many nats."""
    return nats / math.log(2) / count


@dataclass(frozen=True)
class Scored:
    """What each paragraph of a text costs: P of them.

    The text is its paragraphs with a line end behind each, and that is a character as any other: `</s>` is what tells it,
    and its cost is counted. Bits are those of the one way in which the tokenizer cuts the text, so that the model's
    probability of the text itself can only be higher.
    """

    nats: np.ndarray  # [P]
    tokens: np.ndarray  # [P], `</s>` among them
    characters: np.ndarray  # [P], the line end among them


def windows(tokens: int, stride: int) -> list[tuple[int, int, int]]:
    """Start and end of each window over so many tokens, and the first one that it predicts: the window before had those that
    come earlier. All but the first window have MAX_TOKENS - stride tokens, or more, before any that they predict."""
    made, done = [], 0
    while done < tokens:
        end = min(tokens, MAX_TOKENS if not done else done + stride)
        made.append((max(0, end - MAX_TOKENS), end, done))
        done = end
    return made


@torch.inference_mode()
def score(
    model: Transformer,
    tokenizer: Tokenizer,
    paragraphs: Sequence[str],
    stride: int = STRIDE,
    progress: Callable[[int], object] = lambda done: None,
) -> Scored:
    """Costs of the paragraphs of one text, read in their order; a window begins with `<s>`, as in training.

    `progress` is told how many tokens are done. Raises ValueError for a stride that no window can have.
    """
    if not 1 <= stride <= MAX_TOKENS:
        raise ValueError(f"the stride is {stride}; expected 1 to {MAX_TOKENS}, the tokens of a window")
    device = next(model.parameters()).device
    encoded = [[*tokenizer.encode(text), END] for text in paragraphs]
    stream = torch.tensor([token for own in encoded for token in own])
    costs = torch.empty(len(stream), dtype=torch.float64)
    cut = windows(len(stream), stride)
    for number in range(0, len(cut), ROWS):
        chosen = cut[number : number + ROWS]
        outputs = torch.stack([stream[start : start + MAX_TOKENS] for start, _, _ in chosen]).to(device)  # [B,T]
        place = torch.arange(outputs.size(1))[None] + torch.tensor([[start] for start, _, _ in chosen])  # [B,T]
        fresh = place >= torch.tensor([[done] for _, _, done in chosen])  # [B,T]
        own = fresh.to(device)
        log_probs = model.project(forced(model, None, outputs)[own]).double().log_softmax(-1)  # [N,V]
        costs[place[fresh]] = -log_probs.gather(-1, outputs[own][:, None])[:, 0].cpu()
        progress(int(fresh.sum()))
    tokens = np.array([len(own) for own in encoded])
    return Scored(summed(costs.numpy(), tokens), tokens, np.array([characters(text) for text in paragraphs]))


def summed(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Sums of stretches of so many values, at least one each, one behind the other."""
    return np.add.reduceat(values, np.cumsum(lengths) - lengths)


GIVEN, ADDED, SIZE = 24, 64, 4  # tokens that are given, tokens that are added, tokens of what may come again
LOOP = 0.5  # from here on a continuation is said to go in circles
WAYS = {"greedy": Decoding(), "drawn": Decoding("sample", temperature=0.8, top_p=0.9)}


def repeated(ids: Sequence[int], size: int = SIZE) -> float:
    """The share of the runs of `size` tokens that have stood before: 1 - distinct / all (seq-rep-n of Welleck et al. 2020);
    0 where there is no such run."""
    runs = [tuple(ids[n : n + size]) for n in range(len(ids) - size + 1)]
    return 1 - len(set(runs)) / len(runs) if runs else 0.0


def measure(
    checkpoint: Checkpoint, paragraphs: Sequence[str], count: int, progress: Callable[[int], object] = lambda done: None
) -> dict[str, Any]:
    """Goes on with the beginnings of `count` paragraphs, spread evenly over those that are long enough, greedily and drawn;
    the text's own continuation stands beside them. `progress` is told of each beginning.

    Raises ValueError where no paragraph is long enough, and for a count below 1.
    """
    if count < 1:
        raise ValueError(f"the continuations are {count}; expected at least 1")
    encoded = [checkpoint.target_tokenizer.encode(text) for text in paragraphs]
    long = [ids for ids in encoded if len(ids) >= GIVEN + ADDED]
    if not long:
        longest = max(map(len, encoded), default=0)
        raise ValueError(f"the longest paragraph has {longest} tokens; expected one of {GIVEN + ADDED} to go on with")
    chosen = [long[int(n)] for n in np.linspace(0, len(long) - 1, min(count, len(long))).round()]
    shares: dict[str, list[float]] = {"text": [], **{name: [] for name in WAYS}}
    ended = dict.fromkeys(WAYS, 0)
    for ids in chosen:
        shares["text"].append(repeated(ids[GIVEN : GIVEN + ADDED]))
        for name, way in WAYS.items():
            (tree,) = replace(way, limit=GIVEN + ADDED).search(checkpoint.model, None, prefix=ids[:GIVEN])
            path = tree[0]
            shares[name].append(repeated(path.ids[GIVEN:]))
            ended[name] += path.ids[-1] == END
        progress(1)
    return {
        "beginnings": len(chosen),
        "given": GIVEN,
        "added": ADDED,
        "size": SIZE,
        "repeated": {name: round(float(np.mean(each)), 4) for name, each in shares.items()},
        "loops": {name: round(float(np.mean(np.array(each) >= LOOP)), 4) for name, each in shares.items()},
        "ended": {name: round(each / len(chosen), 4) for name, each in ended.items()},
    }
