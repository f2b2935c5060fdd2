"""The devices that compute: CPU, CUDA and MPS."""

from __future__ import annotations

import ctypes
import sys

import torch
from torch import Tensor


def available_devices() -> tuple[str, ...]:
    """Returns the names of the available devices, the preferred one first and `cpu` last.

    `cuda` is the first graphics card. Several cards also have numbered names, from `cuda:0`.
    """
    names = []
    if torch.cuda.is_available():
        count = torch.cuda.device_count()
        names += ["cuda", *(f"cuda:{number}" for number in range(count) if count > 1)]
    if torch.backends.mps.is_available():
        names.append("mps")
    return (*names, "cpu")


def choose(name: str = "auto") -> torch.device:
    """Returns a device by name; `auto` is the preferred one. Raises ValueError for a device that is not available."""
    names = available_devices()
    is_only_card = name == "cuda:0" and "cuda" in names
    if name != "auto" and name not in names and not is_only_card:
        raise ValueError(f"The device {name!r} is not available here; expected auto or one of {', '.join(names)}.")
    return torch.device(names[0] if name == "auto" else name)


def has_bfloat16(device: torch.device) -> bool:
    """True where bfloat16 products are fast."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return device.type == "cpu" and torch.backends.cpu.get_cpu_capability() == "AVX512" and _cpu_bfloat16()


def _cpu_bfloat16() -> bool:
    return bool(torch.cpu._is_avx512_bf16_supported())


def keep_freed_memory() -> None:
    """Makes glibc keep freed memory instead of returning it to the system; does nothing elsewhere.

    Training is 1.5 times as fast on two cores (benchmarks/training_tricks.py), because large tensors are not paged in again
    at every step.
    """
    if sys.platform != "linux" or not hasattr(libc := ctypes.CDLL(None), "mallopt"):
        return
    trim_threshold, mmap_threshold = -1, -3  # from malloc.h
    libc.mallopt(mmap_threshold, 1 << 30)
    libc.mallopt(trim_threshold, (1 << 31) - 1)


def random_state(device: torch.device) -> dict[str, Tensor]:
    """Returns the states of the random number generators of the CPU and of another device."""
    state = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    elif device.type == "mps":
        state["mps"] = torch.mps.get_rng_state()
    return state


def set_random_state(device: torch.device, state: dict[str, Tensor]) -> None:
    """Restores the states of `random_state`; states of another kind of device are ignored."""
    torch.set_rng_state(state["cpu"].cpu())
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"].cpu(), device)
    elif device.type == "mps" and "mps" in state:
        torch.mps.set_rng_state(state["mps"].cpu())
