"""Which processor computes."""

from __future__ import annotations

import torch


def available() -> tuple[str, ...]:
    """Names of the devices of this machine, the preferred one first; `cpu` is always the last."""
    names = []
    if torch.cuda.is_available():
        names.append("cuda")
    if torch.backends.mps.is_available():
        names.append("mps")
    return (*names, "cpu")


def choose(name: str = "auto") -> torch.device:
    """`auto` is the first that is available; ValueError for a device that this machine does not have."""
    names = available()
    if name != "auto" and name not in names:
        raise ValueError(f"The device {name!r} is not available here; expected auto or one of {', '.join(names)}.")
    return torch.device(names[0] if name == "auto" else name)


def has_bfloat16(device: torch.device) -> bool:
    """True where bfloat16 products are fast."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return device.type == "cpu" and torch.backends.cpu.get_cpu_capability() == "AVX512" and _cpu_bfloat16()


def _cpu_bfloat16() -> bool:
    return bool(torch.cpu._is_avx512_bf16_supported())
