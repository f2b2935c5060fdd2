"""Scores of a checkpoint on a corpus: translate every sentence, compare with the references."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from sacrebleu.metrics import BLEU, CHRF

from model.config import END, MAX_CHARACTERS, MAX_TOKENS
from model.decoding.hypotheses import Hypothesis
from model.decoding.strategy import Decoding
from model.network.transformer import Transformer
from model.text.corpus import by_source, pad
from model.text.tokenizer import Tokenizer

GREEDY = Decoding()


def translate(
    model: Transformer,
    source_tokenizer: Tokenizer,
    sentences: Sequence[str],
    batch_size: int = 64,
    progress: Callable[[int], None] = lambda done: None,
    decoding: Decoding = GREEDY,
) -> list[Hypothesis]:
    """The best hypothesis of each of many sentences, batched by length, in the order given.

    A sentence over the text limit is cut there. `progress` is told how many sentences each batch has finished. What is drawn
    for a sentence does not depend on the others.
    """
    device = next(model.parameters()).device
    ids = [[*row[: MAX_TOKENS - 1], END] for row in source_tokenizer.encode_batch([s[:MAX_CHARACTERS] for s in sentences])]
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    found: dict[int, Hypothesis] = {}
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        source = pad([ids[i] for i in chosen]).to(device)
        trees = decoding.search(model, source)
        found |= zip(chosen, (tree[0] for tree in trees), strict=True)
        progress(len(chosen))
    return [found[i] for i in range(len(ids))]


def score(translations: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Corpus BLEU and chrF by sacrebleu (detokenised, case kept), with BLEU's signature.

    `references` holds one or more translations for each sentence; where numbers differ, missing ones are left out. Both
    scores go from 0 to 100. Raises ValueError where there is no sentence.
    """
    if not translations:
        raise ValueError("there is no translation to score; expected at least one")
    width = max(map(len, references))
    columns = [[refs[n] if n < len(refs) else None for refs in references] for n in range(width)]
    bleu, chrf = BLEU(), CHRF()
    return {
        "bleu": round(bleu.corpus_score(translations, columns).score, 2),
        "chrf": round(chrf.corpus_score(translations, columns).score, 2),
        "sacrebleu_signature": str(bleu.get_signature()),
    }


def evaluate(
    model: Transformer,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    pairs: Sequence[tuple[str, str]],
    all_references: bool = False,
    limit: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
    decoding: Decoding = GREEDY,
) -> dict[str, Any]:
    """Translates the distinct source strings (at most `limit`) and scores them against the first target of each, or all.

    The model's mode comes back as it was.
    Returns `bleu`, `chrf`, `sentences`, `seconds` (of translating), `unfinished` (how many stopped at the limit) and
    `sacrebleu_signature`.
    """
    groups = list(by_source(pairs).items())[:limit]
    began = time.perf_counter()
    was_training = model.training
    model.eval()
    with torch.inference_mode():
        hypotheses = translate(model, source_tokenizer, [s for s, _ in groups], decoding=decoding, progress=progress)
    model.train(was_training)
    seconds = time.perf_counter() - began
    references = [refs if all_references else refs[:1] for _, refs in groups]
    scores = score([target_tokenizer.decode(h.ids) for h in hypotheses], references)
    return scores | {
        "sentences": len(groups),
        "unfinished": sum(not h.finished for h in hypotheses),
        "seconds": round(seconds, 2),
    }
