"""Scores of a checkpoint on a corpus: translate every sentence, compare with the references.

The mean of what every head puts out: what a head may be replaced by, so that it says nothing of this sentence."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from sacrebleu.metrics import BLEU, CHRF

from model.config import END, MAX_CHARACTERS, MAX_TOKENS, PAD
from model.decoding.hypotheses import Hypothesis
from model.decoding.strategy import Decoding
from model.network.context import Pass, forced
from model.network.transformer import Transformer
from model.text.tokenizer import Tokenizer
from model.trace import Probe, Site
from model.workshop.corpus.corpus import Corpus, pad
from model.workshop.corpus.sentence_pairs import Rows
from model.workshop.corpus.windows import Windows

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
    ids = [[*row[: MAX_TOKENS - 1], END] for row in source_tokenizer.encode_batch(_read(sentences))]
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    found: dict[int, Hypothesis] = {}
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        source = pad([ids[i] for i in chosen]).to(device)
        trees = decoding.search(model, source)
        found |= zip(chosen, (tree[0] for tree in trees), strict=True)
        progress(len(chosen))
    return [found[i] for i in range(len(ids))]


@dataclass(frozen=True)
class Said:
    """What a model made of some sentences: the texts, which of them came to an end before the limit of tokens, which sources
    were cut there, and the seconds that they all took; None where it is not known of just these."""

    texts: list[str]
    ended: list[bool]
    cut: list[bool]
    seconds: float | None

    def chosen(self, rows: Sequence[int]) -> Said:
        """Some of them, whose own time is not known."""
        return Said(*([each[n] for n in rows] for each in (self.texts, self.ended, self.cut)), None)


def say(
    model: Transformer,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    sentences: Sequence[str],
    progress: Callable[[int], None] = lambda done: None,
    decoding: Decoding = GREEDY,
) -> Said:
    """Translates sentences as `translate`, into text. The model's mode comes back as it was."""
    began, was_training = time.perf_counter(), model.training
    model.eval()
    with torch.inference_mode():
        found = translate(model, source_tokenizer, sentences, decoding=decoding, progress=progress)
    model.train(was_training)
    seconds = time.perf_counter() - began
    texts, ended = [target_tokenizer.decode(each.ids) for each in found], [each.finished for each in found]
    return Said(texts, ended, [len(row) >= MAX_TOKENS for row in source_tokenizer.encode_batch(_read(sentences))], seconds)


def _read(sentences: Sequence[str]) -> list[str]:
    return [each[:MAX_CHARACTERS] for each in sentences]


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


def scored(said: Said, references: Sequence[Sequence[str]]) -> dict[str, Any]:
    """`score` of what was said, with `sentences`, `unfinished` (how many stopped at the limit), `cut` where sources
    were (how many), and `seconds` where they are known."""
    found = score(said.texts, references) | {"sentences": len(said.texts), "unfinished": said.ended.count(False)}
    found |= {"cut": said.cut.count(True)} if any(said.cut) else {}
    return found | ({} if said.seconds is None else {"seconds": round(said.seconds, 2)})


@torch.inference_mode()
def head_means(model: Transformer, corpus: Corpus | Windows | Rows, tokens: int = 4096) -> dict[Site, torch.Tensor]:
    """Mean z of every head at every site, [H,K], over the positions of a corpus that are not padding (teacher-forced)."""
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
