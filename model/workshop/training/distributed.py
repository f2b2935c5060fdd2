"""Several processes that train one model together, as torchrun starts them; or one alone."""

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
    """The processes of a run. The first one validates, writes and speaks; every method is called by all of them.

    torchrun tells each process its place in the environment (RANK, WORLD_SIZE, LOCAL_RANK); without it there is one.
    """

    def __init__(self, device: torch.device) -> None:
        """Joins the other processes, with nccl on CUDA and gloo elsewhere; waits until all are there."""
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
    def first(self) -> bool:
        """True for the process that validates, writes and speaks."""
        return self.rank == 0

    def wrap(self, module: nn.Module) -> nn.Module:
        """The module, its gradients averaged over the processes; it begins with the first one's weights."""
        return module if self.size == 1 else DistributedDataParallel(module, gradient_as_bucket_view=True)

    def sums(self, values: Sequence[float]) -> list[float]:
        """The sum of each value over the processes."""
        if self.size == 1:
            return list(values)
        total = torch.tensor(values, dtype=torch.float64, device=self.device)
        distributed.all_reduce(total)
        return total.tolist()

    def share(self, value: Value) -> Value:
        """The first process' value, given to all."""
        if self.size == 1:
            return value
        box = [value]
        distributed.broadcast_object_list(box, device=self.device)
        return box[0]

    def gather(self, value: Value) -> list[Value]:
        """Every process' value, in their order."""
        if self.size == 1:
            return [value]
        found: list[Value] = [value] * self.size
        distributed.all_gather_object(found, value)
        return found

    def leave(self) -> None:
        """Waits for the others and says goodbye; whatever `wrap` gave must be let go before.

        Without the wait, and with a wrapped module still alive, gloo's threads outlive the group and abort the process.
        """
        if self.size > 1 and distributed.is_initialized():
            distributed.barrier()
            gc.collect()
            distributed.destroy_process_group()
