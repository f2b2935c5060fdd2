"""File with the rooms of one process, so that they survive a restart. Secrets are stored as hashes only."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import stat
import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from viz.classroom.rooms.room import SILENCE, Room

PREFIX = "attention-lab-rooms-"
MAX_BYTES = 4_000_000  # of the file; rooms that moved last come first
LATER_VERSIONS = 1000  # added to each version, since browsers may have seen changes that the file lacks
DAMAGED = "The file of rooms %s is not usable (%s). The lab starts without it."
NOT_WRITTEN = "The file of rooms %s cannot be written (%s). Rooms end with the server."


class RoomFile:
    """A file that only this user can read: a checksum, and a list of packed rooms."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._packed: dict[str, tuple[Room, str]] = {}
        self._has_failed = False
        self._writing = threading.Lock()

    def read(self) -> list[Room]:
        """Returns the rooms; none, with one line in the log, if the file is damaged or not of this user."""
        try:
            content = _content(self.path)
        except FileNotFoundError:
            return []
        except OSError as fault:
            return self._report(fault.strerror or str(fault))
        checksum, _, text = content.partition(b"\n")
        if len(content) > MAX_BYTES or hashlib.sha256(text).hexdigest().encode() != checksum:
            return self._report("damaged")
        try:
            rooms = [Room.unpacked(each) for each in json.loads(text)]
        except (ValueError, LookupError, TypeError, AttributeError):
            return self._report("from another version of the lab")
        return [replace(room, version=room.version + LATER_VERSIONS) for room in rooms]

    def _report(self, reason: str) -> list[Room]:
        logging.getLogger(__name__).warning(DAMAGED, self.path, reason)
        return []

    def write(self, rooms: Iterable[Room]) -> None:
        """Replaces the file in one step; removes it if there are no rooms. A failure is one line in the log."""
        try:
            with self._writing:
                if texts := self._texts(rooms):
                    self._replace(json.dumps(texts).encode())
                else:
                    self.path.unlink(missing_ok=True)
        except OSError as fault:
            if not self._has_failed:
                logging.getLogger(__name__).warning(NOT_WRITTEN, self.path, fault.strerror)
            self._has_failed = True

    def _texts(self, rooms: Iterable[Room]) -> list[str]:
        """Returns the packed rooms that fit; unchanged rooms are not packed again."""
        known, self._packed = self._packed, {}
        texts, size = [], 100
        for room in sorted(rooms, key=lambda each: -each.moved):
            before = known.get(room.code)
            text = before[1] if before and before[0] is room else room.packed()
            self._packed[room.code] = room, text
            size += len(json.dumps(text)) + 2
            if size > MAX_BYTES:
                break
            texts.append(text)
        return texts

    def _replace(self, text: bytes) -> None:
        descriptor, name = tempfile.mkstemp(prefix=f".{self.path.name}.", dir=self.path.parent)  # with the mode 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
            os.replace(name, self.path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise


def _content(path: Path) -> bytes:
    """Returns the content of a file of this user; raises OSError for anything else."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
            raise OSError("not a file of this user")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read(MAX_BYTES + 1)
    finally:
        os.close(descriptor)


def file_of_port(port: int) -> RoomFile | None:
    """Returns the file of the server at a port, in the folder for temporary files; None without such a folder.

    Removes files of other servers whose rooms have ended.
    """
    try:
        folder = Path(tempfile.gettempdir())
    except OSError:
        return None
    for old in [*folder.glob(f"{PREFIX}*"), *folder.glob(f".{PREFIX}*")]:
        with contextlib.suppress(OSError):
            if time.time() - old.lstat().st_mtime > SILENCE and stat.S_ISREG(old.lstat().st_mode):
                old.unlink()
    return RoomFile(folder / f"{PREFIX}{port}.json")
