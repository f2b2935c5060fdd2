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


def equal_width(d_model: int, d_ff: int) -> int:
    """The inner width at which a gated network has as many parameters as a plain one of width `d_ff`, or nearly: with
    biases, (3 d_model + 2) w + d_model against (2 d_model + 1) d_ff + d_model. Without them it is two thirds of it (Shazeer
    2020, section 2).
    """
    return max(1, round(d_ff * (2 * d_model + 1) / (3 * d_model + 2)))
