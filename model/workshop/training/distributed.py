"""Processes that torchrun starts to train one model together, or one process alone."""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

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
