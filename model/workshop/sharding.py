"""Shares the sentences of one measurement among the processes that torchrun starts.

All processes run the same command on the same files. `ordered_map` gives each process a part of the items and returns all
results to all of them, in the order of the items, so that no number depends on the count of processes. The first process
alone prints and writes. Every exchange also carries the errors, so that an error in one process ends all of them.

Without torchrun, and in every other command, `ordered_map` is `map`. The module imports torch only under torchrun.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import torch

    from ..device import Group

Item = TypeVar("Item")
Result = TypeVar("Result")
SHARED_COMMANDS = ("report", "evaluate")
TRAINING_COMMAND = "train"  # has its own use of the processes
ROUND_ITEMS = 8  # items of a process between two exchanges; a stopped `report heads` loses at most these


class Processes:
    """The processes that share the items of a command."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.is_over = False  # after an error of any process: no exchange may follow

    def exchange(self, value: Result, fault: Exception | None = None) -> list[Result]:
        """Returns the value of every process, in the order of ranks. Raises the first fault in all processes.

        Raises ConnectionError where another process has ended.
        """
        try:
            replies = self.group.all_gather((value, None if fault is None else _portable(fault)))
        except RuntimeError as lost:
            self.is_over = True
            raise ConnectionError("another process of this command has ended") from lost
        faults = [other for _, other in replies if other is not None]
        if faults:
            self.is_over = True
            raise faults[0]
        return [each for each, _ in replies]


_processes: Processes | None = None  # set while a command shares its items


def _portable(fault: Exception) -> Exception:
    """Returns the error with its traceback as a note, in a form that another process can read."""
    fault.add_note("".join(traceback.format_exception(fault)))
    try:
        pickle.loads(pickle.dumps(fault))
    except Exception:  # errors of any class may have arguments of their own
        return RuntimeError(f"{type(fault).__name__}: {fault}")
    return fault


def ordered_map(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """Yields the result of each item, in order. Under torchrun each process computes a part and gets all results.

    The results must be picklable. All processes must read the same number of results.
    """
    if _processes is None:
        yield from map(function, items)
        return
    size, rank = _processes.group.size, _processes.group.rank
    for start in range(0, len(items), size * ROUND_ITEMS):
        block = items[start : start + size * ROUND_ITEMS]
        results: list[Result] = []
        fault = None
        try:
            results = [function(item) for item in block[rank::size]]
        except Exception as error:  # raised by `exchange`, in all processes
            fault = error
        shares = _processes.exchange(results, fault)
        for n in range(len(block)):
            yield shares[n % size][n // size]


def from_first(value: Result) -> Result:
    """Returns the value of the first process in all of them."""
    return value if _processes is None else _processes.exchange(value)[0]


def is_first() -> bool:
    """Returns True for the process that prints and writes."""
    return _processes is None or _processes.group.is_first


def own_card(device: torch.device) -> torch.device:
    """Returns the graphics card of this process where processes share a command; a numbered card stays."""
    if _processes is None or device.type != "cuda" or device.index is not None:
        return device
    import torch

    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())


def leave_to_first() -> None:
    """Ends the shared part of a command: the first process goes on, and the others end with status 0."""
    global _processes
    if _processes is None:
        return
    _processes.exchange(None)  # raises an error of another process before the first one writes
    group, _processes = _processes.group, None
    group.leave()
    if not group.is_first:
        raise SystemExit(0)


def _is_other() -> bool:
    """Returns True for a process of torchrun that is not the first one."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 and int(os.environ.get("RANK", "0")) > 0


@contextlib.contextmanager
def only_first_speaks() -> Iterator[None]:
    """Silences the other processes of torchrun. Where all of them refuse the options, only the first one fails.

    torchrun stops all processes when one fails, perhaps before the first one has printed its error.
    """
    if not _is_other():
        yield
        return
    with _silence():
        try:
            yield
        except SystemExit:
            raise SystemExit(0) from None


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with open(os.devnull, "w", encoding="utf-8") as sink, contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
        yield


@contextlib.contextmanager
def shared(command: str) -> Iterator[None]:
    """Shares the items of a command among the processes of torchrun. Does nothing without torchrun, and for a training.

    The first process raises the errors of all; the others end with its exit status. Raises ValueError for a command that
    cannot share its items.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or command == TRAINING_COMMAND:
        yield
        return
    if command not in SHARED_COMMANDS:
        if _is_other():
            raise SystemExit(0)
        names = ", ".join((TRAINING_COMMAND, *SHARED_COMMANDS[:-1]))
        raise ValueError(f"several processes can run {names} and {SHARED_COMMANDS[-1]} only; leave out torchrun")
    global _processes
    import torch

    from ..device import Group

    processes = _processes = Processes(Group(torch.device("cpu")))  # the results are no tensors, so gloo carries them
    with contextlib.ExitStack() as stack:
        if not is_first():
            stack.enter_context(_silence())
        try:
            yield
            leave_to_first()
        except KeyboardInterrupt:
            processes.is_over, _processes = True, None
            if not processes.group.is_first:
                raise SystemExit(130) from None
            raise
        except Exception as fault:
            try:
                if _processes is not None and not processes.is_over:
                    processes.exchange(None, fault)  # the next exchange of the others, who then raise this error
            finally:
                if not processes.group.is_first:
                    raise SystemExit(2)
            raise


def leave() -> None:
    """Waits until the first process has printed its error, then leaves the group. Does nothing without an error."""
    global _processes
    if _processes is not None:
        group, _processes = _processes.group, None
        with contextlib.suppress(RuntimeError):  # a process that ended without a word
            group.leave()
