"""What is measured of a model that translates, on a file of pairs: BLEU and chrF, how many translations reach the limit of
tokens, whom they address; of single sentences, of long ones, and of several that are typed as one text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from model.checkpoint import Checkpoint
from model.decoding.strategy import Decoding
from model.evaluation import address
from model.evaluation.inputs import Inputs
from model.evaluation.scoring import GREEDY, Said, say, scored

REFERENCES = ("first", "all")
LONG = 15  # words of a long sentence
EVERY, JOINED = Inputs(), Inputs(join=(3, 5))
NAMES = {"first": "", "all": "_all_references", "joined": "_joined", "long": "_long"}  # what follows a key of metrics.json
Groups = Sequence[tuple[str, Sequence[str]]]  # inputs with their references
Progress = Callable[[int], None]


def measure(
    checkpoint: Checkpoint,
    pairs: Sequence[tuple[str, str]],
    inputs: Inputs = EVERY,
    references: str = "first",
    decoding: Decoding = GREEDY,
    progress: Progress = lambda done: None,
) -> dict[str, Any]:
    """Translates what `inputs` makes of the pairs, and scores that.

    Returns what `scored` and `Inputs.to_dict` do, `references`, and of a model that writes French the `address`. Joined
    sentences have one reference: only the first ones belong together.
    """
    assert not inputs.join or references == "first"
    groups = inputs.of(pairs)
    return _row(checkpoint, groups, _said(checkpoint, groups, decoding, progress), references, inputs)


def measure_all(
    checkpoint: Checkpoint,
    pairs: Sequence[tuple[str, str]],
    limit: int | None = None,
    decoding: Decoding = GREEDY,
    progress: Progress = lambda done: None,
) -> dict[str, dict[str, Any]]:
    """`measure` of all distinct sentences (at most `limit`) against the `first` and `all` references, of those of them that
    are `long` (with a limit they tell it as `of_first`) and of the sentences `joined`; a kind of input of which the file has
    none is left out."""
    inputs = replace(EVERY, limit=limit)
    groups = inputs.of(pairs)
    said = _said(checkpoint, groups, decoding, progress)
    found = {each: _row(checkpoint, groups, said, each, inputs) for each in REFERENCES}
    if JOINED.join and len(groups) >= JOINED.join[0]:
        found["joined"] = measure(checkpoint, pairs, replace(JOINED, limit=limit), "first", decoding, progress)
    if rows := [n for n, (source, _) in enumerate(groups) if len(source.split()) >= LONG]:
        chosen = [groups[n] for n in rows]
        found["long"] = _row(checkpoint, chosen, said.chosen(rows), "first", Inputs(at_least=LONG))
        found["long"] |= {} if limit is None else {"of_first": limit}
    return found


def _said(checkpoint: Checkpoint, groups: Groups, decoding: Decoding, progress: Progress) -> Said:
    tokenizers = checkpoint.source_tokenizer, checkpoint.target_tokenizer
    return say(checkpoint.model, *tokenizers, [source for source, _ in groups], progress, decoding)


def _row(checkpoint: Checkpoint, groups: Groups, said: Said, references: str, inputs: Inputs) -> dict[str, Any]:
    rows = [targets if references == "all" else targets[:1] for _, targets in groups]
    found: dict[str, Any] = scored(said, rows) | {"references": references} | inputs.to_dict()
    if checkpoint.languages[1] == address.LANGUAGE:
        found["address"] = address.compared(said.texts, [targets for _, targets in groups])
    return found


def reaches_limit(row: Mapping[str, Any]) -> float:
    """The share of inputs, 0 to 1, whose translation reached the limit of tokens."""
    return row["unfinished"] / row["sentences"]
