"""The candidates of the step under view: logit, temperature, cut and probability; a click or a typed word makes a branch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from model.decoding.sampling import Choices, choices
from viz import state, theme

if TYPE_CHECKING:
    from model.decoding.strategy import Decoding
    from model.inference.analysis import Analysis
    from model.text.tokenizer import Tokenizer

SHOWN = 16
_HERE = Path(__file__).parent


def payload(
    analysis: Analysis, tokenizer: Tokenizer, controls: Decoding | None, trace: str, mode: theme.Mode
) -> dict[str, Any]:
    """All that the browser needs, as JSON values; `trace` is the timeline's name for what it draws.

    `controls` holds temperature, top-k and top-p where tokens are sampled, else None. A row: piece, id, logit, logit over
    temperature (null at 0), probability, and what cut it: k, p, t (a temperature of 0) or nothing.
    """
    found, ids = analysis.trace, analysis.trace.outputs.ids
    used = (controls.temperature, controls.top_k, controls.top_p) if controls else (1.0, 0, 1.0)
    steps = [choices(row, *used) for row in found.log_probs]
    temperature = used[0]

    def row(token: int, step: int, made: Choices, place: int) -> list[Any]:
        logit = float(found.logits[step, token])
        probability = float(made.probability[place]) if controls else float(np.exp(found.log_probs[step, token]))
        reason = "" if made.kept[place] else "t" if temperature == 0 else "p" if made.kept_by_k[place] else "k"
        scaled = round(logit / temperature, 3) if temperature else None
        return [tokenizer.piece(token), token, round(logit, 3), scaled, round(probability, 7), reason]

    def placed(step: int, made: Choices, token: int) -> list[Any]:
        return row(token, step, made, int(np.flatnonzero(made.ids == token)[0]))

    return {
        "trace": trace,
        "rows": [
            [row(int(token), step, made, place) for place, token in enumerate(made.ids[:SHOWN])]
            for step, made in enumerate(steps)
        ],
        "chosen": [placed(step, made, token) for step, (made, token) in enumerate(zip(steps, ids, strict=True))],
        "kept": [int(made.kept.sum()) for made in steps],
        "size": tokenizer.size,
        "sampling": controls is not None,
        "temperature": f"{temperature:g}",
        "reads": list(found.inputs.labels),
        "style": theme.PALETTES[mode].css_variables(),
    }


_mount = st.components.v2.component(
    "attention_lab.candidates",
    html='<div class="candidates"></div>',
    css=(_HERE / "candidates.css").read_text(encoding="utf-8"),
    js="".join((_HERE / name).read_text(encoding="utf-8") for name in ("../shared/dom.js", "candidates.js")),
)


def candidates(
    data: dict[str, Any],
    on_branch: Callable[[int, int], None],
    on_word: Callable[[int, str], None],
    on_guess: Callable[[bool], None],
    key: str = "candidates",
) -> None:
    """Mounts the component with the payload, the view's `step` (from 1) and `guess`, and the `fault` of the last word.

    Before the next run `on_branch` is called with a step and a token, `on_word` with a step and the text that was typed,
    `on_guess` where guessing is switched on or off.
    """

    def step_of(told: Any) -> int | None:
        step = told.get("step") if isinstance(told, dict) else None
        return int(step) if isinstance(step, int | float) and 1 <= step <= len(data["rows"]) else None

    def branched() -> None:
        told = state.component_value(key, "branch")
        token = told.get("token") if isinstance(told, dict) else None
        if (step := step_of(told)) and isinstance(token, int | float) and 0 <= token < data["size"]:
            on_branch(step, int(token))

    def typed() -> None:
        told = state.component_value(key, "word")
        if (step := step_of(told)) and isinstance(told.get("text"), str):
            on_word(step, told["text"])

    def guessed() -> None:
        on_guess(bool(state.component_value(key, "guess")))

    _mount(
        key=key,
        data=data,
        default={"guess": data["guess"]},
        on_branch_change=branched,
        on_word_change=typed,
        on_guess_change=guessed,
    )
