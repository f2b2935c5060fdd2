"""R-Drop: two passes through dropout."""

import pytest
import torch
from torch.nn import functional as F

from model.text.corpus import Batch
from model.training.loss import batch_loss
from model.training.r_drop import divergence, twice_loss
from tests.support import tiny


def test_divergence_and_gradients_are_those_of_torch():
    torch.manual_seed(1)
    one, two = (torch.randn(150, 40, requires_grad=True) for _ in range(2))
    p, q = one.log_softmax(-1), two.log_softmax(-1)
    wanted = F.kl_div(q, p, reduction="sum", log_target=True) + F.kl_div(p, q, reduction="sum", log_target=True)
    slopes = torch.autograd.grad(3 * wanted, (one, two))
    found = divergence(one, two)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(torch.autograd.grad(3 * found, (one, two)), slopes)


def test_r_drop_adds_loss_with_dropout_only():
    source, outputs = torch.tensor([[5, 6, 2], [7, 2, 0]]), torch.tensor([[8, 9, 10, 2], [11, 2, 0, 0]])
    batch = Batch(source, outputs)
    model = tiny.model(dropout=0.5).eval()
    once, tokens = batch_loss(model, batch, 0.1)
    twice, same = twice_loss(model, batch, 0.1, weight=5.0)
    assert same == tokens == 6
    assert twice.item() == pytest.approx(once.item(), rel=1e-5)
    model.train()
    torch.manual_seed(2)
    alone, _ = twice_loss(model, batch, 0.1, weight=0.0)
    torch.manual_seed(2)
    apart, _ = twice_loss(model, batch, 0.1, weight=5.0)
    assert apart.item() > alone.item() + 0.01
