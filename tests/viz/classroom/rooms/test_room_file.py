"""The file of rooms: what a restarted server knows, who can read it, and what becomes of a damaged file."""

import asyncio
import os
import stat

import pytest

from tests.support.room_helpers import NEXT_QUESTION, until
from viz.classroom.rooms import room_file, store
from viz.classroom.rooms.room import SILENCE
from viz.classroom.rooms.room_file import RoomFile, file_of_port
from viz.classroom.rooms.store import Gone, MemoryStore


@pytest.fixture
def file(tmp_path):
    return RoomFile(tmp_path / "rooms.json")


async def fill(file, clock=lambda: 1000.0):
    """Returns a store with one room, an open question and a vote."""
    made = MemoryStore(clock, file)
    room, secret = await made.open("/heads?layer=3")
    await made.change(room.code, lambda room: room.asks(*NEXT_QUESTION.values(), 1000.0))
    return made, await made.change(room.code, lambda room: room.votes("a" * 8, 1, "il", 3, 1001.0)), secret


async def test_a_restarted_server_has_the_room_and_its_votes(file):
    made, room, secret = await fill(file)
    made.flush()
    again = await MemoryStore(lambda: 1002.0, file).get(room.code)
    assert again.opens(secret) and again.question == room.question and again.address == room.address
    assert again.version > room.version + 100  # a browser may have seen changes after the last write
    content = file.path.read_text()
    assert secret not in content and stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert list(file.path.parent.iterdir()) == [file.path]


async def test_changes_are_written_soon_and_together(file, monkeypatch):
    monkeypatch.setattr(store, "SAVE", 0.01)
    writes, write = [], file.write
    monkeypatch.setattr(file, "write", lambda rooms: (writes.append(len(rooms)), write(rooms)))
    made, room, _ = await fill(file)
    for n in range(50):
        await made.change(room.code, lambda room, n=n: room.shows({"address": f"/?step={n}"}, 1001.0))
    await until(lambda: made._saving is None)
    assert len(writes) <= 3
    assert (await MemoryStore(lambda: 1002.0, file).get(room.code)).address == "/?step=49"
    await made.end(room.code)
    await until(lambda: made._saving is None)
    assert not file.path.exists()


async def test_an_ended_room_is_not_read(file):
    made, room, _ = await fill(file)
    made.flush()
    with pytest.raises(Gone):
        await MemoryStore(lambda: 1001.0 + SILENCE, file).get(room.code)


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "large", "link", "folder", "version"])
async def test_a_damaged_file_is_one_line_in_the_log(file, damage, caplog, monkeypatch, tmp_path):
    made, room, _ = await fill(file)
    made.flush()
    raw = bytearray(file.path.read_bytes())
    raw[100] ^= 1
    if damage == "link":
        file.path.rename(tmp_path / "other")
        file.path.symlink_to(tmp_path / "other")
    elif damage == "folder":
        file.path.unlink()
        file.path.mkdir()
    elif damage == "large":
        monkeypatch.setattr(room_file, "MAX_BYTES", 200)
    elif damage == "version":
        monkeypatch.setattr("viz.classroom.rooms.room.SCHEMA", -1)
    else:
        file.path.write_bytes({"cut": file.path.read_bytes()[:-9], "flipped": bytes(raw), "empty": b""}[damage])
    with pytest.raises(Gone):
        await MemoryStore(lambda: 1002.0, file).get(room.code)
    assert len(caplog.messages) == 1 and "without it" in caplog.messages[0]


async def test_the_rooms_that_moved_last_fit(file, monkeypatch):
    clock = [1000.0]
    made = MemoryStore(lambda: clock[0], file)
    codes = []
    for _ in range(6):
        codes.append((await made.open("/"))[0].code)
        clock[0] += 1
    monkeypatch.setattr(room_file, "MAX_BYTES", 2000)
    made.flush()
    assert file.path.stat().st_size <= 2000
    read = {room.code for room in file.read()}
    assert 1 <= len(read) < 6 and read == set(codes[-len(read) :])


@pytest.mark.skipif(os.name != "posix", reason="needs the modes of folders")
async def test_a_folder_that_cannot_be_written_is_reported_once(tmp_path, caplog):
    made, room, _ = await fill(RoomFile(tmp_path / "absent" / "rooms.json"))
    made.flush()
    made.flush()
    assert len(caplog.messages) == 1 and "cannot be written" in caplog.messages[0]
    assert await made.get(room.code) == room


async def test_files_of_ended_rooms_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    old, new = file_of_port(1).path, file_of_port(2).path
    old.write_text("old")
    new.write_text("new")
    os.utime(old, (0, 0))
    assert file_of_port(3).path.name == "attention-lab-rooms-3.json"
    assert list(tmp_path.iterdir()) == [new]
    await asyncio.to_thread(new.unlink)
