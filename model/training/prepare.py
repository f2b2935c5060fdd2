"""What a run is made of before its first step: its options are checked, its vocabularies learned."""

from __future__ import annotations

from typing import Any

from model.config import MAX_TOKENS, SCHEMES, ModelConfig
from model.text.tokenizer import Tokenizer
from model.training.run_folder import TrainingError


def check_options(options: dict[str, Any], init: str | None) -> None:
    """TrainingError for options of a model that no run can have: too few positions, or any beside `init`."""
    learned = SCHEMES[options.get("positions", ModelConfig.positions)].trained
    if learned and options.get("max_positions", ModelConfig.max_positions) < MAX_TOKENS:
        raise TrainingError(
            f"max_positions is {options['max_positions']}; expected at least {MAX_TOKENS} for learned positions, "
            "the longest text that is translated."
        )
    if init and options:
        raise TrainingError(f"--init takes the model of {init} as it is; leave out {', '.join(options)}.")


def vocabularies(pairs: list[tuple[str, str]], size: int, joint: bool) -> tuple[Tokenizer, Tokenizer]:
    """The vocabularies of both sides, of at most `size` tokens each; a joint one twice.

    Raises ValueError for a size that is too small.
    """
    if joint:
        both = Tokenizer.train((text for pair in pairs for text in pair), size)
        return both, both
    return Tokenizer.train((s for s, _ in pairs), size), Tokenizer.train((t for _, t in pairs), size)
