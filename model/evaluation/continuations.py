"""How a language model's continuations fail, in numbers: how much of them says the same again, beside the text itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from model.checkpoint import Checkpoint
from model.config import END
from model.decoding.strategy import Decoding

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
