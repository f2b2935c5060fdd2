"""Checkpoints that visitors upload as a zip, or train in the page. Only the visit that brought one sees it.

It is deleted when that visit ends, when the server stops, or, after a crash, when the next server starts. The name of an
upload carries a part of the SHA-256 of the files, so a link works wherever the same zip is uploaded again.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import os
import re
import secrets
import shutil
import tempfile
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from model.io.archive import unpack
from model.io.files import MEGABYTE, FileError
from model.io.folders import is_name
from viz.state import visits
from viz.state.result_cache import clear_checkpoint

PREFIX, LOCK = "attention-lab-uploads-", "lock"
UPLOAD_MB = 300  # default limit of a zip, packed and unpacked
MAX_UPLOAD_MB = 4096
SMALL_MB = 2  # of other files, such as texts and results, which every server takes
MAX_AT_ONCE = 4  # of all sessions
MAX_OF_SESSION = 2
TOTAL_FACTOR = 2  # times the largest size: bytes of all sessions
SWEEP_SECONDS = 10.0  # seconds between two sweeps
LONGEST_STEM = 48  # characters
_NAME = re.compile(r"(.+) \((zip|trained) ([0-9a-f]{4})[0-9a-f]{8}\)")


@dataclass
class Upload:
    """A checkpoint that a visitor uploaded or trained."""

    visit: str
    name: str
    folder: Path
    digest: str
    nbytes: int
    is_trained: bool = False
    seen: float = field(default_factory=time.monotonic)  # when its visitor was last there


_uploads: list[Upload] = []
_locks: list[FileLock] = []
_changing = threading.Lock()
_unpacking = threading.Lock()


def serves_others(host: str, allowed: str) -> bool:
    """True if other machines can reach the lab, by its listening address or by allowed names."""
    try:
        own = ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        own = host == "localhost"
    return not own or bool(allowed.strip(" ,"))


def configure(wanted: str, size: str, host: str, allowed: str) -> bool:
    """Enables or disables uploads and returns the choice: by UPLOADS, else enabled on a lab of one machine.

    Raises ValueError for wrong values of UPLOADS or UPLOAD_MB.
    """
    if wanted not in ("", "0", "1"):
        raise ValueError(f"UPLOADS is {wanted[:40]!r}; expected 1, 0 or nothing.")
    if size and not (size.isascii() and size.isdigit() and len(size) < 6 and 1 <= int(size) <= MAX_UPLOAD_MB):
        raise ValueError(f"UPLOAD_MB is {size[:40]!r}; expected megabytes, 1 to {MAX_UPLOAD_MB:,}, or nothing.")
    on = wanted == "1" if wanted else not serves_others(host, allowed)
    os.environ["UPLOADS"] = "1" if on else "0"
    return on


def is_enabled() -> bool:
    """True if visitors may upload checkpoints."""
    return os.environ.get("UPLOADS") == "1"


def max_mb() -> int:
    """Returns the largest size of a zip in megabytes."""
    return int(os.environ.get("UPLOAD_MB") or UPLOAD_MB)


def is_uploaded(name: str) -> bool:
    """True for a name that `upload` or `trained_name` gives."""
    return _NAME.fullmatch(name) is not None


def display_name(name: str) -> str:
    """Returns a checkpoint's name for display; of a visit's own one with four characters of its hash.

    A trained one of this visit has its title alone, while no other has the same title.
    """
    if not (match := _NAME.fullmatch(name)):
        return name
    own = session_uploads()
    titles = [each[1] for each in map(_NAME.fullmatch, own) if each]
    is_clear = match[2] == "trained" and name in own and titles.count(match[1]) == 1
    return match[1] if is_clear else f"{match[1]} ({match[2]} {match[3]})"


def session_uploads() -> dict[str, Path]:
    """Returns the folders of this visit's uploads, by name."""
    visit = visits.visit_id()
    with _changing:
        return {each.name: each.folder for each in _uploads if each.visit == visit} if visit else {}


def unknown_message(name: str) -> str:
    """Returns the message for a checkpoint that this visit has neither uploaded nor trained."""
    if (match := _NAME.fullmatch(name)) and match[2] == "trained":
        return (
            f"The checkpoint “{display_name(name)[:90]}” was trained in another visit, and only that visit can see it. "
            "Train it again on the page Training, or choose another checkpoint."
        )
    what = f"The checkpoint “{display_name(name)[:90]}” was uploaded as a zip. Only that visit can see it."
    if not is_enabled():
        return f"{what} This server takes no uploads. Start one with UPLOADS=1, or choose another checkpoint."
    return f"{what} Upload the same zip on the left under “Checkpoint”."


def upload(raw: BinaryIO, file_name: str) -> str:
    """Unpacks a zip for this session and returns the checkpoint's name. It does not load the checkpoint.

    Raises ValueError with one sentence, and then leaves no files behind.
    """
    visit = visits.visit_id()
    stem = _stem(file_name)
    if not (is_enabled() and visit):
        raise ValueError("This server takes no uploads. Start it with UPLOADS=1 to allow them.")
    max_bytes = max_mb() * MEGABYTE
    with _unpacking:
        try:
            _check_room(visit, max_bytes)
            folder = new_folder()
        except OSError:
            raise ValueError(f"{file_name[-90:]} cannot be unpacked: the server's disk is full or locked.") from None
        try:
            digest = unpack(raw, folder, max_bytes)
            name = f"{stem} (zip {digest[:12]})"
            _add(Upload(visit, name, folder, digest, sum(path.stat().st_size for path in folder.iterdir())), max_bytes)
        except BaseException as fault:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(fault, FileError):
                raise ValueError(f"{file_name[-90:]} {fault}.") from None
            raise
    visits.begin()
    _watch()
    return name


def trained_name(stem: str) -> str:
    """Returns a new name for a checkpoint that a session trains."""
    return f"{_stem(stem)} (trained {secrets.token_hex(6)})"


def new_folder() -> Path:
    """Returns a new folder for a checkpoint of a session. Raises OSError if the disk is full or locked."""
    return Path(tempfile.mkdtemp(dir=_root()))


def add_trained(visit: str, name: str, folder: Path) -> None:
    """Registers a trained checkpoint of a visit, or its new weights after it went on."""
    size = sum(path.stat().st_size for path in folder.iterdir())
    with _changing:
        _uploads[:] = [each for each in _uploads if each.name != name]
        _uploads.append(Upload(visit, name, folder, name, size, is_trained=True))
    clear_checkpoint(name)
    _watch()


def unregister(name: str) -> None:
    """Hides a trained checkpoint from its visit. Its folder stays."""
    with _changing:
        _uploads[:] = [each for each in _uploads if each.name != name]
    clear_checkpoint(name)


def _add(new: Upload, max_bytes: int) -> None:
    """Registers an upload, in place of an equal one of its visit. Raises FileError."""
    with _changing:
        same = [each for each in _uploads if each.name == new.name]
        if any(each.digest != new.digest for each in same):
            raise FileError("has the same name as another checkpoint; rename the zip")
        again = [each for each in same if each.visit == new.visit]
        others = [each for each in _uploads if not each.is_trained and each not in again]
        if new.nbytes + sum(each.nbytes for each in others) > TOTAL_FACTOR * max_bytes:
            raise FileError("does not fit beside the other uploads; try again later")
        for each in again:
            _uploads.remove(each)
            shutil.rmtree(each.folder, ignore_errors=True)
        _uploads.append(new)


def remove(name: str) -> None:
    """Deletes an upload of this visit."""
    visit = visits.visit_id()
    _remove([each for each in _uploads if each.name == name and each.visit == visit])


def sweep(patience: float = visits.ABSENCE_SECONDS) -> None:
    """Deletes the uploads of visits that ended at least `patience` seconds ago."""
    now, gone = time.monotonic(), []
    with _changing:
        for each in _uploads:
            if visits.is_active(each.visit):
                each.seen = now
            elif now - each.seen >= patience:
                gone.append(each)
    _remove(gone)
    visits.sweep()


def clear() -> None:
    """Deletes all uploads and their folder, when the server stops."""
    _remove(list(_uploads))
    if _root.cache_info().currsize:
        shutil.rmtree(_root(), ignore_errors=True)
        _root.cache_clear()


def clear_left_over() -> None:
    """Deletes uploads that crashed servers left."""
    try:
        left = list(Path(tempfile.gettempdir()).glob(f"{PREFIX}*"))
    except OSError:  # no place that could be written to
        return
    for place in left:
        with contextlib.suppress(OSError, Timeout):
            if place.is_symlink() or (hasattr(os, "getuid") and place.stat().st_uid != os.getuid()):
                continue
            with FileLock(place / LOCK, blocking=False):  # Timeout while its server runs
                shutil.rmtree(place, ignore_errors=True)


@cache
def _root() -> Path:
    """Returns the private folder of this process's uploads, locked until the process ends."""
    place = Path(tempfile.mkdtemp(prefix=PREFIX))
    _locks.append(FileLock(place / LOCK))
    _locks[-1].acquire(blocking=False)
    return place


def _check_room(visit: str, max_bytes: int) -> None:
    """Raises ValueError if one more upload of the largest size would be too many or too much."""
    zips = [each for each in _uploads if not each.is_trained]
    own = [each for each in zips if each.visit == visit]
    if len(own) >= MAX_OF_SESSION:
        raise ValueError(f"You have uploaded {len(own)} checkpoints, the limit. Remove one first.")
    if len(zips) >= MAX_AT_ONCE:
        sweep(0)
        zips = [each for each in zips if each in _uploads]
    if len(zips) >= MAX_AT_ONCE:
        raise ValueError(f"Visitors have uploaded {len(zips)} checkpoints, the limit. Try again later.")
    free = shutil.disk_usage(_root()).free
    if free < max_bytes:
        raise ValueError(
            f"The server's disk has {free // MEGABYTE:,} MB left; expected {max_bytes // MEGABYTE:,} MB for a zip."
        )


def _remove(gone: list[Upload]) -> None:
    with _changing:
        for each in gone:
            if each in _uploads:
                _uploads.remove(each)
        left = {each.name for each in _uploads}
    for each in gone:
        shutil.rmtree(each.folder, ignore_errors=True)
    for name in {each.name for each in gone} - left:  # another session may have uploaded the same files
        clear_checkpoint(name)


def _stem(file_name: str) -> str:
    """Returns a zip's name as the beginning of a checkpoint's name."""
    base = re.split(r"[/\\]", file_name)[-1]
    plain = "".join(char if char.isprintable() else " " for char in base.removesuffix(".zip"))
    stem = " ".join(plain.split()).lstrip(".")[:LONGEST_STEM].strip()
    return stem if is_name(stem) else "checkpoint"


@cache
def _watch() -> None:
    """Starts a thread that deletes the uploads of ended sessions."""

    def look() -> None:
        while True:
            time.sleep(SWEEP_SECONDS)
            try:
                sweep()
            except Exception:  # the thread must go on
                logging.getLogger(__name__).exception("Uploads of ended sessions could not be deleted")

    threading.Thread(target=look, name="uploads", daemon=True).start()
