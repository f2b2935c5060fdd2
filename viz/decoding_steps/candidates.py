"""The candidates of the step under view: probability, temperature, cut, what is left; a click or a typed word branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from model.decoding.sampling import EXCLUDED_IDS, Choices, choices
from model.inference.predictions import NEAR_TIE_TEXT, near_ties
from viz.decoding_steps.timeline import SHOWN, top_tokens, trace_name
from viz.kit import glosses, mount
from viz.state import session

if TYPE_CHECKING:
    from model.decoding.strategy import Decoding
    from model.inference.analysis import Analysis
    from model.text.tokenizer import Tokenizer
    from model.trace import Trace
    from viz.page_context import PageContext

CUTS = {"k": "cut by top-k", "p": "cut by top-p", "t": "cut by a temperature of 0"}


def payload(
    analysis: Analysis, tokenizer: Tokenizer, said: Sequence[int] | None = None, language: str = ""
) -> dict[str, Any]:
    """Returns the JSON values of the component. `said`: the token at each step (default: the token that was written).

    `language` is that of the target; French words get their meanings.

    A row: piece, id, logit, logit over temperature (null at 0), probability, and the reason of a cut: one of `CUTS`, or
    nothing. If tokens are sampled, `before` has the probability of each row without the controls and after the temperature
    alone, and `chosenBefore` that of the token.
    """
    controls = sampling_controls(analysis)
    found = analysis.trace
    ids = found.predicted_axis.ids if said is None else said
    temperature = controls.temperature if controls else 1.0
    given = 0 if controls is None else analysis.prompt_length  # what the visitor typed was not drawn
    steps = [
        choices_of(found, step, token, controls if step >= given else None)
        for step, token in zip(range(len(found.log_probs)), ids, strict=True)
    ]

    def rows(step: int, made: Choices, places: Sequence[int]) -> list[list[Any]]:
        tokens = made.ids[places]
        drawn = controls and step >= given
        probabilities = (made.probability[places] if drawn else np.exp(found.log_probs[step, tokens])).tolist()
        result = []
        for place, token, probability in zip(places, tokens.tolist(), probabilities, strict=True):
            logit = found.logit(step, token)
            reason = "" if made.is_candidate[place] else "t" if temperature == 0 else "p" if made.is_in_top_k[place] else "k"
            scaled = round(logit / temperature, 3) if temperature else None
            result.append([tokenizer.piece(token), token, round(logit, 3), scaled, round(probability, 7), reason])
        return result

    def before(token: int, step: int, made: Choices, place: int) -> list[float]:
        return [round(float(np.exp(found.log_probs[step, token])), 7), round(float(made.tempered_probability[place]), 7)]

    noun = analysis.task.token_noun
    return {
        "trace": trace_name(analysis),
        "rows": [rows(step, made, range(min(SHOWN, len(made.ids)))) for step, made in enumerate(steps)],
        "before": [
            [before(int(token), step, made, place) for place, token in enumerate(made.ids[:SHOWN])]
            for step, made in enumerate(steps if controls else ())
        ],
        "chosenBefore": [
            before(token, step, made, int(np.flatnonzero(made.ids == token)[0]))
            for step, (made, token) in enumerate(zip(steps, ids, strict=True) if controls else ())
        ],
        "chosen": [
            rows(step, made, [int(np.flatnonzero(made.ids == token)[0])])[0]
            for step, (made, token) in enumerate(zip(steps, ids, strict=True))
        ],
        "words": glosses.words(found.outputs, language),
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
        "word": [f"Or type a {noun}", "Go on", f"Force this {noun} and continue"],
    }


def sampling_controls(analysis: Analysis) -> Decoding | None:
    """Returns temperature, top-k and top-p if tokens are sampled."""
    request = analysis.request
    return request.decoding if request.decoding.is_random and request.target is None else None


def choices_of(trace: Trace, step: int, chosen: int, controls: Decoding | None) -> Choices:
    """Returns the tokens that may be chosen at a step; where nothing is cut, only those that are shown."""
    log_probs = trace.log_probs[step]
    if controls:
        return choices(log_probs, controls.temperature, controls.top_k, controls.top_p)
    top = top_tokens(trace)[step]
    ids = top if chosen in top else np.append(top, chosen)
    every, probability = np.ones(len(ids), dtype=bool), np.exp(log_probs[ids])
    return Choices(ids, probability, every, every, probability)


COMPONENT = mount.Component(__file__, '<div class="candidates"></div>', picture="Top next tokens")


def events(
    data: dict[str, Any],
    on_branch: Callable[[int, int], None],
    on_word: Callable[[int, str], None],
    on_reason: Callable[[int, int], None],
    on_ask: Callable[[int, str], None] | None = None,
) -> dict[str, mount.Event]:
    """Returns the events. `on_branch` gets a step and a token, `on_word` a step and a typed text, `on_reason` a step and the
    rival of its token, `on_ask` a step and a word whose probability is requested."""
    step, token = mount.from_one(len(data["rows"])), mount.integer(0, data["size"] - 1)
    word = mount.fields(step=step, text=mount.text)
    return {
        "branch": (mount.fields(step=step, token=token), on_branch),
        "word": (word, on_word),
        "guess": (mount.flag, lambda on: session.change(guess=on)),
        "reason": (mount.fields(step=step, token=token), on_reason),
        **({"asked": (word, on_ask)} if on_ask else {}),
    }


def follow(context: PageContext) -> dict[str, Any]:
    """Returns the step, whether the visitor guesses, and on a page the fault of the last word."""
    complaint = session.complaint("word") if context.places else None
    return {
        "step": context.view.step + 1,
        "guess": context.view.guess,
        "fault": complaint[1] if complaint else "",
        "hall": False,
    }
