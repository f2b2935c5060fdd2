"""Cells of attention, cut by edits, and the difference of two logits under many cuts of one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from ..checkpoint import Checkpoint
from ..edits.apply import BatchEdits
from ..edits.edit import HeadsEdit
from ..edits.intervention import Intervention
from ..edits.kinds import BlockCells, Place, TokenLabels
from ..inference.source_reading import build_edits
from ..network import masks
from ..network.context import Cache, Pass, shift_right, teacher_forced_states
from ..trace import AttentionKind, Trace

TOKENS, MAX_ROWS = 1024, 128  # of a batch: bounds memory


class Cell(NamedTuple):
    """A cell of the patterns of a kind of attention, in all layers: query and key from 0."""

    kind: AttentionKind
    query: int
    key: int

    @property
    def is_own(self) -> bool:
        """True where a token attends to itself."""
        return self.kind != "cross" and self.query == self.key

    def cut(self, layer: int | None = None, head: int | None = None) -> BlockCells:
        """Returns the edit that cuts the cell, in all layers or in one, in all heads or in one."""
        return BlockCells(Place(self.kind, layer, head), self.query, self.key)


@dataclass(frozen=True)
class ZeroCells(HeadsEdit):
    """Sets the weight of a cell to 0 after the softmax. The rest of the row keeps its weights. Links cannot hold it."""

    place: Place
    query: int
    key: int

    @property
    def code(self) -> str:
        return f"zero_{self.place.code}_{self.query + 1}-{self.key + 1}"

    def text(self, labels: TokenLabels) -> str:
        kind = self.place.kind
        return f"{self.place.text}: weight 0 from {labels.query(kind, self.query)} to {labels.key(kind, self.key)}"

    def change_pattern(self, pattern: Tensor, mask: Tensor, start: int) -> None:
        if self.query >= start:
            pattern[:, self.place.heads, self.query - start, self.key] = 0


Cut = BlockCells | ZeroCells


class CutRunner:
    """Runs one sentence under many cuts, and measures the logit of a token minus that of a rival in a row."""

    def __init__(self, checkpoint: Checkpoint, trace: Trace, row: int, token: int, rival: int) -> None:
        self.checkpoint, self.trace, self.row = checkpoint, trace, row
        self.tokens = [token, rival]
        self.source = None if trace.source is None else trace.source.ids
        self.target = None if trace.outputs is None else trace.outputs.ids
        if self.target is not None and checkpoint.config.causal:
            self.target = self.target[: row + 1]  # later tokens change nothing

    @torch.inference_mode()
    def differences(self, runs: Sequence[Sequence[Cut]]) -> list[float]:
        """Returns the difference of logits under each set of edits, in nats.

        Edits of the decoder leave all rows before their own unchanged, so these rows are computed once.
        """
        results = [0.0] * len(runs)
        by_start: dict[int | None, list[int]] = {}
        for number, run in enumerate(runs):
            by_start.setdefault(self._first_changed_row(run), []).append(number)
        length = len(self.source or ()) + len(self.target or ())
        for start, numbers in by_start.items():
            fresh = length if start is None else len(self.target) - start
            size = min(MAX_ROWS, max(1, TOKENS // max(1, fresh)))
            for first in range(0, len(numbers), size):
                chosen = numbers[first : first + size]
                edits = build_edits(self.checkpoint, self.source, [Intervention(edits=tuple(runs[n])) for n in chosen])
                hidden, source = self._full_pass(edits) if start is None else self._decoder_rows(edits, start)
                logits = self.checkpoint.model.task_logits(hidden, source)[:, 0, self.tokens].double()  # [N,2]
                for number, value in zip(chosen, (logits[:, 0] - logits[:, 1]).tolist(), strict=True):
                    results[number] = value
        return results

    def _first_changed_row(self, run: Sequence[Cut]) -> int | None:
        """Returns the first row that edits of the decoder change; None for edits that need a pass over everything."""
        if self.target is None or not self.checkpoint.config.causal or not run:
            return None
        return None if any(cut.place.kind == "encoder" for cut in run) else min(cut.query for cut in run)

    def _full_pass(self, edits: BatchEdits) -> tuple[Tensor, Tensor | None]:
        """Returns the hidden states of the row, [N,1,D], of a classifier of all rows, and the source ids [N,S]."""
        source, target = (
            None if ids is None else torch.tensor([list(ids)] * len(edits.rows), device=self.checkpoint.device)
            for ids in (self.source, self.target)
        )
        hidden = teacher_forced_states(self.checkpoint.model, source, target, Pass(edits))  # [N,T,D]
        return hidden if self.trace.classes else hidden[:, self.row : self.row + 1], source

    def _decoder_rows(self, edits: BatchEdits, start: int) -> tuple[Tensor, None]:
        """Returns the hidden states of the row, [N,1,D], computed from row `start` on."""
        model, config, rows = self.checkpoint.model, self.checkpoint.config, len(edits.rows)
        inputs = shift_right(torch.tensor([list(self.target)], device=self.checkpoint.device))  # [1,T]
        memory, cross, cache = self.memory, self.memory_mask, Cache()
        if start:
            own = masks.decoder_mask(config, inputs[:, :start])
            model.decode(inputs[:, :start], memory, own, cross, Pass(cache=cache))
            cache.select(torch.zeros(rows, dtype=torch.long, device=inputs.device))
        inputs = inputs.expand(rows, -1)  # [N,T]
        own = masks.decoder_mask(config, inputs, queries=inputs.size(1) - start)
        if memory is not None:
            memory = memory.expand(rows, -1, -1)  # [N,S,D]
        hidden = model.decode(inputs[:, start:], memory, own, cross, Pass(edits, cache=cache, start=start))  # [N,T-start,D]
        return hidden[:, self.row - start, None], None

    @cached_property
    def memory(self) -> Tensor | None:
        """The output of the encoder without edits, [1,S,D]; None without one."""
        if self.source is None:
            return None
        ids = torch.tensor([list(self.source)], device=self.checkpoint.device)  # [1,S]
        return self.checkpoint.model.encode(ids, masks.encoder_mask(self.checkpoint.config, ids))

    @property
    def memory_mask(self) -> Tensor | None:
        """The mask of cross-attention, [1,1,1,S]; None without an encoder."""
        return (
            None
            if self.source is None
            else masks.cross_mask(torch.tensor([list(self.source)], device=self.checkpoint.device))
        )
