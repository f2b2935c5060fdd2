"""Activation patching: runs one sentence with a piece of another sentence's run put in, piece after piece.

See Vig et al. 2020 and Meng et al. 2022. The measure is a difference of two logits at one step: of the token that the first
sentence chose, and of the one that the other would have chosen after the same target tokens. The effect of a patch is its
share of the way from the first sentence's difference to the other's. It is 0 for no change and 1 for the full change. It may
be below 0 or above 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from ..checkpoint import Checkpoint
from ..decoding.hypotheses import first_difference
from ..edits.intervention import BASELINE, Intervention
from ..edits.kinds import Edit, PatchStream, PatchZ, Place
from ..inference.analyse import analyse
from ..inference.analysis import Analysis
from ..inference.passes import log_probs
from ..inference.predictions import kl_divergence
from ..inference.request import Request, RequestError
from ..inference.source_reading import build_donor, build_edits
from ..network.context import Pass, teacher_forced_states
from .effects import ROWS, sites

NEAR = 0.05  # nats: smaller differences are not divided by
MAX_WORK = 60_000  # runs times tokens of both sides: about 30 seconds
CANDIDATES, ROUNDS = 16, 6  # candidate heads per round, and rounds, of the search for a set of heads that flips the choice
Progress = Callable[[float], None]


@dataclass(frozen=True)
class PatchingRequest:
    """Input of a patching experiment: ids of both sentences and of the target that both read, step (from 0), and the two
    tokens whose logits are compared."""

    source: tuple[int, ...]
    other: str
    target: tuple[int, ...]
    step: int
    tokens: tuple[int, int]  # of the first sentence, of the other
    partners: tuple[int | None, ...]


@dataclass(frozen=True)
class Patching:
    """Results of every single patch: differences of logits in nats, first token minus second.

    `before` is the first run, `other` the other sentence's run. The arrays hold the difference under each patch, nan where
    there is nothing to put in.
    """

    request: PatchingRequest
    before: float
    other: float
    encoder: np.ndarray = field(repr=False)  # [L+1,S]: the stream after each layer, row 0 the embedding
    decoder: np.ndarray = field(repr=False)  # [L,step+1]: after layers 1 to L; without a causal mask [L,T]
    heads: dict[str, np.ndarray] = field(repr=False)  # [L,H] by kind of attention: z at all positions
    head_set: tuple[tuple[Edit, ...], float] | None = None  # heads that flip the choice together where none does alone

    @property
    def is_near(self) -> bool:
        """True where both sentences have about the same difference, so a share is undefined."""
        return abs(self.other - self.before) < NEAR

    def share(self, difference: np.ndarray | float) -> np.ndarray | float:
        """Returns the share of the way from the first sentence's difference to the other's."""
        return (difference - self.before) / (self.other - self.before)

    def flips_choice(self, difference: float) -> bool:
        """True where the other sentence's token has the larger logit, and had not in the first run."""
        return self.before >= 0 > difference

    @property
    def best(self) -> tuple[Edit, ...]:
        """Returns the heads that flip the choice together, where none does alone; else the head with the largest effect."""
        if self.head_set is not None:
            return self.head_set[0]
        heads = [(edit, value - self.before) for edit, value in self.patches if isinstance(edit, PatchZ)]
        way = 0.0 if self.is_near else self.other - self.before
        return (max(heads, key=lambda each: each[1] * way or abs(each[1]))[0],)

    @property
    def patches(self) -> tuple[tuple[Edit, float], ...]:
        """Returns every possible patch and the difference under it."""
        grids = {"encoder": (self.encoder, 0), "decoder": (self.decoder, 1)}
        patches: list[tuple[Edit, float]] = [
            (PatchStream(stack, int(row) + first, int(column)), float(grid[row, column]))
            for stack, (grid, first) in grids.items()
            for row, column in np.argwhere(~np.isnan(grid))
        ]
        for kind, grid in self.heads.items():
            cells = np.argwhere(~np.isnan(grid)).tolist()
            patches += [(PatchZ(Place(kind, layer, head), None), float(grid[layer, head])) for layer, head in cells]
        return tuple(patches)


def patching_request(
    checkpoint: Checkpoint,
    source: Sequence[int],
    other: str,
    target: Sequence[int],
    second: Sequence[int] = (),
    step: int | None = None,
) -> PatchingRequest:
    """Returns the input of a patching experiment for a source, another sentence, and the first sentence's target.

    `step` counts from 0. Without it, the step is the first at which `second`, the other's own translation, has another
    token. Where both are equal, it is the step at which the two sentences disagree most. The other's token is the top one
    that differs from the first's.

    Raises RequestError for a model that lacks an encoder or a decoder, equal sentences, an unknown step, and a long
    sentence.
    """
    if {"encoder", "cross"} - set(checkpoint.config.kinds):
        raise RequestError("Patching needs an encoder and a decoder; this checkpoint has one of them.")
    everything = Intervention(donor=other, edits=(PatchStream("encoder", 0, None),))
    donor = build_donor(checkpoint, everything, source)
    if donor is None or list(donor.ids) == [token for token in source if token]:
        raise RequestError("Both sentences are the same, so there is nothing to patch. Choose another sentence.")
    if step is not None and not 0 <= step < len(target):
        raise RequestError(f"There is no step {step + 1}; this translation has {len(target)}. Choose one of them.")
    first, then = (log_probs(checkpoint, ids, target, [BASELINE])[0].cpu().numpy() for ids in (source, donor.ids))  # [T,V]
    if step is None:
        step = first_difference(target, second) if second else None
    if step is None or step >= len(target):
        step = int(kl_divergence(first, then).argmax())
    row = then[step].copy()
    row[target[step]] = -np.inf
    return PatchingRequest(tuple(source), other, tuple(target), step, (target[step], int(row.argmax())), donor.partners)


def patch_all(checkpoint: Checkpoint, request: PatchingRequest, progress: Progress = lambda share: None) -> Patching:
    """Runs every single patch in batches. Where no head flips the choice alone, it searches a set that does.

    `progress` receives the share that is done. Raises RequestError where the patches would take too long.
    """
    encoder, decoder, heads = _possible_patches(checkpoint, request)
    every = (*encoder, *decoder, *heads)
    size = len(request.source) + len(_visible_target(checkpoint, request))
    if (work := len(every) * size) > MAX_WORK:
        raise RequestError(
            f"Patching every place here takes {len(every):,} runs of {size} tokens, {work:,} in all; expected at most "
            f"{MAX_WORK:,}. Choose an earlier step or shorter sentences."
        )
    runs = [(), tuple(PatchZ(Place("cross", n), None) for n in range(checkpoint.config.decoder_layers))]
    before, other, *results = logit_differences(
        checkpoint, request, [*runs, *((edit,) for edit in every)], lambda s: progress(0.8 * s)
    )
    patching = _as_grids(checkpoint, request, before, other, dict(zip(every, results, strict=True)))
    alone = dict(zip(heads, results[-len(heads) :], strict=True))
    if not patching.is_near and patching.flips_choice(other) and not any(map(patching.flips_choice, alone.values())):
        patching = replace(patching, head_set=_find_head_set(checkpoint, patching, alone, lambda s: progress(0.8 + 0.2 * s)))
    progress(1.0)
    return patching


def patch_between(
    checkpoint: Checkpoint, analysis: Analysis, other: Request, step: int | None, progress: Progress = lambda share: None
) -> Patching:
    """Returns the effect of every patch from another request into that of an analysis, both without edits.

    `step` counts from 0; see `patching_request`, also for errors.
    """
    first, second = (analysis.baseline or analysis).trace, analyse(checkpoint, other).trace
    source = first.source.ids if first.source is not None else ()
    targets = [trace.outputs.ids if trace.outputs is not None else () for trace in (first, second)]
    return patch_all(checkpoint, patching_request(checkpoint, source, other.source, *targets, step), progress)


def _visible_target(checkpoint: Checkpoint, request: PatchingRequest) -> tuple[int, ...]:
    """Returns the target tokens that the step can see, its own included: all without a causal mask."""
    return request.target[: request.step + 1] if checkpoint.config.causal else request.target


def _possible_patches(
    checkpoint: Checkpoint, request: PatchingRequest
) -> tuple[list[PatchStream], list[PatchStream], list[PatchZ]]:
    """Returns the possible patches: the encoder's stream at positions with a partner, the decoder's up to the step, and z of
    each head."""
    config = checkpoint.config
    known = [n for n, partner in enumerate(request.partners) if partner is not None]
    read = range(len(_visible_target(checkpoint, request)))
    return (
        [PatchStream("encoder", n, position) for n in range(config.encoder_layers + 1) for position in known],
        [PatchStream("decoder", n + 1, position) for n in range(config.decoder_layers) for position in read],
        [PatchZ(Place(site.kind, site.layer, head), None) for site in sites(checkpoint) for head in range(config.heads)],
    )


def _as_grids(
    checkpoint: Checkpoint, request: PatchingRequest, before: float, other: float, differences: dict[Edit, float]
) -> Patching:
    """Returns the differences under all patches as grids."""
    config = checkpoint.config
    encoder = np.full((config.encoder_layers + 1, len(request.source)), np.nan)
    decoder = np.full((config.decoder_layers, len(_visible_target(checkpoint, request))), np.nan)
    heads = {kind: np.full((count, config.heads), np.nan) for kind, count in config.layers.items()}
    for edit, value in differences.items():
        if isinstance(edit, PatchZ):
            heads[edit.place.kind][edit.place.layer, edit.place.head] = value
        elif edit.stack == "encoder":
            encoder[edit.layers, edit.position] = value
        else:
            decoder[edit.layers - 1, edit.position] = value
    return Patching(request, before, other, encoder, decoder, heads)


def _find_head_set(
    checkpoint: Checkpoint, patching: Patching, alone: dict[Edit, float], progress: Progress
) -> tuple[tuple[Edit, ...], float]:
    """Searches a set of heads that flips the choice. Returns it with the difference under it.

    Adds greedily the head that helps most, among those that help most alone. After the last round it adds the others in the
    order of their single effects.
    """
    ranked = sorted(alone, key=lambda edit: -float(patching.share(alone[edit])))
    chosen, reached = (ranked[0],), alone[ranked[0]]
    for number in range(1, ROUNDS):
        runs = [(*chosen, edit) for edit in ranked[:CANDIDATES] if edit not in chosen]
        results = logit_differences(checkpoint, patching.request, runs)
        best = int(np.argmax(patching.share(np.array(results))))
        chosen, reached = runs[best], results[best]
        progress(number / ROUNDS)
        if patching.flips_choice(reached):
            return chosen, reached
    rest = [edit for edit in ranked if edit not in chosen]
    runs = [(*chosen, *rest[:count]) for count in range(1, len(rest) + 1)]
    for run, value in zip(runs, logit_differences(checkpoint, patching.request, runs), strict=True):
        chosen, reached = run, value
        if patching.flips_choice(value):
            break
    return chosen, reached


@torch.inference_mode()
def logit_differences(
    checkpoint: Checkpoint,
    request: PatchingRequest,
    runs: Sequence[tuple[Edit, ...]],
    progress: Progress = lambda share: None,
) -> list[float]:
    """Returns the logit of the first token minus that of the second at the step, under each set of patches, in nats."""
    read = _visible_target(checkpoint, request)
    results: list[float] = []
    for start in range(0, len(runs), ROWS):
        rows = [Intervention(donor=request.other, edits=run) for run in runs[start : start + ROWS]]
        source, target = (torch.tensor([list(ids)] * len(rows), device=checkpoint.device) for ids in (request.source, read))
        context = Pass(build_edits(checkpoint, request.source, rows))
        hidden = teacher_forced_states(checkpoint.model, source, target, context)[:, request.step]  # [N,D]
        direction, offset = checkpoint.model.logit_difference(*request.tokens)
        results += (hidden @ direction + offset).tolist()
        progress(len(results) / len(runs))
    return results
