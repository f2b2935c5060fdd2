"""A checkpoint that is damaged in any way: it works, or one sentence names the file."""

from __future__ import annotations

import functools
import json
import random
import struct
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save

from model import checkpoint as checkpoints
from model.checkpoint import Checkpoint, CheckpointError
from model.decoding.strategy import Decoding
from model.inference.analyse import analyse
from model.inference.request import Request
from model.text.tokenizer import Tokenizer
from tests.fuzz import damage
from tests.fuzz.core import fuzzer
from tests.support import tiny

WARNINGS = {"sentences": 9, "bad": 4, "rules": {"rare": {"warned": 3, "right": 2}}}
TEST = {"bleu": 50.1, "chrf": 60.2, "sentences": 500, "beam": 4}
VARIANTS = (
    {},
    {"joint_vocab": False, "positions": "learned", "max_positions": 128},
    {"positions": "rotary", "activation": "swiglu", "norm": "rmsnorm", "window": 3, "norm_first": False},
    {"final_norm": False, "causal": False, "tied_output": True},
)


@functools.cache
def whole(variant: int) -> dict[str, bytes]:
    """The files of a whole checkpoint, by their names."""
    made = tiny.checkpoint(Tokenizer.train(tiny.SENTENCES, 300), **VARIANTS[variant])
    object.__setattr__(made, "metrics", {"test": TEST, "warnings": WARNINGS})
    made = tiny.with_seen(made, {"fox": 3, "lamp": 2})
    with tempfile.TemporaryDirectory() as place:
        checkpoints.save(made, Path(place))
        checkpoints.save_means(tiny.means(made.config), Path(place))
        return {path.name: path.read_bytes() for path in Path(place).iterdir()}


def damaged_weights(draw: random.Random, content: bytes) -> bytes:
    """The header changed as JSON, or numbers that cannot be computed with."""
    if draw.random() < 0.4:
        size = struct.unpack("<Q", content[:8])[0]
        header = damage.damaged_json(draw, content[8 : 8 + size])
        return struct.pack("<Q", draw.choice((len(header), len(header), size, 2**63))) + header + content[8 + size :]
    tensors = load(content)
    for name in draw.sample(sorted(tensors), draw.choice((1, 3, len(tensors)))):
        kind = draw.choice((np.float16, np.float32, np.float32, np.float32, np.float64, np.int32))
        size = draw.choice((0, 1e-30, 1, 6e4, 1e30, 3e38, 3e38, 1e300, float("nan")))
        signs = np.random.default_rng(draw.randrange(99)).choice((-1.0, 1.0), tensors[name].shape)
        with np.errstate(all="ignore"):
            tensors[name] = (signs * size).astype(kind)
        if draw.random() < 0.1:
            tensors[name] = tensors[name][..., None]
    return save(tensors)


@fuzzer("checkpoints", few=25)
def damaged(draw: random.Random) -> str | None:
    """Damaged in one or two files, loaded, and used where it loads."""
    files = dict(whole(draw.randrange(len(VARIANTS))))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "made"
        folder.mkdir()
        replaced = []
        chosen = ["model.safetensors"] if draw.random() < 0.3 else draw.sample(sorted(files), draw.choice((1, 1, 2)))
        for name in chosen:
            how = draw.random()
            if how < 0.15:
                replaced.append(name)
            elif how < 0.25:
                files[name] = files[draw.choice(sorted(files))]
            elif how < 0.45:
                files[name] = damage.damaged_bytes(draw, files[name])
            elif name.endswith(".json"):
                files[name] = damage.damaged_json(draw, files[name])
            else:
                files[name] = damaged_weights(draw, files[name])
        for name, content in files.items():
            (folder / name).write_bytes(content)
        for name in replaced:
            damage.put_something_else(draw, folder / name)
        try:
            loaded = checkpoints.load(str(folder))
        except CheckpointError as fault:
            damage.is_sentence(str(fault), folder)
            return "refused"
    use(draw, loaded)
    return None


def use(draw: random.Random, loaded: Checkpoint) -> None:
    """Whatever loads translates, with finite numbers that say what they should."""
    decoding = draw.choice((Decoding(limit=6), Decoding("beam", 6, 3), Decoding("sample", 6, seed=draw.randrange(99))))
    found = analyse(loaded, Request("The red fox sees a lamp.", loaded.name, decoding=decoding))
    assert np.isfinite(found.trace.log_probs).all()
    for site, pattern in found.trace.patterns.items():
        assert np.isfinite(found.trace.scores[site]).all()
        assert np.allclose(pattern.sum(axis=-1), 1, atol=1e-3) or loaded.config.window, site
    json.dumps(found.to_dict(), ensure_ascii=False).encode("utf-8")
    repr(loaded).encode("utf-8")
    if test := loaded.metrics.get("test"):  # what the sidebar tells
        assert f"{test['bleu']:.1f} {test['sentences']:,}" and test.get("beam", 1) > 0
