"""A zip that is damaged or made up in any way: it unpacks into its folder alone, or one sentence says what is wrong."""

from __future__ import annotations

import io
import random
import tempfile
import zipfile
from pathlib import Path

from model.archive import unpack
from model.files import MEGABYTE, FileError
from model.folders import FILES
from tests.fuzz import checkpoints, damage
from tests.fuzz.core import fuzzer

ODD = ("../x", "/x", "a/../../x", "C:x", "a\\x", "\0", "", ".", "//", "x/", "\u202ex", "a" * 300)
WAYS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def made(draw: random.Random) -> bytes:
    """A checkpoint packed in some way, among things that do not belong there."""
    files = checkpoints.whole(draw.randrange(len(checkpoints.VARIANTS)))
    place = draw.choice(("", "mine/", *ODD)) if draw.random() < 0.5 else ""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", draw.choice(WAYS)) as packed:
        for name, content in files.items():
            if draw.random() < 0.05:
                content = bytes(draw.choice((10, 2 * MEGABYTE)))
            entry = zipfile.ZipInfo((place + name)[:60000])
            entry.external_attr = draw.randrange(1 << 32) if draw.random() < 0.05 else 0
            packed.writestr(entry, content, draw.choice(WAYS))
        for name in draw.sample(ODD, draw.choice((0, 0, 0, 1, 2))):
            packed.writestr(zipfile.ZipInfo(name), b"x")
    return out.getvalue()


@fuzzer("zips", few=15)
def zips(draw: random.Random) -> str | None:
    """Unpacked, and nothing stands beside its folder."""
    content = made(draw)
    if draw.random() < 0.7:
        for _ in range(draw.choice((1, 1, 3))):
            end = draw.random() < 0.5  # where the list of entries stands
            cut = max(0, len(content) - 2000) if end else 0
            content = content[:cut] + damage.damaged_bytes(draw, content[cut:])
    with tempfile.TemporaryDirectory() as home:
        place = Path(home) / "place"
        place.mkdir()
        try:
            digest = unpack(io.BytesIO(content), place, 3 * MEGABYTE)
        except FileError as fault:
            assert 10 < len(str(fault)) < 400 and "\n" not in str(fault), str(fault)
            digest = None
        assert list(Path(home).iterdir()) == [place]
        found = list(place.iterdir())
        assert all(path.name in FILES and path.is_file() and not path.is_symlink() for path in found), found
        assert sum(path.stat().st_size for path in found) <= 3 * MEGABYTE
        if digest is None:
            return "refused"
        assert len(digest) == 64
    return None
