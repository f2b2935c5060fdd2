"""Measures of a translation model on a file of pairs, and the most probable target of each source.

The measures are BLEU and chrF, unfinished translations and form of address (*tu* or *vous*): of distinct sentences, of long
ones, and of several sentences joined to one text.
"""

from __future__ import annotations

import math
import random
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from ...checkpoint import Checkpoint
from ...config import PAD
from ...decoding.strategy import Decoding
from ...network.context import teacher_forced_states
from ...text.languages import FRENCH
from ..corpus.corpus import Corpus, targets_by_source
from .scoring import GREEDY, BatchTranslations, score_translations, translate_texts

MAX_JOINED = 10  # sentences in one text


@dataclass(frozen=True)
class InputSelection:
    """Selects the inputs to translate from the pairs of a file; ValueError for invalid settings.

    Takes the distinct sentences of `at_least` words (separated by spaces), at most `limit`. `join` draws random sentences
    and joins them with spaces, between its two numbers per text. The draw depends on the sentences and `seed` only. No
    sentence is used twice, and leftovers are dropped.
    """

    at_least: int = 1
    limit: int | None = None
    join: tuple[int, int] | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise ValueError(f"--limit is {self.limit}; expected at least 1")
        if self.at_least < 1:
            raise ValueError(f"--at-least is {self.at_least}; expected at least 1 word")
        if self.join and not 2 <= self.join[0] <= self.join[1] <= MAX_JOINED:
            low, high = self.join
            raise ValueError(f"--join is {low}-{high}; expected as 3-5 or 4, with 2 to {MAX_JOINED} sentences in a text")
        if self.seed < 0:
            raise ValueError(f"--seed is {self.seed}; expected at least 0")

    def select(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, list[str]]]:
        """Returns each input with its references: all targets of a sentence, or for a joined text its first targets,
        joined.

        Raises ValueError where no input is left.
        """
        groups = [each for each in targets_by_source(pairs).items() if len(each[0].split()) >= self.at_least][: self.limit]
        if not groups:
            raise ValueError(f"no sentence has {self.at_least} words; give a smaller --at-least")
        if not self.join:
            return groups
        low, high = self.join
        rng, texts = random.Random(f"join/{low}-{high}/{self.seed}"), []
        rng.shuffle(groups)
        while len(groups) >= low:
            parts = [groups.pop() for _ in range(min(rng.randint(low, high), len(groups)))]
            texts.append((" ".join(source for source, _ in parts), [" ".join(targets[0] for _, targets in parts)]))
        if not texts:
            raise ValueError(f"there are {len(groups)} sentences; expected at least {low}, to join as many")
        return texts

    def to_dict(self) -> dict[str, int | list[int]]:
        """Returns the settings that differ from the default, for metrics.json."""
        settings: dict[str, int | list[int]] = {"at_least": self.at_least} if self.at_least > 1 else {}
        settings |= {} if self.limit is None else {"limit": self.limit}
        return settings | ({"join": list(self.join), "join_seed": self.seed} if self.join else {})


WORDS, LANGUAGE = FRENCH.address, FRENCH.name
_NOUNS = re.compile(r"(?<!\w)(?:rendez|garde[- ]à)-vous(?!\w)")  # *un rendez-vous*, *au garde-à-vous* address nobody
_PATTERNS = {
    name: re.compile("|".join(rf"(?<!\w){word}" + ("" if word[-1] == "'" else r"(?!\w)") for word in words))
    for name, words in WORDS.items()
}


def forms_of_address(text: str) -> set[str]:
    """Returns the forms, *tu* or *vous*, that occur in a text. Typographic apostrophes count as plain ones."""
    plain = _NOUNS.sub("", unicodedata.normalize("NFC", text).lower().replace("’", "'"))
    return {name for name, pattern in _PATTERNS.items() if pattern.search(plain)}


def address_shares(texts: Sequence[str]) -> dict[str, float | int | None]:
    """Returns the shares of texts with *tu* and with *vous* (0 to 1), and the ratio of *vous* to *tu*.

    The ratio is None without *tu*. A text may have both. Raises ValueError where there is no text.
    """
    if not texts:
        raise ValueError("there is no text to look for tu and vous in; expected at least one")
    forms = [forms_of_address(text) for text in texts]
    count = {name: sum(name in each for each in forms) for name in WORDS}
    result: dict[str, float | int | None] = {"texts": len(texts)}
    result |= {name: round(number / len(texts), 4) for name, number in count.items()}
    return result | {"vous_to_tu": round(count["vous"] / count["tu"], 3) if count["tu"] else None}


def compare_address(
    translations: Sequence[str], references: Sequence[Sequence[str]]
) -> dict[str, dict[str, float | int | None]]:
    """Returns `address_shares` of translations, of first references, and of all references where there are more."""
    first, rows = [each[0] for each in references], [each for own in references for each in own]
    return {"said": address_shares(translations), "first": address_shares(first)} | (
        {"all": address_shares(rows)} if len(rows) > len(first) else {}
    )


REFERENCES = ("first", "all")
LONG_WORDS = 15  # words of a long sentence
ALL_SENTENCES, JOINED = InputSelection(), InputSelection(join=(3, 5))
KEY_SUFFIXES = {
    "first": "",
    "all": "_all_references",
    "joined": "_joined",
    "long": "_long",
}  # what follows a key of metrics.json
Groups = Sequence[tuple[str, Sequence[str]]]  # inputs with their references
Progress = Callable[[int], None]


def measure(
    checkpoint: Checkpoint,
    pairs: Sequence[tuple[str, str]],
    inputs: InputSelection = ALL_SENTENCES,
    references: str = "first",
    decoding: Decoding = GREEDY,
    progress: Progress = lambda done: None,
) -> dict[str, Any]:
    """Translates the inputs that `inputs` selects from the pairs, and scores the translations.

    Returns the keys of `scored` and `InputSelection.to_dict`, `references`, and of a model that writes French the
    `address`. Joined sentences have one reference, because only their first targets belong together.
    """
    assert not inputs.join or references == "first"
    groups = inputs.select(pairs)
    return _row(checkpoint, groups, _translate(checkpoint, groups, decoding, progress), references, inputs)


def measure_all(
    checkpoint: Checkpoint,
    pairs: Sequence[tuple[str, str]],
    limit: int | None = None,
    decoding: Decoding = GREEDY,
    progress: Progress = lambda done: None,
) -> dict[str, dict[str, Any]]:
    """Returns `measure` of several selections of inputs, by name.

    `first` and `all`: all distinct sentences (at most `limit`) with the first or all references. `long`: the long ones
    among them, with the limit as `of_first`. `joined`: joined sentences. A selection without inputs is left out.
    """
    inputs = replace(ALL_SENTENCES, limit=limit)
    groups = inputs.select(pairs)
    translations = _translate(checkpoint, groups, decoding, progress)
    entries = {each: _row(checkpoint, groups, translations, each, inputs) for each in REFERENCES}
    if JOINED.join and len(groups) >= JOINED.join[0]:
        entries["joined"] = measure(checkpoint, pairs, replace(JOINED, limit=limit), "first", decoding, progress)
    if rows := [n for n, (source, _) in enumerate(groups) if len(source.split()) >= LONG_WORDS]:
        chosen = [groups[n] for n in rows]
        entries["long"] = _row(checkpoint, chosen, translations.select(rows), "first", InputSelection(at_least=LONG_WORDS))
        entries["long"] |= {} if limit is None else {"of_first": limit}
    return entries


def _translate(checkpoint: Checkpoint, groups: Groups, decoding: Decoding, progress: Progress) -> BatchTranslations:
    tokenizers = checkpoint.source_tokenizer, checkpoint.target_tokenizer
    return translate_texts(checkpoint.model, *tokenizers, [source for source, _ in groups], progress, decoding)


def _row(
    checkpoint: Checkpoint, groups: Groups, translations: BatchTranslations, references: str, inputs: InputSelection
) -> dict[str, Any]:
    rows = [targets if references == "all" else targets[:1] for _, targets in groups]
    entry: dict[str, Any] = score_translations(translations, rows) | {"references": references} | inputs.to_dict()
    if checkpoint.languages[1] == LANGUAGE:
        entry["address"] = compare_address(translations.texts, [targets for _, targets in groups])
    return entry


def reaches_limit(row: Mapping[str, Any]) -> float:
    """Returns the share of inputs (0 to 1) whose translation reached the limit of tokens."""
    return row["unfinished"] / row["sentences"]


BATCH_TOKENS = 8192  # of a batch, on a side


@torch.inference_mode()
def mean_log_probs(
    checkpoint: Checkpoint, pairs: Sequence[tuple[str, str]], progress: Callable[[int], object] = lambda done: None
) -> dict[tuple[str, str], float]:
    """Returns the mean log-probability per token, in nats, of each pair's target with `</s>`, teacher-forced.

    Pairs over the text limit are left out. `progress` gets the number of finished pairs.
    """
    model = checkpoint.model
    device = next(model.parameters()).device
    corpus = Corpus.encode(pairs, checkpoint.source_tokenizer, checkpoint.target_tokenizer)
    scores: dict[tuple[str, str], float] = {}
    for rows in filter(len, corpus.batches(BATCH_TOKENS, 0, 0)):  # one batch of nothing where no pair is within the limit
        batch = corpus.batch(rows).to(device)
        real = batch.outputs != PAD  # [B,T]
        logits = model.project(teacher_forced_states(model, batch.source, batch.outputs)[real]).float()  # [N,V]
        own = logits.gather(-1, batch.outputs[real][:, None])[:, 0] - logits.logsumexp(-1)  # [N]
        each = torch.zeros(real.shape, device=device).masked_scatter_(real, own).sum(1) / real.sum(1)  # [B]
        scores |= {tuple(pairs[corpus.pair_indices[row]]): value for row, value in zip(rows, each.tolist(), strict=True)}
        progress(len(rows))
    return scores


def choose_targets(
    checkpoint: Checkpoint,
    pairs: Sequence[tuple[str, str]],
    progress: Callable[[int], object] = lambda done: None,
    as_addressed: bool = False,
) -> list[tuple[str, str]]:
    """Returns each distinct source once, in order, with its target of the highest mean log-probability.

    A source with one target keeps it. Targets over the text limit are used only where there is no other. `as_addressed`
    preserves the ratio of *vous* to *tu* of all targets: among sources with both forms, *vous* goes to those where the
    model prefers it most. Without it the slightly more probable form wins nearly always.
    """
    groups = {source: list(dict.fromkeys(targets)) for source, targets in targets_by_source(pairs).items()}
    several = [(source, target) for source, targets in groups.items() if len(targets) > 1 for target in targets]
    values = mean_log_probs(checkpoint, several, progress)
    best = {source: _best(source, targets, values) for source, targets in groups.items()}
    if as_addressed:
        best |= _choose_by_address(groups, values, best)
    return list(best.items())


def _best(source: str, targets: Sequence[str], values: Mapping[tuple[str, str], float]) -> str:
    return max(targets, key=lambda target: values.get((source, target), -math.inf))


def _choose_by_address(
    groups: Mapping[str, Sequence[str]], values: Mapping[tuple[str, str], float], best: Mapping[str, str]
) -> dict[str, str]:
    """Chooses a target of the sources that have targets with only *tu* and with only *vous*."""
    every = [forms_of_address(target) for targets in groups.values() for target in targets]
    wanted = sum("vous" in forms for forms in every) / max(1, sum("tu" in forms for forms in every))  # vous to one tu
    leaning: list[tuple[float, str, str, str]] = []
    for source, targets in groups.items():
        tu, vous = ([target for target in targets if forms_of_address(target) == {name}] for name in ("tu", "vous"))
        if tu and vous:
            one, two = _best(source, tu, values), _best(source, vous, values)
            gap = values.get((source, two), -math.inf) - values.get((source, one), -math.inf)
            leaning.append((0.0 if math.isnan(gap) else gap, source, one, two))
    free = {source for _, source, _, _ in leaning}
    fixed = [forms_of_address(target) for source, target in best.items() if source not in free]
    has = {name: sum(name in forms for forms in fixed) for name in ("tu", "vous")}
    count = round((wanted * (has["tu"] + len(leaning)) - has["vous"]) / (1 + wanted))
    ordered = sorted(leaning, reverse=True)
    return {source: vous if place < count else tu for place, (_, source, tu, vous) in enumerate(ordered)}
