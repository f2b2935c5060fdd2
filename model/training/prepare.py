"""What a run is made of before its first step: its options are checked, its vocabularies learned."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from model.config import MAX_TOKENS, SCHEMES, ModelConfig, TrainConfig
from model.device import has_bfloat16
from model.text.tokenizer import Tokenizer
from model.training.run_folder import TrainingError


def check_options(options: dict[str, Any], init: str | None) -> None:
    """TrainingError for options of a model that no run can have: too few positions, or any beside `init`."""
    has_table = SCHEMES[options.get("positions", ModelConfig.positions)].has_table
    if has_table and options.get("max_positions", ModelConfig.max_positions) < MAX_TOKENS:
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


def begin_with(model: nn.Module, start: nn.Module) -> None:
    """Gives a model those of its parameters that another has by the same name; the others stay as they were drawn."""
    own = {name for name, _ in model.named_parameters()}  # of tied ones the first alone
    model.load_state_dict({name: each for name, each in start.state_dict().items() if name in own}, strict=False)


def adam(model: nn.Module, config: TrainConfig) -> torch.optim.Adam:
    """The optimiser of Vaswani et al. 2017, section 5.3; the rate is set at every step."""
    return torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, weight_decay=config.weight_decay, fused=True)


def products(config: TrainConfig, device: torch.device) -> torch.autocast:
    """The precision of a step's products: bfloat16 where it is asked for, or fast and not refused."""
    half = config.precision == "bfloat16" or (config.precision == "auto" and has_bfloat16(device))
    return torch.autocast(device.type, torch.bfloat16, enabled=half)
