"""A damaged checkpoint or zip works, or is refused in one sentence that names the file."""

from __future__ import annotations

import functools
import io
import json
import struct
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load, save

from model import checkpoint as checkpoints
from model.checkpoint import Checkpoint, CheckpointError
from model.decoding.strategy import Decoding
from model.inference.analyse import analyse
from model.inference.request import Request
from model.io.archive import unpack
from model.io.files import MEGABYTE, FileError
from model.io.folders import FILES
from model.text.tokenizer import Tokenizer
from tests.support import strategies, tiny

WARNINGS = {"sentences": 9, "bad": 4, "rules": {"rare": {"warned": 3, "right": 2}}}
TEST = {"bleu": 50.1, "chrf": 60.2, "sentences": 500, "beam": 4}
VARIANTS = (
    {},
    {"joint_vocab": False, "positions": "learned", "max_positions": 128},
    {"positions": "rotary", "activation": "swiglu", "norm": "rmsnorm", "window": 3, "norm_first": False},
    {"final_norm": False, "causal": False, "tied_output": True},
)
DECODINGS = (Decoding(limit=6), Decoding("beam", 6, 3), Decoding("sample", 6, seed=7))


@functools.cache
def whole(variant: int) -> dict[str, bytes]:
    """Returns the files of an intact checkpoint by their names."""
    made = tiny.checkpoint(Tokenizer.train(tiny.SENTENCES, 300), **VARIANTS[variant])
    object.__setattr__(made, "metrics", {"test": TEST, "warnings": WARNINGS})
    made = tiny.with_seen(made, {"fox": 3, "lamp": 2})
    with tempfile.TemporaryDirectory() as place:
        checkpoints.save(made, Path(place))
        checkpoints.save_means(tiny.means(made.config), Path(place))
        return {path.name: path.read_bytes() for path in Path(place).iterdir()}


@st.composite
def damaged_weights(draw: st.DrawFn, content: bytes) -> bytes:
    """Weights with a changed header, or with numbers that cannot be computed with."""
    if draw(st.booleans()):
        size = struct.unpack("<Q", content[:8])[0]
        header = draw(strategies.damaged_json(content[8 : 8 + size]))
        return struct.pack("<Q", draw(st.sampled_from((len(header), size, 2**63)))) + header + content[8 + size :]
    tensors = load(content)
    for name in draw(st.sets(st.sampled_from(sorted(tensors)), min_size=1, max_size=3)):
        kind = draw(st.sampled_from((np.float16, np.float32, np.float64, np.int32)))
        size = draw(st.sampled_from((0, 1e-30, 1, 6e4, 1e30, 3e38, 1e300, float("nan"))))
        with np.errstate(all="ignore"):
            tensors[name] = np.full(tensors[name].shape, size * draw(st.sampled_from((-1, 1)))).astype(kind)
    return save(tensors)


def damaged(name: str, content: bytes) -> st.SearchStrategy:
    by_kind = strategies.damaged_json if name.endswith(".json") else damaged_weights
    return strategies.damaged_bytes(content) | by_kind(content) | by_kind(content) | strategies.replacements()


@strategies.few(30)
@given(data=st.data(), variant=st.sampled_from(range(len(VARIANTS))), decoding=st.sampled_from(DECODINGS))
def test_damaged_checkpoint_works_or_is_refused(data, variant, decoding):
    files = dict(whole(variant))
    names = data.draw(st.sets(st.sampled_from(sorted(files)), min_size=1, max_size=2) | st.just({"model.safetensors"}))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "made"
        folder.mkdir()
        for name, content in files.items():
            made = data.draw(damaged(name, content)) if name in names else content
            made(folder / name) if callable(made) else (folder / name).write_bytes(made)
        try:
            loaded = checkpoints.load(str(folder))
        except CheckpointError as fault:
            strategies.is_sentence(str(fault), folder)
            return
    use(loaded, decoding)


def use(loaded: Checkpoint, decoding: Decoding) -> None:
    """Asserts that a loaded checkpoint translates with finite numbers."""
    found = analyse(loaded, Request("The red fox sees a lamp.", loaded.name, decoding=decoding))
    assert np.isfinite(found.trace.log_probs).all()
    for site, pattern in found.trace.patterns.items():
        assert np.isfinite(found.trace.scores[site]).all()
        assert np.allclose(pattern.sum(axis=-1), 1, atol=1e-3) or loaded.config.window, site
    json.dumps(found.to_dict(), ensure_ascii=False).encode("utf-8")
    repr(loaded).encode("utf-8")
    if test := loaded.metrics.get("test"):  # the sidebar shows it
        assert f"{test['bleu']:.1f} {test['sentences']:,}" and test.get("beam", 1) > 0


ODD = ("../x", "/x", "a/../../x", "C:x", "a\\x", "\0", ".", "//", "x/", "\u202ex", "a" * 300)
WAYS = st.sampled_from((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))


@st.composite
def zips(draw: st.DrawFn) -> bytes:
    """A checkpoint in a zip beside foreign entries; most are damaged."""
    place, big, mode = (
        draw(st.sampled_from(("", "mine/", *ODD))),
        draw(st.booleans()),
        draw(st.sampled_from((0, 0, 0xA1FF0000))),
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", draw(WAYS)) as packed:
        for name, content in whole(draw(st.sampled_from(range(len(VARIANTS))))).items():
            entry = zipfile.ZipInfo(place + name)
            entry.external_attr = mode if name == "counts.json" else 0
            packed.writestr(entry, bytes(2 * MEGABYTE) if big and name == "metrics.json" else content, draw(WAYS))
        for name in draw(st.sets(st.sampled_from(ODD), max_size=2)):
            packed.writestr(zipfile.ZipInfo(name), b"x")
    content = out.getvalue()
    for at_end in draw(st.lists(st.booleans(), max_size=2)):  # the list of entries stands at the end
        start = max(0, len(content) - 2000) if at_end else 0
        content = content[:start] + draw(strategies.damaged_bytes(content[start:]))
    return content


@strategies.few(25)
@given(content=zips())
def test_zip_unpacks_into_its_folder_only_or_is_refused(content):
    with tempfile.TemporaryDirectory() as home:
        place = Path(home) / "place"
        place.mkdir()
        try:
            digest = unpack(io.BytesIO(content), place, 3 * MEGABYTE)
        except FileError as fault:
            assert 10 < len(str(fault)) < 400 and "\n" not in str(fault), str(fault)
            digest = ""
        assert list(Path(home).iterdir()) == [place]
        found = list(place.iterdir())
        assert all(path.name in FILES and path.is_file() and not path.is_symlink() for path in found), found
        assert sum(path.stat().st_size for path in found) <= 3 * MEGABYTE
        assert len(digest) in (0, 64)
