"""Where runs are looked for: the folder `runs` of the project, and those that RUNS names. No torch here."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from model.io.folders import LONGEST, SHIPPED, is_name
from model.workshop.training.history import (
    LOG,
    METRICS,
    PROBES,
    SETTINGS,
)

HOME = SHIPPED.parent / "runs"


def named() -> tuple[Path, ...]:
    """The folders that the environment names as RUNS, with the sign between them that the system puts into PATH."""
    texts = (text.strip() for text in os.environ.get("RUNS", "").split(os.pathsep))
    return tuple(Path(os.path.abspath(os.path.expanduser(text))) for text in texts if text)


def survey(home: Path | None = None) -> dict[str, Path]:
    """The folder of each run by its name: of the folders that RUNS names, each of which is a run or a folder of runs, and of
    the project's own; runs that were made together lie one folder deeper. Where a name is taken already, the later one is
    told apart by the folder that it lies in; of several in one place that have the same name, each is."""
    found: dict[str, Path] = {}
    known: set[Path] = set()
    for place in (*named(), home or HOME):
        new: dict[Path, Path] = {}
        for path in _inside(place):
            new.setdefault(path.resolve(), path)
        paths = [path for whole, path in new.items() if whole not in known]
        known |= set(new)
        count = Counter(path.name for path in paths)
        for path in paths:
            folder = path.parent.name
            for more in (
                *([""] if count[path.name] == 1 else []),
                f" ({folder})",
                *(f" ({folder} {n})" for n in range(2, len(known) + 3)),
            ):
                name = path.name[: LONGEST - len(more)] + more
                if name not in found and is_name(name):
                    found[name] = path
                    break
    return dict(sorted(found.items()))


def unusable() -> tuple[str, ...]:
    """A sentence for each folder that RUNS names in which no run lies."""
    why = {True: f"holds no run: expected a {SETTINGS} in it, or in a folder within", False: "is no folder"}
    return tuple(f"RUNS: {place.name} {why[place.is_dir()]}." for place in named() if not _inside(place))


def stamp(place: Path) -> tuple[tuple[int, int], ...]:
    """What changes when something of a run or a checkpoint is written: times and sizes of its files."""
    files = (PROBES, f"checkpoint/{PROBES}", SETTINGS, LOG, METRICS, "config.json", "checkpoint/means.safetensors")
    return tuple(_stat(place / name) for name in files)


def written(stamp: tuple[tuple[int, int], ...]) -> float:
    """When something of a `stamp` was last written, in seconds since 1970."""
    return max(time for time, _ in stamp) / 1e9


def of_recording(stamp: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """What of a `stamp` changes with the recording alone."""
    return stamp[:2]


def _stat(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)


def _inside(place: Path) -> list[Path]:
    """The runs in a folder, or the folder itself where it is one."""
    try:
        if (place / SETTINGS).is_file() and is_name(place.name):
            return [place]
        found = (path.parent for depth in ("*", "*/*") for path in place.glob(f"{depth}/{SETTINGS}"))
        return sorted(path for path in found if is_name(path.name))
    except OSError:
        return []
