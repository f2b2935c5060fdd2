"""A small training in a process of its own: python -m model.workshop.small.small_process, for a server.

Its standard input has one JSON object: `folder`, `resume`, `seconds` and `config`, the fields of `SmallConfig`. Its standard
output has a JSON object a line: `ready` with the examples, then each report with their cross-attention, then
`{"saved": true}` or `{"fault": "one sentence"}`. When the input is closed or has another line, the training stops and is
saved. It runs at low priority, on one thread, and with bounded memory.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .small_training import SmallProgress, SmallTraining

NICENESS = 15
MAX_MEMORY = 4 << 30  # bytes of data; a training needs less than 1 GB


def main() -> None:
    wanted = json.loads(sys.stdin.readline())
    _limit()
    import torch

    from .small_training import SmallConfig, SmallTraining

    torch.set_num_threads(1)
    config = wanted["config"]
    stopped = threading.Event()
    try:
        pairs = tuple((source, target) for source, target in config.pop("pairs", ()))
        training = SmallTraining(SmallConfig(**config, pairs=pairs))
        folder = Path(wanted["folder"])
        if wanted["resume"]:
            training.restore(folder)
        threading.Thread(target=_await_stop, args=(stopped,), daemon=True).start()
        examples = [dataclasses.asdict(each) for each in training.recorder.sentences]
        _tell(ready=True, examples=examples, held_out=len(training.held_out), step_before=training.step)
        for report in training.run(training.seconds + wanted["seconds"], training.step + wanted["steps"]):
            _tell(**describe(training, report))
            if stopped.is_set():
                break
        training.save(folder)
        _tell(saved=True)
    except (ValueError, KeyError, OSError) as fault:
        _tell(fault=str(fault) or type(fault).__name__)


def _limit() -> None:
    with contextlib.suppress(OSError, AttributeError):  # not on every system
        os.nice(NICENESS)
    with contextlib.suppress(OSError, ImportError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))


def _await_stop(stopped: threading.Event) -> None:
    sys.stdin.readline()  # returns at the end of the input, too
    stopped.set()


def _tell(**values: Any) -> None:
    print(json.dumps(values), flush=True)


def describe(training: SmallTraining, report: SmallProgress) -> dict[str, Any]:
    """Returns a report for the page: its numbers, and for each example the levels of cross-attention, [L*H*T*S] from 0."""
    maps = [training.recorder.arrays[f"cross/{n}"][-1].flatten().tolist() for n in range(len(training.examples))]
    return dataclasses.asdict(report) | {"maps": maps, "has_learned": training.has_learned}


if __name__ == "__main__":
    main()
