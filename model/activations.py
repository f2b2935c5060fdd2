"""What may stand between the two products of a feed-forward layer. No torch here; `model.network.layers` computes them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Activation:
    """What stands between the two products of a feed-forward layer."""

    name: str
    title: str
    formula: str  # as markup
    does: str  # to the numbers of the wide layer, to be read behind its name
    gated: bool = False  # a second matrix of the same shape makes the factor of each number


ACTIVATIONS: dict[str, Activation] = {
    made.name: made
    for made in (
        Activation("relu", "ReLU", "max(0, x)", "cuts off what is below 0"),
        Activation("gelu", "GELU", "x Φ(x), Φ the normal distribution", "damps what is below 0"),
        Activation("swiglu", "SwiGLU", "SiLU(W<sub>g</sub> x) · W<sub>1</sub> x", "damps what is below 0", gated=True),
        Activation("gelu_tanh", "GELU (tanh)", "x/2 (1 + tanh(√(2/π) (x + 0.044715 x³)))", "damps what is below 0"),
        Activation("silu", "SiLU", "x / (1 + e<sup>-x</sup>), which is also called swish", "damps what is below 0"),
    )
}
