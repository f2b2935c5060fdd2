"""Checkpoints that visitors bring as a zip. Each belongs to the session that brought it: no other one sees it, and it goes
when that session goes, when the server stops, or, after a crash, when the next server starts.

A name carries a part of the SHA-256 of the files, so a link to it is right wherever the same zip is brought again.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import os
import re
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
from viz.state.result_cache import forget_of

PREFIX, LOCK = "attention-lab-uploads-", "lock"
UPLOAD_MB = 300  # of a zip, and of what it unpacks to; UPLOAD_MB in the environment says otherwise
MOST_MB = 4096
MAX_AT_ONCE = 4  # of all sessions
MAX_OF_SESSION = 2
ALL_TOGETHER = 2  # times the largest size: bytes of all sessions, of which as many again are taken where they are loaded
LEFT = 150.0  # seconds until one who has left does not come back: Streamlit keeps a session for two minutes
ROUND = 10.0  # seconds between two looks
LONGEST_STEM = 48  # characters
_NAME = re.compile(r"(.+) \(zip ([0-9a-f]{4})[0-9a-f]{8}\)")


@dataclass
class Upload:
    """What a session has brought."""

    session: str
    name: str
    folder: Path
    digest: str
    nbytes: int
    seen: float = field(default_factory=time.monotonic)  # when its session was last there


_uploads: list[Upload] = []
_locks: list[FileLock] = []
_changing = threading.Lock()
_unpacking = threading.Lock()


def serves_others(host: str, allowed: str) -> bool:
    """Whether others than this machine can reach the lab: by the address that it listens on, or by names it answers to."""
    try:
        own = ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        own = host == "localhost"
    return not own or bool(allowed.strip(" ,"))


def switch(wanted: str, size: str, host: str, allowed: str) -> bool:
    """Whether uploads are taken, by UPLOADS, else by whom the lab serves; kept in the environment for all that follows.

    Raises ValueError for what UPLOADS and UPLOAD_MB cannot be.
    """
    if wanted not in ("", "0", "1"):
        raise ValueError(f"UPLOADS is {wanted[:40]!r}; expected 1, 0 or nothing.")
    if size and not (size.isascii() and size.isdigit() and len(size) < 6 and 1 <= int(size) <= MOST_MB):
        raise ValueError(f"UPLOAD_MB is {size[:40]!r}; expected megabytes, 1 to {MOST_MB:,}, or nothing.")
    on = wanted == "1" if wanted else not serves_others(host, allowed)
    os.environ["UPLOADS"] = "1" if on else "0"
    return on


def is_on() -> bool:
    """Whether uploads are taken."""
    return os.environ.get("UPLOADS") == "1"


def most_mb() -> int:
    """The most megabytes of a zip."""
    return int(os.environ.get("UPLOAD_MB") or UPLOAD_MB)


def is_uploaded(name: str) -> bool:
    """True for a name as `bring` gives them: it is known to one session, if to any."""
    return _NAME.fullmatch(name) is not None


def shown(name: str) -> str:
    """A checkpoint's name as it is read: of one that was brought, four signs of its sum tell it from others."""
    return f"{found[1]} (zip {found[2]})" if (found := _NAME.fullmatch(name)) else name


def mine() -> dict[str, Path]:
    """The folders of what this run's session has brought, by their names."""
    session = _session()
    with _changing:
        return {each.name: each.folder for each in _uploads if each.session == session} if session else {}


def unknown(name: str) -> str:
    """The sentence for an uploaded checkpoint that this session has not brought."""
    what = f"The checkpoint “{shown(name)[:90]}” was brought as a zip, and only the session that brought it can see it."
    if not is_on():
        return f"{what} This server takes none: start one with UPLOADS=1, or choose another checkpoint."
    return f"{what} Bring the same zip here, at the left under “Checkpoint”, and the link is right again."


def bring(raw: BinaryIO, file_name: str) -> str:
    """Unpacks a zip for this run's session, and gives the name that the checkpoint has from now on. It is not loaded yet.

    Raises ValueError with one sentence; nothing is left behind then.
    """
    session = _session()
    stem = _stem(file_name)
    if not (is_on() and session):
        raise ValueError("This server takes no uploads: start it with UPLOADS=1 where you want them.")
    most = most_mb() * MEGABYTE
    with _unpacking:
        try:
            _check_room(session, most)
            folder = Path(tempfile.mkdtemp(dir=_root()))
        except OSError:
            raise ValueError(f"{file_name[-90:]} cannot be unpacked: the server's disk is full or locked.") from None
        try:
            digest = unpack(raw, folder, most)
            name = f"{stem} (zip {digest[:12]})"
            _add(Upload(session, name, folder, digest, sum(path.stat().st_size for path in folder.iterdir())), most)
        except BaseException as fault:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(fault, FileError):
                raise ValueError(f"{file_name[-90:]} {fault}.") from None
            raise
    _watch()
    return name


def _add(found: Upload, most: int) -> None:
    """Makes an upload known; one that its session has brought before takes the place of that. Raises FileError."""
    with _changing:
        same = [each for each in _uploads if each.name == found.name]
        if any(each.digest != found.digest for each in same):
            raise FileError("cannot be told from another checkpoint; give the zip another name")
        again = [each for each in same if each.session == found.session]
        if found.nbytes + sum(each.nbytes for each in _uploads if each not in again) > ALL_TOGETHER * most:
            raise FileError("finds no room beside what visitors have brought; try again later")
        for each in again:
            _uploads.remove(each)
            shutil.rmtree(each.folder, ignore_errors=True)
        _uploads.append(found)


def drop(name: str) -> None:
    """Takes away what this run's session has brought under a name."""
    session = _session()
    _remove([each for each in _uploads if each.name == name and each.session == session])


def sweep(patience: float = LEFT) -> None:
    """Takes away what sessions have brought that left longer ago."""
    now, gone = time.monotonic(), []
    with _changing:
        for each in _uploads:
            if _is_there(each.session):
                each.seen = now
            elif now - each.seen >= patience:
                gone.append(each)
    _remove(gone)


def clear() -> None:
    """Takes away all, with the folder that it lies in: the server stops."""
    _remove(list(_uploads))
    if _root.cache_info().currsize:
        shutil.rmtree(_root(), ignore_errors=True)
        _root.cache_clear()


def clear_left_over() -> None:
    """Takes away what servers have left that ended without a chance to clear up."""
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
    """The folder of this process's uploads, which its user alone may look into; locked until the process ends."""
    place = Path(tempfile.mkdtemp(prefix=PREFIX))
    _locks.append(FileLock(place / LOCK))
    _locks[-1].acquire(blocking=False)
    return place


def _check_room(session: str, most: int) -> None:
    """ValueError where there are too many, or too large ones, together with another of the largest size."""
    own = [each for each in _uploads if each.session == session]
    if len(own) >= MAX_OF_SESSION:
        raise ValueError(f"You have brought {len(own)} checkpoints, and there is no room for more: take one away first.")
    if len(_uploads) >= MAX_AT_ONCE:
        sweep(0)
    if len(_uploads) >= MAX_AT_ONCE:
        raise ValueError(
            f"Visitors have brought {len(_uploads)} checkpoints, as many as there is room for: try again later."
        )
    free = shutil.disk_usage(_root()).free
    if free < most:
        raise ValueError(f"The server's disk has {free // MEGABYTE:,} MB left; expected {most // MEGABYTE:,} MB for a zip.")


def _remove(gone: list[Upload]) -> None:
    with _changing:
        for each in gone:
            if each in _uploads:
                _uploads.remove(each)
        left = {each.name for each in _uploads}
    for each in gone:
        shutil.rmtree(each.folder, ignore_errors=True)
    for name in {each.name for each in gone} - left:  # another session may have brought the very same files
        forget_of(name)


def _stem(file_name: str) -> str:
    """What a zip is called, as the beginning of a checkpoint's name."""
    base = re.split(r"[/\\]", file_name)[-1]
    plain = "".join(char if char.isprintable() else " " for char in base.removesuffix(".zip"))
    stem = " ".join(plain.split()).lstrip(".")[:LONGEST_STEM].strip()
    return stem if is_name(stem) else "checkpoint"


def _session() -> str | None:
    """The session of this run; None outside of one."""
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context else None


def _is_there(session: str) -> bool:
    from streamlit import runtime

    return runtime.exists() and runtime.get_instance().is_active_session(session)


@cache
def _watch() -> None:
    """Looks from now on who has left."""

    def look() -> None:
        while True:
            time.sleep(ROUND)
            try:
                sweep()
            except Exception:  # else nobody looks any more
                logging.getLogger(__name__).exception("What visitors have left could not be taken away")

    threading.Thread(target=look, name="uploads", daemon=True).start()
