"""Where does the difference between two sentences travel? One is run with a piece of the other put in, piece after piece.

Activation patching (Vig et al. 2020; Meng et al. 2022). What is measured is the difference of two logits at one step: of the
token that the first sentence chose there and of the one that the other would have chosen, both having read the same target
tokens up to it. The effect of a patch is its share of the way from the one sentence's difference to the other's: 0 where it
changes nothing, 1 where it makes all of the change, below 0 or above 1 where it goes back or too far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from model.checkpoint import Checkpoint
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import Edit, PatchStream, PatchZ, Place
from model.experiments.effects import ROWS, sites
from model.inference.passes import log_probs
from model.inference.predictions import first_difference, kl_divergence
from model.inference.request import RequestError
from model.inference.source_reading import donor_of, edits_of
from model.network.context import Pass, forced

NEAR = 0.05  # nats: differences of logits nearer than this are not divided by
MOST = 60_000  # runs times tokens of both sides: about half a minute
TRIED, ROUNDS = 16, 6  # heads that are tried in each round of the search for a few that turn the choice, and rounds
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Question:
    """What is patched and what is measured: ids of both sentences, of the target that both read, the step (from 0) and the
    two tokens whose logits are compared."""

    source: tuple[int, ...]
    other: str
    target: tuple[int, ...]
    step: int
    tokens: tuple[int, int]  # of the first sentence, of the other
    partners: tuple[int | None, ...]


@dataclass(frozen=True)
class Patching:
    """What every single patch does. Differences of logits in nats, first token minus second: in the first run, in the
    other's, and under each patch; nan where there is nothing to put in."""

    question: Question
    before: float
    other: float
    encoder: np.ndarray = field(repr=False)  # [L+1,S]: the stream after so many layers, 0 the embedding
    decoder: np.ndarray = field(repr=False)  # [L,step+1]: after layers 1 to L; without a causal mask [L,T]
    heads: dict[str, np.ndarray] = field(repr=False)  # [L,H] of each kind of attention: z at all positions
    few: tuple[tuple[Edit, ...], float] | None = None  # heads that turn the choice together where none does alone

    @property
    def is_near(self) -> bool:
        """True where both sentences have about the same difference: there is no way to be a share of."""
        return abs(self.other - self.before) < NEAR

    def share(self, difference: np.ndarray | float) -> np.ndarray | float:
        """The share of the way from the first sentence's difference to the other's."""
        return (difference - self.before) / (self.other - self.before)

    def turns(self, difference: float) -> bool:
        """True where the logit of the other's token is the larger one, and it was not in the first run."""
        return self.before >= 0 > difference

    @property
    def best(self) -> tuple[Edit, ...]:
        """The heads that turn the choice together, where none does alone; else the head that brings the most."""
        if self.few is not None:
            return self.few[0]
        heads = [(edit, value - self.before) for edit, value in self.pieces if isinstance(edit, PatchZ)]
        way = 0.0 if self.is_near else self.other - self.before
        return (max(heads, key=lambda each: each[1] * way or abs(each[1]))[0],)

    @property
    def pieces(self) -> tuple[tuple[Edit, float], ...]:
        """Every patch that could be made and the difference under it."""
        grids = {"encoder": (self.encoder, 0), "decoder": (self.decoder, 1)}
        found = [
            (PatchStream(stack, int(row) + first, int(column)), float(grid[row, column]))
            for stack, (grid, first) in grids.items()
            for row, column in np.argwhere(~np.isnan(grid))
        ]
        for kind, grid in self.heads.items():
            found += [(PatchZ(Place(kind, *map(int, at)), None), float(grid[*at])) for at in np.argwhere(~np.isnan(grid))]
        return tuple(found)


def ask(
    checkpoint: Checkpoint,
    source: Sequence[int],
    other: str,
    target: Sequence[int],
    second: Sequence[int] = (),
    step: int | None = None,
) -> Question:
    """What to measure between a source and the other sentence over a target (the first's own), at a step from 0; where none
    is asked for, at the first at which `second`, the other's own translation, has another token, or where the two are the
    same at the step at which the sentences disagree the most. The other's token is the likeliest that is not the first's.

    Raises RequestError for a model that lacks a side, for equal sentences, a step that there is not, and a sentence that is
    too long.
    """
    if {"encoder", "cross"} - set(checkpoint.config.kinds):
        raise RequestError("Patching needs an encoder and a decoder; this checkpoint has one of them.")
    everything = Intervention(donor=other, edits=(PatchStream("encoder", 0, None),))
    donor = donor_of(checkpoint, everything, source)
    if donor is None or list(donor.ids) == [token for token in source if token]:
        raise RequestError("Both sentences are the same, so there is nothing to put in: choose another one.")
    if step is not None and not 0 <= step < len(target):
        raise RequestError(f"There is no step {step + 1}; this translation has {len(target)}. Choose one of them.")
    first, then = (log_probs(checkpoint, ids, target, [BASELINE])[0].cpu().numpy() for ids in (source, donor.ids))  # [T,V]
    if step is None:
        step = first_difference(target, second) if second else None
    if step is None or step >= len(target):
        step = int(kl_divergence(first, then).argmax())
    row = then[step].copy()
    row[target[step]] = -np.inf
    return Question(tuple(source), other, tuple(target), step, (target[step], int(row.argmax())), donor.partners)


def patch_all(checkpoint: Checkpoint, asked: Question, progress: Progress = lambda share: None) -> Patching:
    """Every single patch: batches of runs. Where no head turns the choice alone, a few that do so together are looked for.
    `progress` hears the share that is done.

    Raises RequestError where that would take too long.
    """
    encoder, decoder, heads = _pieces(checkpoint, asked)
    every = (*encoder, *decoder, *heads)
    size = len(asked.source) + len(_read(checkpoint, asked))
    if (work := len(every) * size) > MOST:
        raise RequestError(
            f"Patching every place here takes {len(every):,} runs of {size} tokens, {work:,} in all; expected at most "
            f"{MOST:,}. Choose an earlier step or shorter sentences."
        )
    runs = [(), tuple(PatchZ(Place("cross", n), None) for n in range(checkpoint.config.decoder_layers))]
    before, other, *found = differences(
        checkpoint, asked, [*runs, *((edit,) for edit in every)], lambda s: progress(0.8 * s)
    )
    made = _gathered(checkpoint, asked, before, other, dict(zip(every, found, strict=True)))
    alone = dict(zip(heads, found[-len(heads) :], strict=True))
    if not made.is_near and made.turns(other) and not any(map(made.turns, alone.values())):
        made = replace(made, few=_few(checkpoint, made, alone, lambda s: progress(0.8 + 0.2 * s)))
    progress(1.0)
    return made


def _read(checkpoint: Checkpoint, asked: Question) -> tuple[int, ...]:
    """As much of the target as the step can see, itself included: all, where the model has no causal mask."""
    return asked.target[: asked.step + 1] if checkpoint.config.causal else asked.target


def _pieces(checkpoint: Checkpoint, asked: Question) -> tuple[list[PatchStream], list[PatchStream], list[PatchZ]]:
    """What can be put in: the encoder's stream where there is a partner, the decoder's up to the step, z of each head."""
    config = checkpoint.config
    known = [n for n, partner in enumerate(asked.partners) if partner is not None]
    read = range(len(_read(checkpoint, asked)))
    return (
        [PatchStream("encoder", n, at) for n in range(config.encoder_layers + 1) for at in known],
        [PatchStream("decoder", n + 1, at) for n in range(config.decoder_layers) for at in read],
        [PatchZ(Place(site.kind, site.layer, head), None) for site in sites(checkpoint) for head in range(config.heads)],
    )


def _gathered(checkpoint: Checkpoint, asked: Question, before: float, other: float, found: dict[Edit, float]) -> Patching:
    """The differences under all patches, as grids."""
    config = checkpoint.config
    encoder = np.full((config.encoder_layers + 1, len(asked.source)), np.nan)
    decoder = np.full((config.decoder_layers, len(_read(checkpoint, asked))), np.nan)
    heads = {kind: np.full((count, config.heads), np.nan) for kind, count in config.layers.items()}
    for edit, value in found.items():
        if isinstance(edit, PatchZ):
            heads[edit.place.kind][edit.place.layer, edit.place.head] = value
        elif edit.stack == "encoder":
            encoder[edit.layers, edit.position] = value
        else:
            decoder[edit.layers - 1, edit.position] = value
    return Patching(asked, before, other, encoder, decoder, heads)


def _few(
    checkpoint: Checkpoint, made: Patching, alone: dict[Edit, float], progress: Progress
) -> tuple[tuple[Edit, ...], float]:
    """The heads that together turn the choice, and the difference under them: one after the other the one that helps most,
    of those that help most alone; after so many rounds in the order of what each does alone."""
    ranked = sorted(alone, key=lambda edit: -float(made.share(alone[edit])))
    chosen, reached = (ranked[0],), alone[ranked[0]]
    for number in range(1, ROUNDS):
        runs = [(*chosen, edit) for edit in ranked[:TRIED] if edit not in chosen]
        found = differences(checkpoint, made.question, runs)
        best = int(np.argmax(made.share(np.array(found))))
        chosen, reached = runs[best], found[best]
        progress(number / ROUNDS)
        if made.turns(reached):
            return chosen, reached
    rest = [edit for edit in ranked if edit not in chosen]
    runs = [(*chosen, *rest[:count]) for count in range(1, len(rest) + 1)]
    for run, value in zip(runs, differences(checkpoint, made.question, runs), strict=True):
        chosen, reached = run, value
        if made.turns(value):
            break
    return chosen, reached


@torch.inference_mode()
def differences(
    checkpoint: Checkpoint,
    asked: Question,
    runs: Sequence[tuple[Edit, ...]],
    progress: Progress = lambda share: None,
) -> list[float]:
    """The logit of the first token minus that of the second at the step, under each set of patches, in nats: batches."""
    read = _read(checkpoint, asked)
    found: list[float] = []
    for start in range(0, len(runs), ROWS):
        rows = [Intervention(donor=asked.other, edits=run) for run in runs[start : start + ROWS]]
        source, target = (torch.tensor([list(ids)] * len(rows), device=checkpoint.device) for ids in (asked.source, read))
        at = Pass(edits_of(checkpoint, asked.source, rows))
        hidden = forced(checkpoint.model, source, target, at)[:, asked.step]  # [N,D]
        direction, offset = checkpoint.model.preference(*asked.tokens)
        found += (hidden @ direction + offset).tolist()
        progress(len(found) / len(runs))
    return found
