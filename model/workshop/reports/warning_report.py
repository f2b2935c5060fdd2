"""Precision of the lab's warnings: sentences with a warning against bad translations.

A translation is bad if its chrF, against the best of the sentence's references, is under `BAD_CHRF`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from sacrebleu.metrics import CHRF

from ...checkpoint import Checkpoint
from ...config import END, MAX_CHARACTERS, MAX_TOKENS
from ...decoding.strategy import Decoding
from ...edits.intervention import BASELINE
from ...inference import cautions
from ...inference.passes import teacher_force
from ..corpus.corpus import targets_by_source
from ..evaluation.scoring import GREEDY, translate

BAD_CHRF = 50.0  # chrF, 0 to 100


@torch.inference_mode()
def measure_warnings(
    checkpoint: Checkpoint,
    pairs: Sequence[tuple[str, str]],
    limit: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
    decoding: Decoding = GREEDY,
) -> dict[str, Any]:
    """Translates the distinct sources (at most `limit`), and counts each kind of warning and its hits.

    Returns `bar`, `sentences`, `bad`; `rules`: for each kind `warned` and `right`; and `signs`: the `sentences` with no,
    one, two... kinds of warning, and the number of `bad` ones. A kind whose data the checkpoint lacks is left out.
    """
    groups = list(targets_by_source(pairs).items())[:limit]
    hypotheses = translate(checkpoint.model, checkpoint.source_tokenizer, [s for s, _ in groups], 64, progress, decoding)
    chrf, bad, kinds = CHRF(), [], []
    for (source, references), hypothesis in zip(groups, hypotheses, strict=True):
        translation = checkpoint.target_tokenizer.decode(hypothesis.ids)
        bad.append(max(chrf.sentence_score(translation, [each]).score for each in references) < BAD_CHRF)
        ids = [*checkpoint.source_tokenizer.encode(source[:MAX_CHARACTERS])[: MAX_TOKENS - 1], END]
        (trace,) = teacher_force(checkpoint, ids, hypothesis.ids, [BASELINE])
        kinds.append(cautions.kinds(trace, checkpoint.source_tokenizer, checkpoint.seen))
    rules = {
        name: {
            "warned": sum(each[name] for each in kinds),
            "right": sum(each[name] and wrong for each, wrong in zip(kinds, bad, strict=True)),
        }
        for name in (kinds[0] if kinds else ())
    }
    numbers = [sum(each.values()) for each in kinds]
    signs = [
        {
            "sentences": numbers.count(number),
            "bad": sum(each == number and wrong for each, wrong in zip(numbers, bad, strict=True)),
        }
        for number in range(len(rules) + 1)
    ]
    return {"bar": BAD_CHRF, "sentences": len(groups), "bad": sum(bad), "rules": rules, "signs": signs}
