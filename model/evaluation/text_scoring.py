"""How well a decoder-only model foretells a text: every token predicted once, each with much of the text before it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from model.config import END, MAX_TOKENS
from model.network.context import forced
from model.network.transformer import Transformer
from model.text.tokenizer import Tokenizer
from model.text.windows import characters

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
