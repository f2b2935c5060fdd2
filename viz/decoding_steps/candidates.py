"""The candidates of the step under view: probability, temperature, cut, what is left; a click or a typed word branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from model.decoding.sampling import EXCLUDED_IDS, Choices, choices, top_ids
from model.inference.decisions import NEAR_TIE_TEXT, near_ties
from viz.kit import mount

if TYPE_CHECKING:
    from model.decoding.strategy import Decoding
    from model.inference.analysis import Analysis
    from model.text.tokenizer import Tokenizer

SHOWN = 16
CUTS = {"k": "cut by top-k", "p": "cut by top-p", "t": "cut by a temperature of 0"}


def payload(
    analysis: Analysis, tokenizer: Tokenizer, controls: Decoding | None, trace: str, said: Sequence[int] | None = None
) -> dict[str, Any]:
    """All that the browser needs, as JSON values; `trace` is the timeline's name for what it draws. `said` is what stands at
    each step, where that is not what was written.

    `controls` holds temperature, top-k and top-p where tokens are sampled, else None. A row: piece, id, logit, logit over
    temperature (null at 0), probability, and what cut it: one of `CUTS`, or nothing. Where tokens are sampled `before` has
    for each row its probability without the controls, and after the temperature alone, and `chosenBefore` that of the token.
    """
    found = analysis.trace
    ids = found.predicted_axis.ids if said is None else said
    temperature = controls.temperature if controls else 1.0
    given = 0 if controls is None else analysis.prompt_length  # what the visitor typed was not drawn
    steps = [
        choices_of(row, token, controls if step >= given else None)
        for step, (row, token) in enumerate(zip(found.log_probs, ids, strict=True))
    ]

    def row(token: int, step: int, made: Choices, place: int) -> list[Any]:
        logit = found.logit(step, token)
        drawn = controls and step >= given
        probability = float(made.probability[place]) if drawn else float(np.exp(found.log_probs[step, token]))
        reason = "" if made.is_candidate[place] else "t" if temperature == 0 else "p" if made.is_in_top_k[place] else "k"
        scaled = round(logit / temperature, 3) if temperature else None
        return [tokenizer.piece(token), token, round(logit, 3), scaled, round(probability, 7), reason]

    def before(token: int, step: int, made: Choices, place: int) -> list[float]:
        return [round(float(np.exp(found.log_probs[step, token])), 7), round(float(made.tempered_probability[place]), 7)]

    def placed(step: int, made: Choices, token: int) -> list[Any]:
        return row(token, step, made, int(np.flatnonzero(made.ids == token)[0]))

    return {
        "trace": trace,
        "rows": [
            [row(int(token), step, made, place) for place, token in enumerate(made.ids[:SHOWN])]
            for step, made in enumerate(steps)
        ],
        "before": [
            [before(int(token), step, made, place) for place, token in enumerate(made.ids[:SHOWN])]
            for step, made in enumerate(steps if controls else ())
        ],
        "chosenBefore": [
            before(token, step, made, int(np.flatnonzero(made.ids == token)[0]))
            for step, (made, token) in enumerate(zip(steps, ids, strict=True) if controls else ())
        ],
        "chosen": [placed(step, made, token) for step, (made, token) in enumerate(zip(steps, ids, strict=True))],
        "given": analysis.prompt_length,  # tokens that the visitor typed
        "kept": [int(made.is_candidate.sum()) if controls else tokenizer.size - len(EXCLUDED_IDS) for made in steps],
        "size": tokenizer.size,
        "sampling": controls is not None,
        "temperature": f"{temperature:g}",
        "reads": list((found.inputs or found.predicted_axis).labels),
        "cuts": CUTS,
        "ties": [not controls and tie is not None for tie in near_ties(found.log_probs)],
        "nearTie": NEAR_TIE_TEXT,
        "kinds": {},  # by step: tokens that are no words of their own, and what each is
        "ask": None,  # a button that tells how likely a typed word is, and what it does
        "told": {},  # by step: how likely that word is
        "comes": "What comes next?",
        "open": None,  # everywhere a click does what `act` says; a list: at these steps alone
        "title": "Top next tokens",
        "act": "Click: force this token and continue",
        "word": ["Or type a word", "Go on", "Force this word and continue"],
        "hint": "Click a token to force it, or ask why it was chosen.",
    }


def choices_of(log_probs: np.ndarray, chosen: int, controls: Decoding | None) -> Choices:
    """What may be chosen at a step; where nothing is cut, only what is shown of it."""
    if controls:
        return choices(log_probs, controls.temperature, controls.top_k, controls.top_p)
    possible = log_probs.copy()
    possible[list(EXCLUDED_IDS)] = -np.inf
    ids = top_ids(possible, SHOWN)
    ids = ids if chosen in ids else np.append(ids, chosen)
    every, probability = np.ones(len(ids), dtype=bool), np.exp(log_probs[ids])
    return Choices(ids, probability, every, every, probability)


def reasons(data: dict[str, Any]) -> list[list[Any] | None]:
    """Of each step of a payload: the piece that was chosen, that of the likeliest other token, and this one's id; None where
    tokens are drawn, for their probabilities are not the model's alone."""
    if data["sampling"]:
        return [None] * len(data["rows"])
    found = []
    for rows, chosen in zip(data["rows"], data["chosen"], strict=True):
        rival = next((row for row in rows if row[1] != chosen[1]), None)
        found.append(rival and [chosen[0], rival[0], rival[1]])
    return found


COMPONENT = mount.Component(__file__, '<div class="candidates"></div>', picture="Top next tokens")


def candidates(
    data: dict[str, Any],
    follow: dict[str, Any],
    on_branch: Callable[[int, int], None],
    on_word: Callable[[int, str], None],
    on_guess: Callable[[bool], None],
    on_reason: Callable[[int, int], None],
    on_ask: Callable[[int, str], None] | None = None,
    key: str = "candidates",
) -> None:
    """Mounts the component with the payload, and with what follows the view: `step` (from 1), `guess`, and the `fault` of
    the last word.

    Before the next run `on_branch` is called with a step and a token, `on_word` with a step and the text that was typed,
    `on_guess` where guessing is switched on or off, `on_reason` with a step and the rival of its token,
    `on_ask` with a step and a word whose probability is asked for.
    """
    step, token = mount.from_one(len(data["rows"])), mount.integer(0, data["size"] - 1)
    events = {
        "branch": (mount.fields(step=step, token=token), on_branch),
        "word": (mount.fields(step=step, text=mount.text), on_word),
        "guess": (mount.flag, on_guess),
        "reason": (mount.fields(step=step, token=token), on_reason),
    }
    if on_ask:
        events["asked"] = (mount.fields(step=step, text=mount.text), on_ask)
    COMPONENT.mount(key, data, events, default={"guess": follow["guess"]}, overrides=follow)
