"""Folders of training runs: `runs` in the project, and those listed in the environment variable RUNS. Imports no torch."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from ...io.folders import MAX_NAME_LENGTH, SHIPPED, is_name
from .history import LOG, METRICS, PROBES, SETTINGS

RUNS_FOLDER = SHIPPED.parent / "runs"


def listed_folders() -> tuple[Path, ...]:
    """Returns the folders in the environment variable RUNS, separated as in PATH."""
    texts = (text.strip() for text in os.environ.get("RUNS", "").split(os.pathsep))
    return tuple(Path(os.path.abspath(os.path.expanduser(text))) for text in texts if text)


def find_runs(home: Path | None = None) -> dict[str, Path]:
    """Returns the folder of each run by name, from the folders in RUNS and from the project's own.

    An entry of RUNS is a run, or a folder of runs up to two levels deep. A run whose name is taken gets the name of its
    parent folder appended; so does each of several runs with one name.
    """
    runs: dict[str, Path] = {}
    known: set[Path] = set()
    for place in (*listed_folders(), home or RUNS_FOLDER):
        new: dict[Path, Path] = {}
        for path in _runs_in(place):
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
                name = path.name[: MAX_NAME_LENGTH - len(suffix)] + suffix
                if name not in runs and is_name(name):
                    runs[name] = path
                    break
    return dict(sorted(runs.items()))


def unusable_folders() -> tuple[str, ...]:
    """Returns a sentence for each folder in RUNS without a run."""
    why = {True: f"has no run; expected a {SETTINGS} in it or in a folder below", False: "is no folder"}
    return tuple(f"RUNS: {place.name} {why[place.is_dir()]}." for place in listed_folders() if not _runs_in(place))


def file_stamps(folder: Path) -> tuple[tuple[int, int], ...]:
    """Returns times and sizes of the files of a run or a checkpoint, which change with every write."""
    files = (PROBES, f"checkpoint/{PROBES}", SETTINGS, LOG, METRICS, "config.json", "checkpoint/means.safetensors")
    return tuple(_file_stamp(folder / name) for name in files)


def last_change(stamps: tuple[tuple[int, int], ...]) -> float:
    """Returns the time of the last change, in seconds since 1970."""
    return max(time for time, _ in stamps) / 1e9


def recording_stamps(stamps: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Returns the part of `file_stamps` that only the recording changes."""
    return stamps[:2]


def _file_stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)


def _runs_in(folder: Path) -> list[Path]:
    """Returns the runs in a folder, or the folder itself if it is a run."""
    try:
        if (folder / SETTINGS).is_file() and is_name(folder.name):
            return [folder]
        folders = (path.parent for depth in ("*", "*/*") for path in folder.glob(f"{depth}/{SETTINGS}"))
        return sorted(path for path in folders if is_name(path.name))
    except OSError:
        return []
