"""How a target sentence is grown: free functions over the model's step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from model import masks
from model.config import END, MAX_TOKENS, PAD, START
from model.intervention import BASELINE, Intervention
from model.transformer import EncoderDecoder

NEVER_CHOSEN = (PAD, START)  # their probabilities are shown as they are, but no hypothesis contains them


@dataclass(frozen=True)
class Hypothesis:
    """One finished path: the tokens chosen, `</s>` included where it ended by itself."""

    ids: tuple[int, ...]
    log_probs: tuple[float, ...]  # natural logarithm, one a token

    @property
    def finished(self) -> bool:
        """False where the limit of tokens was reached before `</s>`."""
        return bool(self.ids) and self.ids[-1] == END

    @property
    def score(self) -> float:
        """Summed log-probability in nats."""
        return sum(self.log_probs)


@dataclass(frozen=True)
class Tree:
    """All hypotheses of a decoding, the best first."""

    hypotheses: tuple[Hypothesis, ...]


@torch.inference_mode()
def greedy(
    model: EncoderDecoder,
    source: Tensor,
    edits: Sequence[Intervention] = (BASELINE,),
    prefix: Sequence[int] = (),
    limit: int = MAX_TOKENS,
    use_cache: bool = True,
) -> list[Hypothesis]:
    """The likeliest next token at every step, for each row of source ids [B,S].

    `prefix` is forced at the start of every row. A row ends with `</s>` or at `limit` tokens. Without the causal mask an
    earlier position depends on later ones, so nothing can be kept: the whole prefix is computed again at each step.

    Raises ValueError where the prefix fills the limit.
    """
    if len(prefix) >= limit:
        raise ValueError(f"the prefix has {len(prefix)} tokens; expected fewer than the limit of {limit}")
    rows, window = source.size(0), model.config.window
    cache = model.new_cache() if use_cache and all(e.causal_mask for e in edits) else None
    memory = model.encode(source, masks.encoder_mask(source, window, edits))  # [B,S,D]
    cross = masks.cross_mask(source, edits)
    target = torch.full((rows, 1), START, device=source.device)  # [B,1]
    ended = torch.zeros(rows, dtype=torch.bool, device=source.device)
    chosen_log_probs: list[Tensor] = []
    for step in range(limit):
        fresh, start = (target[:, -1:], step) if cache else (target, 0)
        mask = masks.decoder_mask(target, window, edits, queries=fresh.size(1))
        hidden = model.decode(fresh, memory, mask, cross, cache, start)[:, -1]  # [B,D]
        log_probs = model.project(hidden).float().log_softmax(-1)  # [B,V]
        forced = step < len(prefix)
        token = torch.full_like(target[:, 0], prefix[step]) if forced else choose(log_probs)  # [B]
        token = token.masked_fill(ended, PAD)
        chosen_log_probs.append(log_probs.gather(1, token[:, None])[:, 0])
        target = torch.cat((target, token[:, None]), dim=1)  # [B,T]
        ended |= token == END
        if ended.all():
            break
    scores = torch.stack(chosen_log_probs, dim=1).tolist()
    return [_hypothesis(ids[1:], row) for ids, row in zip(target.tolist(), scores, strict=True)]


def choose(log_probs: Tensor) -> Tensor:
    """The likeliest token that may stand in a sentence: [B,V] to [B]."""
    allowed = log_probs.clone()
    allowed[:, list(NEVER_CHOSEN)] = -torch.inf
    return allowed.argmax(-1)


def _hypothesis(ids: list[int], log_probs: list[float]) -> Hypothesis:
    length = ids.index(END) + 1 if END in ids else len(ids)
    return Hypothesis(tuple(ids[:length]), tuple(log_probs[:length]))
