"""Scores of a checkpoint on a corpus, and the mean output of every head."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from sacrebleu.metrics import BLEU, CHRF

from ...config import END, MAX_CHARACTERS, MAX_TOKENS, PAD
from ...decoding.hypotheses import Hypothesis
from ...decoding.strategy import Decoding
from ...network.context import Pass, forced
from ...network.transformer import Transformer
from ...text.tokenizer import Tokenizer
from ...trace import Probe, Site
from ..corpus.corpus import Corpus, pad
from ..corpus.sentence_pairs import MaskedRows
from ..corpus.windows import Windows

GREEDY = Decoding()


def translate(
    model: Transformer,
    source_tokenizer: Tokenizer,
    sentences: Sequence[str],
    batch_size: int = 64,
    progress: Callable[[int], None] = lambda done: None,
    decoding: Decoding = GREEDY,
) -> list[Hypothesis]:
    """Returns the best hypothesis of each sentence, in input order; batches sentences by length.

    A sentence over the text limit is truncated. `progress` gets the number of finished sentences per batch. Sampling for a
    sentence does not depend on the others.
    """
    device = next(model.parameters()).device
    ids = [[*row[: MAX_TOKENS - 1], END] for row in source_tokenizer.encode_batch(_truncate(sentences))]
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    hypotheses: dict[int, Hypothesis] = {}
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        source = pad([ids[i] for i in chosen]).to(device)
        trees = decoding.search(model, source)
        hypotheses |= zip(chosen, (tree[0] for tree in trees), strict=True)
        progress(len(chosen))
    return [hypotheses[i] for i in range(len(ids))]


@dataclass(frozen=True)
class BatchTranslations:
    """Translations of sentences.

    Texts, whether each ended before the limit of tokens, whether each source was truncated, and the seconds of all (None
    where unknown).
    """

    texts: list[str]
    ended: list[bool]
    truncated: list[bool]
    seconds: float | None

    def select(self, rows: Sequence[int]) -> BatchTranslations:
        """Returns the translations of some rows, without a time."""
        return BatchTranslations(*([each[n] for n in rows] for each in (self.texts, self.ended, self.truncated)), None)


def translate_texts(
    model: Transformer,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    sentences: Sequence[str],
    progress: Callable[[int], None] = lambda done: None,
    decoding: Decoding = GREEDY,
) -> BatchTranslations:
    """Translates sentences into text, as `translate`. Restores the model's mode."""
    began, was_training = time.perf_counter(), model.training
    model.eval()
    with torch.inference_mode():
        hypotheses = translate(model, source_tokenizer, sentences, decoding=decoding, progress=progress)
    model.train(was_training)
    seconds = time.perf_counter() - began
    texts, ended = [target_tokenizer.decode(each.ids) for each in hypotheses], [each.finished for each in hypotheses]
    return BatchTranslations(
        texts, ended, [len(row) >= MAX_TOKENS for row in source_tokenizer.encode_batch(_truncate(sentences))], seconds
    )


def _truncate(sentences: Sequence[str]) -> list[str]:
    return [each[:MAX_CHARACTERS] for each in sentences]


def score(translations: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Returns corpus BLEU and chrF by sacrebleu (detokenised, case kept), with BLEU's signature.

    `references` has one or more translations per sentence; the numbers may differ. Both scores go from 0 to 100. Raises
    ValueError where there is no sentence.
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


def score_translations(translations: BatchTranslations, references: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Returns `score` of the translations, with `sentences`, `unfinished` (stopped at the limit), `cut` (truncated sources,
    where there are some), and `seconds` where known."""
    result = score(translations.texts, references) | {
        "sentences": len(translations.texts),
        "unfinished": translations.ended.count(False),
    }
    result |= {"cut": translations.truncated.count(True)} if any(translations.truncated) else {}
    return result | ({} if translations.seconds is None else {"seconds": round(translations.seconds, 2)})


@torch.inference_mode()
def mean_head_outputs(
    model: Transformer, corpus: Corpus | Windows | MaskedRows, tokens: int = 4096
) -> dict[Site, torch.Tensor]:
    """Returns the mean z of every head at every site, [H,K], over a corpus (teacher-forced, without padding)."""
    device = next(model.parameters()).device
    sums: dict[Site, torch.Tensor] = {}
    counts: dict[Site, int] = {}
    for indices in corpus.batches(tokens, 0, 0):
        batch, probe = corpus.batch(indices).to(device), Probe("full")
        outputs = batch.outputs if "decoder" in model.config.kinds else None
        forced(model, batch.source, outputs, Pass(probe=probe))
        for site, record in probe.records.items():
            real = (batch.source if site.of.queries == "source" else batch.outputs) != PAD  # [B,T]
            z = record["z"].double().transpose(1, 2)[real]  # [N,H,K]
            sums[site] = sums.get(site, 0) + z.sum(dim=0)
            counts[site] = counts.get(site, 0) + len(z)
    return {site: (total / counts[site]).float() for site, total in sums.items()}
