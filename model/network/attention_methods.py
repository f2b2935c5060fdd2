"""Four methods of self-attention over a long text: the explicit one, and three that never hold a pattern of T x T.

All map query, key and value [B,H,T,K] to z [B,H,T,K], without padding. Models always use `model.network.attention`, since
it alone has a pattern to show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from . import masks
from .attention import attention

WINDOW_WIDTH = 128  # of the window, and of a block of linear attention's prefix sums
AttentionFunction = Callable[[Tensor, Tensor, Tensor, bool], Tensor]  # query, key, value, is_causal


def full_attention(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Tensor:
    """Returns z by the explicit method (Vaswani et al. 2017, equation 1), with complete scores and pattern."""
    return attention(query, key, value, masks.unpadded_mask(query.size(-2), is_causal, device=query.device))[0]  # [B,H,T,K]


def window_attention(query: Tensor, key: Tensor, value: Tensor, is_causal: bool, width: int = WINDOW_WIDTH) -> Tensor:
    """Returns z where each token sees those less than `width` away (Beltagy et al. 2020, section 3.1).

    N blocks of `width` queries attend to the keys of their own block and its neighbours. Zeros fill the last block.

    Raises ValueError for a width below 1.
    """
    length = query.size(-2)
    width = min(width, length)
    mask = masks.window_blocks(length, width, is_causal, query.device)  # [N,W,S]
    fill, after = -length % width, 0 if is_causal else width
    blocks = F.pad(query, (0, 0, 0, fill)).unflatten(-2, (-1, width))  # [B,H,N,W,K]
    near = [
        F.pad(x, (0, 0, width, fill + after)).unfold(-2, mask.size(-1), width).transpose(-2, -1)  # [B,H,N,S,K]
        for x in (key, value)
    ]
    z = attention(blocks, *near, mask)[0]  # [B,H,N,W,K]
    return z.flatten(-3, -2)[..., :length, :]  # [B,H,T,K]


def feature_map(x: Tensor) -> Tensor:
    """Returns elu(x) + 1, which is positive (Katharopoulos et al. 2020, equation 7)."""
    return F.elu(x) + 1


def linear_attention(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Tensor:
    """Returns z = phi(q_i) sum_j phi(k_j) v_j^T / phi(q_i) sum_j phi(k_j) with phi = `feature_map`.

    Katharopoulos et al. 2020, equation 5. The causal sums over j <= i (equation 9) are prefix sums over blocks of
    tokens, and explicit within a block.
    """
    q, k = feature_map(query), feature_map(key)  # [B,H,T,K]
    v = torch.cat((value, torch.ones_like(value[..., :1])), dim=-1)  # [B,H,T,K+1], the last for the denominator
    sums = q @ (k.transpose(-2, -1) @ v) if not is_causal else _prefix_sums(q, k, v)  # [B,H,T,K+1]
    return sums[..., :-1] / sums[..., -1:]  # [B,H,T,K]


def _prefix_sums(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Returns sum over j <= i of (q_i . k_j) v_j for q and k [B,H,T,K], v [B,H,T,V]: [B,H,T,V]."""
    length = q.size(-2)
    width = min(WINDOW_WIDTH, length)
    q, k, v = (F.pad(x, (0, 0, 0, -length % width)).unflatten(-2, (-1, width)) for x in (q, k, v))  # [B,H,N,W,...]
    states = k.transpose(-2, -1) @ v  # [B,H,N,K,V]
    before = F.pad(states.cumsum(-3), (0, 0, 0, 0, 1, 0))[..., :-1, :, :]  # [B,H,N,K,V], of the blocks before
    within = (q @ k.transpose(-2, -1)).masked_fill(~masks.unpadded_mask(width, True, device=q.device), 0.0)  # [B,H,N,W,W]
    return (q @ before + within @ v).flatten(-3, -2)[..., :length, :]  # [B,H,T,V]


def linear_pattern(query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
    """Returns the implicit pattern of linear attention, [B,H,T,S]: phi(q_i) . phi(k_j) over its sum on the allowed keys.

    query [B,H,T,K], key [B,H,S,K], mask as in `attention`. A query that may attend to nothing has a row of zeros.
    """
    products = (feature_map(query) @ feature_map(key).transpose(-2, -1)).masked_fill(~mask, 0.0)  # [B,H,T,S]
    return products / products.sum(-1, keepdim=True).clamp_min(torch.finfo(products.dtype).tiny)  # [B,H,T,S]


def fused_attention(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Tensor:
    """Returns z by torch's `scaled_dot_product_attention`, the same function as `full`.

    Where the device has such a kernel it runs block by block with a running softmax (Dao et al. 2022).
    """
    return F.scaled_dot_product_attention(query, key, value, is_causal=is_causal)  # [B,H,T,K]


@dataclass(frozen=True)
class AttentionMethod:
    """A method of attention. T is the length, d the width of a head, w the width of the window."""

    name: str
    title: str
    formula: str  # as markup
    time: str  # as markup: growth with the length
    memory: str
    growth_exponents: tuple[float, float]  # of the length, in time and in memory beyond q, k, v and z
    is_exact: bool  # True if it computes the same function as `full`
    description: str  # one sentence
    run: AttentionFunction


METHODS: dict[str, AttentionMethod] = {
    method.name: method
    for method in (
        AttentionMethod(
            "full",
            "Explicit",
            "softmax(QKᵀ / √d) V",
            "T² d",
            "T²",
            (2.0, 2.0),
            True,
            "Stores every score and every weight, so the lab can show them.",
            full_attention,
        ),
        AttentionMethod(
            "fused",
            "Fused",
            "softmax(QKᵀ / √d) V, block by block",
            "T² d",
            "T d",
            (2.0, 1.0),
            True,
            "Same function as the explicit method, but no weights to show or edit.",
            fused_attention,
        ),
        AttentionMethod(
            "window",
            "Sliding window",
            f"softmax(QKᵀ / √d where |i − j| &lt; w) V, w = {WINDOW_WIDTH}",
            "T w d",
            "T w",
            (1.0, 1.0),
            False,
            "Explicit attention in blocks along the diagonal. Tokens outside the window are not seen.",
            window_attention,
        ),
        AttentionMethod(
            "linear",
            "Linear",
            "φ(Q) (φ(K)ᵀV), each row over φ(q) · Σφ(k), with φ(x) = elu(x) + 1",
            "T d²",
            "T d",
            (1.0, 1.0),
            False,
            "A different function without softmax. Keys and values are summed first, so no pattern exists.",
            linear_attention,
        ),
    )
}
