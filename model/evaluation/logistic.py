"""Logistic regression, what simple features are worth: fitted to the end, its penalty chosen on other examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

PENALTIES = (1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 1e-3, 1e-2)  # that are tried
STEPS = 150  # of the search, at most


@dataclass(frozen=True)
class Logistic:
    """softmax(x W + b), float64: W [F,C], b [C]; `penalty` times the mean square sum of W was added to the mean loss."""

    weight: Tensor
    bias: Tensor
    penalty: float

    def log_probs(self, x: Tensor) -> Tensor:
        """Features [N,F], dense or sparse, to natural log-probabilities [N,C]."""
        return (x.double() @ self.weight + self.bias).log_softmax(-1)


def fit(x: Tensor, labels: Tensor, classes: int, penalty: float) -> Logistic:
    """The minimum for features [N,F], dense or sparse, and labels [N]; it is the only one, so no seed matters."""
    x = x.double()
    weight = torch.zeros(x.size(1), classes, dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(classes, dtype=torch.float64, requires_grad=True)
    search = torch.optim.LBFGS(
        [weight, bias], max_iter=STEPS, tolerance_grad=1e-7, tolerance_change=1e-8, line_search_fn="strong_wolfe"
    )

    def loss() -> Tensor:
        search.zero_grad()
        total = F.cross_entropy(x @ weight + bias, labels) + penalty * weight.square().sum()
        total.backward()
        return total

    with torch.enable_grad():
        search.step(loss)
    return Logistic(weight.detach(), bias.detach(), penalty)


def tuned_regression(
    train: tuple[Tensor, Tensor], dev: tuple[Tensor, Tensor], classes: int, penalties: Sequence[float] = PENALTIES
) -> tuple[Logistic, float]:
    """Of the fits to features and labels the one that foretells dev best, and its loss there in nats an example."""
    fits = [fit(*train, classes, penalty) for penalty in penalties]
    losses = [float(F.nll_loss(made.log_probs(dev[0]), dev[1])) for made in fits]
    best = min(range(len(fits)), key=losses.__getitem__)
    return fits[best], losses[best]
