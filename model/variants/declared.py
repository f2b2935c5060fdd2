"""Designs of one model that are trained alike, to see what each choice is worth: the paper's of 2017, the one that is usual
today, and others that differ from a base in one thing. No torch here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from model.activations import ACTIVATIONS, equal_width
from model.config import ModelConfig, TrainConfig
from model.files import shown

BASE = "base"  # what all others are held against
SEEDS = (1, 2, 3)
SHIPPED = ("base", "original", "modern", "heads-1", "heads-8")  # whose weights lie beside the record, of one seed each


@dataclass(frozen=True)
class Variant:
    """A design: what it is called, what it differs in from the base, in words and as fields of `ModelConfig`."""

    name: str
    title: str
    says: str
    changes: Mapping[str, Any] = field(default_factory=dict)


VARIANTS: dict[str, Variant] = {
    made.name: made
    for made in (
        Variant(BASE, "Pre-norm, 4 heads", "LayerNorm before each sub-layer, sinusoidal positions, ReLU, 4 heads"),
        Variant(
            "original",
            "As in 2017",
            "LayerNorm after each sum, and none at the end of a stack (Vaswani et al. 2017)",
            {"norm_first": False, "final_norm": False},
        ),
        Variant(
            "modern",
            "As today",
            "RMSNorm, SwiGLU of as many parameters, rotary positions",
            {"norm": "rmsnorm", "activation": "swiglu", "positions": "rotary"},
        ),
        Variant("gelu", "GELU", "GELU in the place of ReLU", {"activation": "gelu"}),
        Variant("swiglu", "SwiGLU", "SwiGLU of as many parameters in the place of ReLU", {"activation": "swiglu"}),
        Variant("heads-1", "1 head", "one head of the whole width", {"heads": 1}),
        Variant("heads-2", "2 heads", "two heads that share the width", {"heads": 2}),
        Variant("heads-8", "8 heads", "eight heads that share the width", {"heads": 8}),
    )
}


@dataclass(frozen=True)
class Plan:
    """What all variants have in common: the size of their models, and how they are trained; fields of the two configs."""

    size: Mapping[str, Any]
    training: Mapping[str, Any]

    def model_options(self, variant: Variant) -> dict[str, Any]:
        """The fields of a variant's `ModelConfig` that are not left as they are; a gated feed-forward network is made
        narrower, so that it has as many parameters as a plain one."""
        made = dict(self.size) | dict(variant.changes)
        if ACTIVATIONS[made.get("activation", ModelConfig.activation)].gated:
            made["d_ff"] = equal_width(made["d_model"], made["d_ff"])
        return made

    def train_options(self, seed: int) -> dict[str, Any]:
        """The fields of its `TrainConfig`."""
        return dict(self.training) | {"seed": seed}

    def changed(self, **fields: Any) -> Plan:
        """The same with some fields changed for all; where the epochs are and `first_target_epochs` is not, these keep their
        share. ValueError for a field that is in neither, or makes no config."""
        if unknown := sorted(set(fields) - set(self.size) - set(self.training)):
            known = ", ".join([*self.size, *self.training])
            raise ValueError(f"the plan has no field {shown(unknown[0])}; expected one of {known}")
        parts = {"size": dict(self.size), "training": dict(self.training)}
        if "epochs" in fields and "first_target_epochs" not in fields:
            share = self.training["first_target_epochs"] / self.training["epochs"]
            fields["first_target_epochs"] = round(share * fields["epochs"])
        for name, value in fields.items():
            parts["size" if name in self.size else "training"][name] = value
        made = replace(self, **parts)
        TrainConfig(**made.train_options(SEEDS[0]))
        for variant in VARIANTS.values():
            ModelConfig(source_vocab=260, target_vocab=260, **made.model_options(variant))
        return made


PLAN = Plan(  # the size and the pairs of `en-fr-learned`
    size={"d_model": 128, "heads": 4, "encoder_layers": 3, "decoder_layers": 3, "d_ff": 512},
    training={
        "vocab_size": 4000,
        "epochs": 8,
        "first_target_epochs": 3,
        "batch_tokens": 4096,
        "learning_rate": 2e-3,
        "warmup": 400,
        "validate_every": 400,  # often enough for a curve
        "average": 1,  # the rate falls to 0: the last weights need no mean, which would lag behind
    },
)
