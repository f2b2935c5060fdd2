"""Every head switched off in turn, in one pass: what lies below a head does not depend on it, and is computed once for all.

The batch begins as one unedited row and grows before each layer, by a copy of that row for every head of the layer: a head
of the last layer costs one layer, not all of them. Every row is computed as in a pass of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from model.checkpoint import Checkpoint
from model.decoding.search import choose
from model.edits.apply import Edits
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import Ablate, Place
from model.inference.passes import counted
from model.network import masks
from model.network.attention import MultiHeadAttention
from model.network.context import PLAIN, Pass, shifted
from model.trace import Site

PROJECTED = 2048  # positions whose logits are computed at once: memory stays bounded for the longest sentences
LOGITS = PROJECTED * 8192  # and for large vocabularies


class _Batch:
    """Hidden states whose rows are the unedited one, and one for each head that is off."""

    def __init__(self, checkpoint: Checkpoint, progress: Callable[[float], None]) -> None:
        self.model, self.heads, self.progress = checkpoint.model, checkpoint.config.heads, progress
        self.rows = [BASELINE]
        self.off: list[tuple[Site, int]] = []
        self.all = sum(isinstance(module, MultiHeadAttention) for module in self.model.modules()) * self.heads

    def grow(self, x: Tensor, layer: nn.Module) -> Tensor:
        """[B,T,D] with rows added that are unedited up to this layer, in which each of them lacks a head."""
        sites = [module.site for module in layer.modules() if isinstance(module, MultiHeadAttention)]
        new = [(site, head) for site in sites for head in range(self.heads)]
        self.off += new
        self.rows += [Intervention(edits=(Ablate(Place(*site, head)),)) for site, head in new]
        self.progress(len(self.off) / self.all / 2)
        return self.widened(x)

    def widened(self, x: Tensor) -> Tensor:
        """[B,T,D] with copies of the first row, as many rows as there are by now."""
        return torch.cat((x, x[:1].expand(len(self.rows) - len(x), -1, -1)))

    @property
    def at(self) -> Pass:
        return Pass(Edits(self.rows))


def each_head_off(
    checkpoint: Checkpoint,
    source: Sequence[int] | None,
    target: Sequence[int] | None,
    progress: Callable[[float], None] = lambda share: None,
) -> tuple[np.ndarray, list[tuple[Site, int]]]:
    """Log-probability of each target token, [1+N,T], of a classifier of its label, [1+N,1], of a model that fills in of each
    token that is `counted`, [1+N,C]: unedited, then with each of the N heads off; and these heads, row by row."""
    found, _, off = _run(checkpoint, source, target, progress, False)
    return found, off


def likeliest_too(
    checkpoint: Checkpoint, source: Sequence[int] | None, target: Sequence[int] | None
) -> tuple[np.ndarray, np.ndarray, list[tuple[Site, int]]]:
    """The same with the token that greedy decoding would choose at each place, [1+N,T]."""
    return _run(checkpoint, source, target, lambda share: None, True)


@torch.inference_mode()
def _run(
    checkpoint: Checkpoint,
    source: Sequence[int] | None,
    target: Sequence[int] | None,
    progress: Callable[[float], None],
    is_chosen: bool,
) -> tuple[np.ndarray, np.ndarray, list[tuple[Site, int]]]:
    """Log-probabilities, what would be chosen where that is asked for (else nothing), and the heads."""
    model, batch = checkpoint.model, _Batch(checkpoint, progress)
    ids, outputs = (
        None if side is None else torch.tensor([list(side)], device=checkpoint.device) for side in (source, target)
    )
    inputs = None if outputs is None else shifted(outputs)
    seen = masks.build(checkpoint.config, ids, inputs)
    x = memory = None
    if ids is not None:
        places, _ = PLAIN.positions("source", ids)
        x = model.source_embedding(ids, places)  # [1,S,D]
        for layer in model.encoder:
            x = layer(batch.grow(x, layer), seen.encoder, places, batch.at)
        x = memory = model.encoder_norm(x)
    if inputs is not None:
        places, _ = PLAIN.positions("target", inputs)
        x = batch.widened(model.target_embedding(inputs, places))  # [B,T,D]
        for layer in model.decoder:
            x = batch.grow(x, layer)
            read = () if memory is None else (batch.widened(memory),)
            crossed = () if memory is None else (seen.cross,)
            x = layer(x, *read, seen.decoder, *crossed, places, batch.at)
        x = model.decoder_norm(x)
    if outputs is None and not checkpoint.config.classes:
        chosen, tokens = counted(checkpoint, source)
        x, outputs = x[:, list(chosen)], torch.tensor([tokens], device=x.device)
    return *_scored(batch, x, ids, outputs, is_chosen), batch.off


def _scored(
    batch: _Batch, x: Tensor, source: Tensor | None, outputs: Tensor | None, is_chosen: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities [B,T] of outputs [1,T] after hidden states [B,T,D], some rows at a time; and what would be chosen.
    Of a classifier those of the label that the first row gives the source."""
    config, tokens = batch.model.config, outputs
    if config.classes:
        tokens = batch.model.answer(x[:1], source).argmax(-1)  # [1,1]
    length, vocabulary = max(1, x.size(1)), len(config.classes) or config.target_vocab
    each, found, likeliest = max(1, min(PROJECTED // length, LOGITS // (length * vocabulary))), [], [tokens[:0]]
    for first in range(0, len(x), each):
        rows = x[first : first + each]
        logits = batch.model.answer(rows, source if source is None else source.expand(len(rows), -1)).float()  # [b,T,V]
        logits -= logits.amax(-1, keepdim=True)  # else what is nearly certain is rounded away
        chosen = logits.gather(-1, tokens.expand(len(logits), -1)[..., None])[..., 0]  # [b,T]
        found.append(chosen - logits.logsumexp(-1))
        if is_chosen:
            likeliest.append(logits.argmax(-1) if config.classes else choose(logits))
        batch.progress(0.5 + min(len(x), first + each) / len(x) / 2)
    return torch.cat(found).cpu().numpy(), torch.cat(likeliest).cpu().numpy()
