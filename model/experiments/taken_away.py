"""Source words taken away: no token may look at them any more, neither in the encoder nor from the decoder.

The others keep their places, and the target is read as it is: what changes is what can be known of the words, and nothing
else. (To delete them from the text would move the others.) A model has hardly met such gaps in training: that is why an
order is compared with random ones, which make the same gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

import torch
from torch import Tensor

from model.checkpoint import Checkpoint
from model.config import END, PAD, START
from model.inference.analysis import Analysis
from model.inference.donors import edits_of
from model.inference.reading import blank_places, likeliest
from model.network.context import Pass, forced
from model.readings.word_readings import Words

Away = frozenset[int]  # words, from 0
TOKENS = 1024  # of a batch, both sides together: what is computed at once stays in the processor's caches


class TakenAway:
    """Log-probabilities of the target's tokens where some of the source words are away; nothing is computed twice. Of a
    model that fills in they are those of what the blanks are filled with, or of all words where there is no blank.

    Under the intervention of the analysis. Raises ValueError for a model that reads no source, and where the padding mask is
    off: then what is masked would be seen all the same.
    """

    def __init__(self, checkpoint: Checkpoint, analysis: Analysis) -> None:
        trace = analysis.whole
        if trace.source is None or trace.classes:
            raise ValueError("This checkpoint chooses no token from a source: there are no source words to take away.")
        if not analysis.request.intervention.padding_mask:
            raise ValueError("The padding mask is off, so words that are taken away would still be seen: switch it on.")
        self._checkpoint, self._analysis, self._source = checkpoint, analysis, trace.source.ids
        mask, self.kind = None, "cross"  # the kind of attention that brings the words to where a token is chosen
        if trace.outputs is not None:
            self.ids, self.steps = trace.outputs.ids, list(range(len(trace.outputs)))
        else:
            mask, self.kind, places = checkpoint.source_tokenizer.mask, "encoder", blank_places(analysis, checkpoint)
            self.ids = likeliest(analysis, places, mask)
            self.steps = places or [n for n, token in enumerate(self._source) if token not in (PAD, START, END)]
        self.words = Words.of(trace.source, mask)
        self._known: dict[tuple[Away, int], float] = {}

    def __getitem__(self, asked: tuple[Away, int]) -> float:
        """The log-probability of a step's token without some words, once it has been computed."""
        return self._known[asked]

    def compute(self, wanted: Mapping[int, Collection[Away]], progress: Callable[[float], None] = lambda done: None) -> None:
        """Computes what is not known of the sets of words that are wanted at each step (from 0); `progress` hears the share
        that is done."""
        missing = {
            step: sets for step, each in wanted.items() if (sets := {s for s in each if (s, step) not in self._known})
        }
        batches = list(self._batches(missing))
        for done, (sets, steps) in enumerate(batches, 1):
            found = self._pass(sets, steps)
            self._known |= {
                (away, step): float(value)
                for away, row in zip(sets, found.tolist(), strict=True)
                for step, value in zip(steps, row, strict=True)
            }
            progress(done / len(batches))

    def _batches(self, missing: Mapping[int, Collection[Away]]) -> Iterator[tuple[list[Away], list[int]]]:
        """Sets of words and the steps that one pass reads of all of them."""
        if self._analysis.last is None:  # one pass tells all steps
            groups = [(list(missing), set().union(*missing.values()))] if missing else []
        else:  # each step was decoded over its own prefix
            groups = [([step], sets) for step, sets in missing.items()]
        for steps, sets in groups:
            ordered = sorted(sets, key=lambda away: (len(away), sorted(away)))
            most = max(1, TOKENS // (len(self._source) + self._length(steps)))
            for first in range(0, len(ordered), most):
                yield ordered[first : first + most], steps

    def _length(self, steps: Collection[int]) -> int:
        """How many target tokens are read for some steps: what follows them is, where it can be seen."""
        if self.kind == "encoder":
            return 0
        analysis = self._analysis
        causal = self._checkpoint.config.causal and analysis.request.intervention.causal_mask
        return max(steps) + 1 if causal or analysis.last is not None else len(self.ids)

    @torch.inference_mode()
    def _pass(self, sets: Collection[Away], steps: list[int]) -> Tensor:
        """One pass: [N,steps]."""
        checkpoint, device = self._checkpoint, self._checkpoint.device
        source = torch.tensor([self._source] * len(sets), device=device)  # [N,S]
        chosen = torch.tensor([[self.ids[step] for step in steps]] * len(sets), device=device)  # [N,steps]
        outputs = None
        if length := self._length(steps):
            outputs = torch.tensor([self.ids[:length]] * len(sets), device=device)  # [N,T]
        places = [[place for word in away for place in self.words.places[word]] for away in sets]
        seen = source.clone()
        for row, own in enumerate(places):
            seen[row, own] = PAD
        at = Pass(edits_of(checkpoint, self._source, [self._analysis.request.intervention]))
        hidden = forced(checkpoint.model, source, outputs, at, masked_by=seen)[:, steps]  # [N,steps,D]
        log_probs = checkpoint.model.project(hidden).log_softmax(-1)  # [N,steps,V]
        return log_probs.gather(-1, chosen[..., None])[..., 0]
