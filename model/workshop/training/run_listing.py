"""Folders of training runs: `runs` in the project, and those listed in the environment variable RUNS. Imports no torch."""

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
    """Returns the folders in the environment variable RUNS, separated as in PATH."""
    texts = (text.strip() for text in os.environ.get("RUNS", "").split(os.pathsep))
    return tuple(Path(os.path.abspath(os.path.expanduser(text))) for text in texts if text)


def survey(home: Path | None = None) -> dict[str, Path]:
    """Returns the folder of each run by name, from the folders in RUNS and from the project's own.

    An entry of RUNS is a run, or a folder of runs up to two levels deep. A run whose name is taken gets the name of its
    parent folder appended; so does each of several runs with one name.
    """
    runs: dict[str, Path] = {}
    known: set[Path] = set()
    for place in (*named(), home or HOME):
        new: dict[Path, Path] = {}
        for path in _inside(place):
            new.setdefault(path.resolve(), path)
        paths = [path for resolved, path in new.items() if resolved not in known]
        known |= set(new)
        count = Counter(path.name for path in paths)
        for path in paths:
            folder = path.parent.name
            for suffix in (
                *([""] if count[path.name] == 1 else []),
                f" ({folder})",
                *(f" ({folder} {n})" for n in range(2, len(known) + 3)),
            ):
                name = path.name[: LONGEST - len(suffix)] + suffix
                if name not in runs and is_name(name):
                    runs[name] = path
                    break
    return dict(sorted(runs.items()))


def unusable() -> tuple[str, ...]:
    """Returns a sentence for each folder in RUNS without a run."""
    why = {True: f"has no run; expected a {SETTINGS} in it or in a folder below", False: "is no folder"}
    return tuple(f"RUNS: {place.name} {why[place.is_dir()]}." for place in named() if not _inside(place))


def stamp(place: Path) -> tuple[tuple[int, int], ...]:
    """Returns times and sizes of the files of a run or a checkpoint, which change with every write."""
    files = (PROBES, f"checkpoint/{PROBES}", SETTINGS, LOG, METRICS, "config.json", "checkpoint/means.safetensors")
    return tuple(_stat(place / name) for name in files)


def written(stamp: tuple[tuple[int, int], ...]) -> float:
    """Returns the time of the last change, in seconds since 1970."""
    return max(time for time, _ in stamp) / 1e9


def of_recording(stamp: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Returns the part of `file_stamps` that only the recording changes."""
    return stamp[:2]


def _stat(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)


def _inside(place: Path) -> list[Path]:
    """Returns the runs in a folder, or the folder itself if it is a run."""
    try:
        if (place / SETTINGS).is_file() and is_name(place.name):
            return [place]
        folders = (path.parent for depth in ("*", "*/*") for path in place.glob(f"{depth}/{SETTINGS}"))
        return sorted(path for path in folders if is_name(path.name))
    except OSError:
        return []
