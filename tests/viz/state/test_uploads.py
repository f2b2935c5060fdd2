"""Uploads are seen by their session alone, are bounded, and end with it."""

import dataclasses
import io
import multiprocessing
import zipfile
from pathlib import Path

import pytest

from model.checkpoint import CheckpointError, save
from model.inference.request import Request
from viz import cache
from viz.state import uploads, visits


@pytest.fixture
def session(monkeypatch, tmp_path):
    """Says whose run it is; what is brought lies in a folder of the test."""
    monkeypatch.setenv("UPLOADS", "1")
    monkeypatch.setattr(uploads.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(uploads, "_watch", lambda: None)
    now, there = ["one"], {"one", "two", "three", "four", "five"}
    monkeypatch.setattr(visits, "session_id", lambda: now[0])
    monkeypatch.setattr(visits, "is_connected", lambda name: name in there)

    def become(name: str | None, leaves: str | None = None) -> None:
        now[0] = name
        there.discard(leaves)

    yield become
    uploads.clear()
    assert [path for path in tmp_path.iterdir() if path.name.startswith(uploads.PREFIX)] == []


def packed(folder: Path, **more: bytes) -> io.BytesIO:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as out:
        for path in folder.iterdir():
            out.writestr(f"mine/{path.name}", more.get(path.name, path.read_bytes()))
    made.seek(0)
    return made


def folders(tmp_path: Path) -> list[Path]:
    return [path.parent for path in tmp_path.glob(f"{uploads.PREFIX}*/*/config.json")]


def test_only_its_session_sees_an_upload(session, saved):
    name = uploads.upload(packed(saved), "mine.zip")
    request = Request("The fox.", name)
    assert name in cache.checkpoint_names()
    assert cache.checkpoint(name, "cpu").name == name
    assert cache.analyse(request, "cpu").request == request
    for other in ("two", None):
        session(other)
        assert name not in cache.checkpoint_names()
        assert cache.languages(name, "cpu") == ("Sentence", "Translation")
        with pytest.raises(CheckpointError, match="Upload the same zip") as fault:
            cache.checkpoint(name, "cpu")
        assert "/" not in str(fault.value)
    session("two")
    assert uploads.upload(packed(saved), "mine.zip") == name  # the same files, whoever brings them
    assert cache.checkpoint(name, "cpu")


def test_an_upload_goes_with_its_session(session, saved, tmp_path):
    name = uploads.upload(packed(saved), "mine.zip")
    cache.checkpoint(name, "cpu")
    uploads.sweep(0)
    assert len(folders(tmp_path)) == 1
    session("one", leaves="one")
    uploads.sweep()
    assert len(folders(tmp_path)) == 1  # it may come back
    uploads.sweep(0)
    assert folders(tmp_path) == []
    assert cache._loaded.known(name, "cpu") is None
    with pytest.raises(CheckpointError):
        cache.checkpoint(name, "cpu")


def test_the_number_of_uploads_is_limited(session, saved, tiny_checkpoint, tmp_path):
    for number, who in enumerate(("one", "one", "two", "three")):
        session(who)
        save(dataclasses.replace(tiny_checkpoint, languages=("A", str(number))), saved)
        uploads.upload(packed(saved), "mine.zip")
    session("one")
    with pytest.raises(ValueError, match="You have uploaded 2 checkpoints"):
        uploads.upload(packed(saved), "mine.zip")
    session("four")
    with pytest.raises(ValueError, match="Visitors have uploaded 4 checkpoints"):
        uploads.upload(packed(saved), "mine.zip")
    assert len(folders(tmp_path)) == 4
    session("four", leaves="two")
    uploads.upload(packed(saved), "mine.zip")
    assert len(folders(tmp_path)) == 4


@pytest.mark.parametrize("name", ["../../x.zip", "a/b.zip", "a\nb.zip", "", ".zip", "x" * 300, "<b>é</b>.ZIP", "C:\\x.zip"])
def test_an_odd_zip_name_can_be_shown_and_linked(session, saved, name):
    found = uploads.upload(packed(saved), name)
    assert uploads.is_uploaded(found)
    assert cache.checkpoint(found, "cpu").name == found
    assert uploads.display_name(found).endswith(f"(zip {found[-13:-9]})")


def test_what_fails_leaves_nothing(session, saved, tmp_path):
    whole, config = packed(saved).getvalue(), (saved / "config.json").read_bytes()
    for wrong, told in (
        (b"x" + whole[1:100], "is not a zip"),
        (whole[:-9], "is an incomplete zip"),
        (whole.replace(config, b"[" + config[1:], 1), "contains"),
    ):
        with pytest.raises(ValueError, match=f"^mine.zip {told}"):
            uploads.upload(io.BytesIO(wrong), "mine.zip")
    assert folders(tmp_path) == []
    session(None)
    with pytest.raises(ValueError, match="takes no uploads"):
        uploads.upload(packed(saved), "mine.zip")


def _left_over(place: str) -> None:
    uploads.tempfile.tempdir = place
    (uploads._root() / "tmp").mkdir()


def test_leftovers_of_a_crash_are_removed(session, saved, tmp_path):
    uploads.upload(packed(saved), "mine.zip")
    crashed = multiprocessing.get_context("fork").Process(target=_left_over, args=(str(tmp_path),))
    uploads._root.cache_clear(), crashed.start(), crashed.join()
    assert len(list(tmp_path.glob(f"{uploads.PREFIX}*"))) == 2
    uploads.clear_left_over()
    assert len(list(tmp_path.glob(f"{uploads.PREFIX}*"))) == 1
    assert len(folders(tmp_path)) == 1
    for each in uploads._locks:
        each.release()
    uploads.clear_left_over()


def test_uploads_are_on_for_localhost_only(monkeypatch):
    for wanted, host, allowed, on in (
        ("", "127.0.0.1", "", True),
        ("", "::1", "", True),
        ("", "0.0.0.0", "", False),
        ("", "127.0.0.1", "lab.example", False),
        ("1", "0.0.0.0", "lab.example", True),
        ("0", "127.0.0.1", "", False),
    ):
        monkeypatch.setenv("UPLOADS", wanted)
        assert uploads.configure(wanted, "", host, allowed) is on is uploads.is_enabled()
