"""Ways to compute self-attention over a long text: the explicit one, and three that never hold a pattern of T x T.

All are functions of query, key and value [B,H,T,K] and give z [B,H,T,K]; without padding, so that only the order decides
who sees whom. A model of the lab always goes the explicit way, `model.network.attention`: it alone has a pattern to show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from . import masks
from .attention import attention

WIDTH = 128  # of the window, and of a block of linear attention's prefix sums
Run = Callable[[Tensor, Tensor, Tensor, bool], Tensor]  # query, key, value, is_causal


def full(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Tensor:
    """The explicit path (Vaswani et al. 2017, equation 1), with scores and pattern as a whole."""
    return attention(query, key, value, masks.ordered(query.size(-2), is_causal, device=query.device))[0]  # [B,H,T,K]


def window(query: Tensor, key: Tensor, value: Tensor, is_causal: bool, width: int = WIDTH) -> Tensor:
    """Each token sees those less than `width` away (Beltagy et al. 2020, section 3.1): blocks of `width` queries against
    the keys of their own block and of its neighbours, N blocks in all. The last block is filled up with zeros.

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
    """elu(x) + 1, which is above 0 (Katharopoulos et al. 2020, equation 7)."""
    return F.elu(x) + 1


def linear(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Tensor:
    """phi(q_i) sum_j phi(k_j) v_j^T / phi(q_i) sum_j phi(k_j) with phi = `feature_map` (Katharopoulos et al. 2020,
    equation 5). The causal sums over j <= i (equation 9) are prefix sums over blocks of tokens, and explicit within one."""
    q, k = feature_map(query), feature_map(key)  # [B,H,T,K]
    v = torch.cat((value, torch.ones_like(value[..., :1])), dim=-1)  # [B,H,T,K+1], the last for the denominator
    sums = q @ (k.transpose(-2, -1) @ v) if not is_causal else _prefix_sums(q, k, v)  # [B,H,T,K+1]
    return sums[..., :-1] / sums[..., -1:]  # [B,H,T,K]


def _prefix_sums(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """sum over j <= i of (q_i . k_j) v_j for q and k [B,H,T,K], v [B,H,T,V]: [B,H,T,V]."""
    length = q.size(-2)
    width = min(WIDTH, length)
    q, k, v = (F.pad(x, (0, 0, 0, -length % width)).unflatten(-2, (-1, width)) for x in (q, k, v))  # [B,H,N,W,...]
    states = k.transpose(-2, -1) @ v  # [B,H,N,K,V]
    before = F.pad(states.cumsum(-3), (0, 0, 0, 0, 1, 0))[..., :-1, :, :]  # [B,H,N,K,V], of the blocks before
    within = (q @ k.transpose(-2, -1)).masked_fill(~masks.ordered(width, True, device=q.device), 0.0)  # [B,H,N,W,W]
    return (q @ before + within @ v).flatten(-3, -2)[..., :length, :]  # [B,H,T,V]


def linear_pattern(query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
    """The weights that linear attention gives without ever forming them: phi(q_i) . phi(k_j) over its sum on the keys that
    query i may attend to. query [B,H,T,K], key [B,H,S,K], mask as in `attention`; [B,H,T,S], rows of zeros where it may
    attend to nothing."""
    products = (feature_map(query) @ feature_map(key).transpose(-2, -1)).masked_fill(~mask, 0.0)  # [B,H,T,S]
    return products / products.sum(-1, keepdim=True).clamp_min(torch.finfo(products.dtype).tiny)  # [B,H,T,S]


def fused(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Tensor:
    """torch's `scaled_dot_product_attention`: the explicit path's function, block by block with a running softmax (Dao et
    al. 2022) where the device has such a kernel."""
    return F.scaled_dot_product_attention(query, key, value, is_causal=is_causal)  # [B,H,T,K]


@dataclass(frozen=True)
class Way:
    """One way to compute attention, declared once. T is the length, d the width of a head, w that of the window."""

    name: str
    title: str
    formula: str  # as markup
    time: str  # as markup: how it grows with the length
    memory: str
    powers: tuple[float, float]  # of the length, in time and in memory beyond q, k, v and z
    exact: bool  # the function of the explicit path, and not another one
    told: str  # what is special about it, a sentence
    run: Run


WAYS: dict[str, Way] = {
    made.name: made
    for made in (
        Way(
            "full",
            "Explicit",
            "softmax(QKᵀ / √d) V",
            "T² d",
            "T²",
            (2.0, 2.0),
            True,
            "Holds every score and every weight, which is what the lab shows.",
            full,
        ),
        Way(
            "fused",
            "Fused",
            "softmax(QKᵀ / √d) V, block by block",
            "T² d",
            "T d",
            (2.0, 1.0),
            True,
            "The same function as the explicit one; no weight is kept, so none can be shown or edited.",
            fused,
        ),
        Way(
            "window",
            "Sliding window",
            f"softmax(QKᵀ / √d where |i − j| &lt; w) V, w = {WIDTH}",
            "T w d",
            "T w",
            (1.0, 1.0),
            False,
            "The explicit one under a window mask, computed in blocks beside the diagonal; what is farther off is not seen.",
            window,
        ),
        Way(
            "linear",
            "Linear",
            "φ(Q) (φ(K)ᵀV), each row over φ(q) · Σφ(k), with φ(x) = elu(x) + 1",
            "T d²",
            "T d",
            (1.0, 1.0),
            False,
            "Another function: no softmax, so that the keys and values are summed up first and the pattern is never formed.",
            linear,
        ),
    )
}
