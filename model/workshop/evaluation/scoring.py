"""Scores of a checkpoint on a corpus, and the mean output of every head.

A decoder-only model is scored by the bits per character of a text, and by the repetition in its continuations.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from sacrebleu.metrics import BLEU, CHRF

from ...checkpoint import Checkpoint
from ...config import END, MAX_CHARACTERS, MAX_TOKENS, PAD
from ...decoding.hypotheses import Hypothesis
from ...decoding.strategy import Decoding
from ...network.context import Pass, teacher_forced_states
from ...network.transformer import Transformer
from ...text.tokenizer import Tokenizer
from ...trace import Probe, Site
from ..corpus.corpus import Corpus, pad
from ..corpus.sentence_pairs import MaskedRows
from ..corpus.windows import Windows, count_characters
from ..sharding import ordered_map

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
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]

    def search(chosen: list[int]) -> list[Hypothesis]:
        return [tree[0] for tree in decoding.search(model, pad([ids[i] for i in chosen]).to(device))]

    for chosen, best in zip(batches, ordered_map(search, batches), strict=True):
        hypotheses |= zip(chosen, best, strict=True)
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
    texts, ended = [target_tokenizer.decode(each.ids) for each in hypotheses], [each.is_finished for each in hypotheses]
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
        teacher_forced_states(model, batch.source, outputs, Pass(probe=probe))
        for site, record in probe.records.items():
            real = (batch.source if site.spec.query_side == "source" else batch.outputs) != PAD  # [B,T]
            z = record["z"].double().transpose(1, 2)[real]  # [N,H,K]
            sums[site] = sums.get(site, 0) + z.sum(dim=0)
            counts[site] = counts.get(site, 0) + len(z)
    return {site: (total / counts[site]).float() for site, total in sums.items()}


STRIDE = 32  # predicted tokens per window, and distance between windows
BATCH_WINDOWS = 16  # windows per batch


def bits_per_character(nats: float, count: int) -> float:
    """Converts the cost of a text in nats to bits per character."""
    return nats / math.log(2) / count


@dataclass(frozen=True)
class ParagraphCosts:
    """Costs of the P paragraphs of a text.

    A line end follows each paragraph and counts as a character: `</s>` predicts it. The bits are those of one segmentation,
    so the model's probability of the text is at least as high.
    """

    nats: np.ndarray  # [P]
    tokens: np.ndarray  # [P], `</s>` among them
    characters: np.ndarray  # [P], the line end among them


def windows(tokens: int, stride: int) -> list[tuple[int, int, int]]:
    """Returns start, end and first predicted token of each window over a text of `tokens` tokens.

    Each later window has at least MAX_TOKENS - stride tokens before its first prediction.
    """
    result, done = [], 0
    while done < tokens:
        end = min(tokens, MAX_TOKENS if not done else done + stride)
        result.append((max(0, end - MAX_TOKENS), end, done))
        done = end
    return result


@torch.inference_mode()
def score_text(
    model: Transformer,
    tokenizer: Tokenizer,
    paragraphs: Sequence[str],
    stride: int = STRIDE,
    progress: Callable[[int], object] = lambda done: None,
) -> ParagraphCosts:
    """Returns the costs of the paragraphs of one text, in order. A window begins with `<s>`, as in training.

    `progress` gets the number of finished tokens. Raises ValueError for a stride outside a window.
    """
    if not 1 <= stride <= MAX_TOKENS:
        raise ValueError(f"the stride is {stride}; expected 1 to {MAX_TOKENS}, the tokens of a window")
    device = next(model.parameters()).device
    encoded = [[*tokenizer.encode(text), END] for text in paragraphs]
    stream = torch.tensor([token for own in encoded for token in own])
    costs = np.empty(len(stream))
    cut = windows(len(stream), stride)

    def measure(number: int) -> tuple[np.ndarray, np.ndarray]:
        chosen = cut[number : number + BATCH_WINDOWS]
        outputs = torch.stack([stream[start : start + MAX_TOKENS] for start, _, _ in chosen]).to(device)  # [B,T]
        place = torch.arange(outputs.size(1))[None] + torch.tensor([[start] for start, _, _ in chosen])  # [B,T]
        fresh = place >= torch.tensor([[done] for _, _, done in chosen])  # [B,T]
        own = fresh.to(device)
        log_probs = model.project(teacher_forced_states(model, None, outputs)[own]).double().log_softmax(-1)  # [N,V]
        return place[fresh].numpy(), -log_probs.gather(-1, outputs[own][:, None])[:, 0].cpu().numpy()

    for places, values in ordered_map(measure, range(0, len(cut), BATCH_WINDOWS)):
        costs[places] = values
        progress(len(places))
    tokens = np.array([len(own) for own in encoded])
    return ParagraphCosts(sum_segments(costs, tokens), tokens, np.array([count_characters(text) for text in paragraphs]))


def sum_segments(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Returns the sums of consecutive segments of the given lengths, at least one value each."""
    return np.add.reduceat(values, np.cumsum(lengths) - lengths)


PROMPT_TOKENS, NEW_TOKENS, NGRAM_SIZE = 24, 64, 4  # tokens of the prompt, of the continuation, of a repeated n-gram
LOOP_SHARE = 0.5  # a continuation with this share of repetition or more is a loop
DECODINGS = {"greedy": Decoding(), "drawn": Decoding("sample", temperature=0.8, top_p=0.9)}


def repetition_share(ids: Sequence[int], size: int = NGRAM_SIZE) -> float:
    """Returns the share of n-grams of `size` tokens that occur earlier: 1 - distinct / all (seq-rep-n of Welleck et al.
    2020); 0 where there is none."""
    runs = [tuple(ids[n : n + size]) for n in range(len(ids) - size + 1)]
    return 1 - len(set(runs)) / len(runs) if runs else 0.0


def measure_continuations(
    checkpoint: Checkpoint, paragraphs: Sequence[str], count: int, progress: Callable[[int], object] = lambda done: None
) -> dict[str, Any]:
    """Continues the beginnings of `count` evenly spread long paragraphs, greedily and sampled; compares them with the text
    itself.

    `progress` is called after each beginning. Raises ValueError where no paragraph is long enough, and for a count below 1.
    """
    if count < 1:
        raise ValueError(f"the continuations are {count}; expected at least 1")
    encoded = [checkpoint.target_tokenizer.encode(text) for text in paragraphs]
    long = [ids for ids in encoded if len(ids) >= PROMPT_TOKENS + NEW_TOKENS]
    if not long:
        longest = max(map(len, encoded), default=0)
        raise ValueError(
            f"the longest paragraph has {longest} tokens; expected one of {PROMPT_TOKENS + NEW_TOKENS} to continue"
        )
    chosen = [long[int(n)] for n in np.linspace(0, len(long) - 1, min(count, len(long))).round()]
    shares: dict[str, list[float]] = {"text": [], **{name: [] for name in DECODINGS}}
    ended = dict.fromkeys(DECODINGS, 0)

    def continue_text(ids: list[int]) -> dict[str, tuple[int, ...]]:
        limited = {name: replace(way, max_total_tokens=PROMPT_TOKENS + NEW_TOKENS) for name, way in DECODINGS.items()}
        prompt = ids[:PROMPT_TOKENS]
        return {name: way.search(checkpoint.model, None, prefix=prompt)[0][0].ids for name, way in limited.items()}

    for ids, paths in zip(chosen, ordered_map(continue_text, chosen), strict=True):
        shares["text"].append(repetition_share(ids[PROMPT_TOKENS : PROMPT_TOKENS + NEW_TOKENS]))
        for name, path in paths.items():
            shares[name].append(repetition_share(path[PROMPT_TOKENS:]))
            ended[name] += path[-1] == END
        progress(1)
    return {
        "beginnings": len(chosen),
        "given": PROMPT_TOKENS,
        "added": NEW_TOKENS,
        "size": NGRAM_SIZE,
        "repeated": {name: round(float(np.mean(each)), 4) for name, each in shares.items()},
        "loops": {name: round(float(np.mean(np.array(each) >= LOOP_SHARE)), 4) for name, each in shares.items()},
        "ended": {name: round(each / len(chosen), 4) for name, each in ended.items()},
    }
