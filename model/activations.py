"""What may stand between the two products of a feed-forward layer. No torch here; `model.network.layers` computes them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Activation:
    """An activation, as far as it can be told without a tensor."""

    name: str
    title: str
    does: str  # to the numbers of the wide layer, to be read behind its title
    as_step: str  # the same with its formula, as the rest of a sentence
    gated: bool = False  # a second matrix of the same shape makes the factor of each number


ACTIVATIONS: dict[str, Activation] = {
    made.name: made
    for made in (
        Activation("relu", "ReLU", "cuts off what is below 0", ", sets the negative ones to 0 (ReLU)"),
        Activation("gelu", "GELU", "damps what is below 0", ", bends them by GELU"),
        Activation(
            "swiglu",
            "SwiGLU",
            "damps what is below 0",
            " twice, one gating the other (SwiGLU)",
            gated=True,
        ),
        Activation(
            "gelu_tanh",
            "GELU (tanh)",
            "damps what is below 0",
            ", bends them by GELU in its tanh form, x/2 (1 + tanh(√(2/π) (x + 0.044715 x³)))",
        ),
        Activation("silu", "SiLU", "damps what is below 0", ", bends them by SiLU (swish), x / (1 + exp(-x))"),
    )
}
