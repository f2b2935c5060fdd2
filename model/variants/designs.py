"""Designs of one model that are trained alike: the paper of 2017, the usual design of today, and single changes of a base.

Also the confidence interval of a mean of few numbers: Student's t, without a table. No torch here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from ..config import ACTIVATIONS, ModelConfig, TrainConfig, matched_gated_width
from ..io.files import short_repr

BASE = "base"  # all others are compared with it
SEEDS = (1, 2, 3)
SHIPPED = ("base", "original", "modern", "heads-1", "heads-8")  # weights are stored with the record, one seed each


@dataclass(frozen=True)
class ModelVariant:
    """A design: its name and title, its differences from the base in words, and as fields of `ModelConfig`."""

    name: str
    title: str
    says: str
    changes: Mapping[str, Any] = field(default_factory=dict)


VARIANTS: dict[str, ModelVariant] = {
    variant.name: variant
    for variant in (
        ModelVariant(BASE, "Pre-norm, 4 heads", "LayerNorm before each sub-layer, sinusoidal positions, ReLU, 4 heads"),
        ModelVariant(
            "original",
            "As in 2017",
            "LayerNorm after each sum, and none at the end of a stack (Vaswani et al. 2017)",
            {"norm_first": False, "final_norm": False},
        ),
        ModelVariant(
            "modern",
            "As today",
            "RMSNorm, SwiGLU of as many parameters, rotary positions",
            {"norm": "rmsnorm", "activation": "swiglu", "positions": "rotary"},
        ),
        ModelVariant("gelu", "GELU", "GELU in the place of ReLU", {"activation": "gelu"}),
        ModelVariant("swiglu", "SwiGLU", "SwiGLU of as many parameters in the place of ReLU", {"activation": "swiglu"}),
        ModelVariant("heads-1", "1 head", "one head of the whole width", {"heads": 1}),
        ModelVariant("heads-2", "2 heads", "two heads that share the width", {"heads": 2}),
        ModelVariant("heads-8", "8 heads", "eight heads that share the width", {"heads": 8}),
    )
}


@dataclass(frozen=True)
class Plan:
    """Common part of all variants: the size of the models and their training, as fields of the two configs."""

    size: Mapping[str, Any]
    training: Mapping[str, Any]

    def model_options(self, variant: ModelVariant) -> dict[str, Any]:
        """Returns the fields of a variant's `ModelConfig`. A gated feed-forward network is narrower, so that it has as many
        parameters as a plain one."""
        options = dict(self.size) | dict(variant.changes)
        if ACTIVATIONS[options.get("activation", ModelConfig.activation)].is_gated:
            options["d_ff"] = matched_gated_width(options["d_model"], options["d_ff"])
        return options

    def train_options(self, seed: int) -> dict[str, Any]:
        """Returns the fields of its `TrainConfig`."""
        return dict(self.training) | {"seed": seed}

    def with_fields(self, **fields: Any) -> Plan:
        """Returns the plan with some fields changed for all variants.

        Where `epochs` changes without `first_target_epochs`, the latter keeps its share. Raises ValueError for an unknown
        field, and for values that make no config.
        """
        if unknown := sorted(set(fields) - set(self.size) - set(self.training)):
            known = ", ".join([*self.size, *self.training])
            raise ValueError(f"the plan has no field {short_repr(unknown[0])}; expected one of {known}")
        parts = {"size": dict(self.size), "training": dict(self.training)}
        if "epochs" in fields and "first_target_epochs" not in fields:
            share = self.training["first_target_epochs"] / self.training["epochs"]
            fields["first_target_epochs"] = round(share * fields["epochs"])
        for name, value in fields.items():
            parts["size" if name in self.size else "training"][name] = value
        plan = replace(self, **parts)
        TrainConfig(**plan.train_options(SEEDS[0]))
        for variant in VARIANTS.values():
            ModelConfig(source_vocab=260, target_vocab=260, **plan.model_options(variant))
        return plan


PLAN = Plan(  # the size and the pairs of `en-fr-learned`
    size={"d_model": 128, "heads": 4, "encoder_layers": 3, "decoder_layers": 3, "d_ff": 512},
    training={
        "vocab_size": 4000,
        "epochs": 8,
        "first_target_epochs": 3,
        "batch_tokens": 4096,
        "learning_rate": 2e-3,
        "warmup": 400,
        "validate_every": 400,  # for a smooth curve
        "average": 1,  # the rate falls to 0, so the last weights need no average
    },
)


LEVEL = 0.95


def mean_interval(values: Sequence[float], level: float = LEVEL) -> tuple[float, float] | None:
    """Returns the confidence interval of the mean of normal values (Student 1908); None for fewer than two values."""
    count = len(values)
    if count < 2:
        return None
    mean = math.fsum(values) / count
    deviation = math.sqrt(math.fsum((each - mean) ** 2 for each in values) / (count - 1))
    half = quantile(count - 1, level) * deviation / math.sqrt(count)
    return mean - half, mean + half


@cache
def quantile(freedom: int, level: float = LEVEL) -> float:
    """Returns t such that Student's t with these degrees of freedom lies within -t and t with probability `level`. Raises
    ValueError for a level outside 0 to 1, and for no degree of freedom."""
    if not 0 < level < 1 or freedom < 1:
        raise ValueError(f"level is {level} with {freedom} degrees of freedom; expected between 0 and 1, and at least 1")
    low, high = 0.0, 1.0
    while probability_within(high, freedom) < level:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if probability_within(middle, freedom) < level else (low, middle)
    return high


def probability_within(t: float, freedom: int) -> float:
    """Returns the probability of a value between -t and t (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4)."""
    angle = math.atan2(t, math.sqrt(freedom))
    cosine, term, total = math.cos(angle) ** 2, 1.0, 0.0
    if freedom % 2 == 0:
        for n in range(freedom // 2):
            total += term
            term *= cosine * (2 * n + 1) / (2 * n + 2)
        return math.sin(angle) * total
    for n in range((freedom - 1) // 2):
        total += term
        term *= cosine * (2 * n + 2) / (2 * n + 3)
    return 2 / math.pi * (angle + math.sin(angle) * math.cos(angle) * total)
