"""The devices that compute: CPU, CUDA and MPS. Also the processes that torchrun starts to train one model together."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel


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


def available_memory() -> int | None:
    """Returns the bytes that can be allocated without swapping; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), None)


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


Value = TypeVar("Value")


class Group:
    """The processes of a run. The first one validates, writes and prints; all of them call every method.

    torchrun sets RANK, WORLD_SIZE and LOCAL_RANK in the environment of each process. Without them there is one process.
    """

    def __init__(self, device: torch.device) -> None:
        """Joins the other processes, with nccl on CUDA and gloo elsewhere; waits until all have joined."""
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0")) if self.size > 1 else 0
        self.device = device
        if self.size > 1:
            if device.type == "cuda":
                self.device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
                torch.cuda.set_device(self.device)
            if not distributed.is_initialized():
                distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")

    @property
    def is_first(self) -> bool:
        """True for the process that validates, writes and prints."""
        return self.rank == 0

    def wrap(self, module: nn.Module) -> nn.Module:
        """Returns the module with gradients averaged over the processes and the weights of the first process."""
        return module if self.size == 1 else DistributedDataParallel(module, gradient_as_bucket_view=True)

    def all_reduce(self, values: Sequence[float]) -> list[float]:
        """Returns the sum of each value over the processes."""
        if self.size == 1:
            return list(values)
        total = torch.tensor(values, dtype=torch.float64, device=self.device)
        distributed.all_reduce(total)
        return total.tolist()

    def broadcast(self, value: Value) -> Value:
        """Returns the value of the first process to all processes."""
        if self.size == 1:
            return value
        box = [value]
        distributed.broadcast_object_list(box, device=self.device)
        return box[0]

    def all_gather(self, value: Value) -> list[Value]:
        """Returns the value of every process, in the order of their ranks."""
        if self.size == 1:
            return [value]
        values: list[Value] = [value] * self.size
        distributed.all_gather_object(values, value)
        return values

    def leave(self) -> None:
        """Waits for the other processes and ends the group. Delete the module that `wrap` returned first.

        Without the wait, or with a wrapped module still alive, the threads of gloo outlive the group and abort the process.
        """
        if self.size > 1 and distributed.is_initialized():
            distributed.barrier()
            gc.collect()
            distributed.destroy_process_group()
