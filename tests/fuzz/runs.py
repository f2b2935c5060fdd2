"""What a run left in its folder, damaged in any way: it fits the run, or one sentence names the file."""

from __future__ import annotations

import functools
import io
import json
import random
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from model.config import TrainConfig
from model.network import masks
from model.network.transformer import Transformer
from model.text.tokenizer import Tokenizer
from model.training import saved_state, snapshots
from model.training.prepare import adam
from model.training.recording import Recording
from model.training.run_folder import Progress, RunFolder, TrainingError
from tests.fuzz import damage
from tests.fuzz.core import fuzzer
from tests.support import tiny

SETTINGS = {"model": {"d_model": 16}, "training": TrainConfig().to_dict(), "data": {"train": "a" * 64, "dev": "b" * 64}}
SETTINGS |= {"init": None, "processes": 1}


@functools.cache
def parts() -> tuple[Transformer, snapshots.SnapshotRecorder, bytes, bytes]:
    """A model with a recorder; the bytes of their state, and of a recording."""
    made = tiny.checkpoint(Tokenizer.train(tiny.SENTENCES, 300))
    model = made.model.requires_grad_(True)
    optimizer = adam(model, TrainConfig())
    source, target = tiny.ids(1, 3), tiny.target_ids(1, 3)
    model(source, target, masks.build(made.config, source, target)).sum().backward()
    optimizer.step()
    probes = [("fox", *pair[:1], [pair[1]]) for pair in tiny.PAIRS[:2]]
    recorder = snapshots.SnapshotRecorder(snapshots.encode(probes, made.source_tokenizer, made.target_tokenizer))
    recorder.record(0, model)
    entry = {"step": 1, "dev_loss": 2.5, "bleu": 1.0, "chrf": 3.0}
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "snapshots": [model.state_dict()],
        "progress": vars(Progress(step=1, validations=[entry], best=entry)),
        "random": [{"cpu": torch.get_rng_state()}],
        "probes": recorder.state(),
    }
    raw = io.BytesIO()
    torch.save(state, raw)
    with tempfile.TemporaryDirectory() as place:
        recorder.recording().save(Path(place) / "probes.npz")
        return model, recorder, raw.getvalue(), (Path(place) / "probes.npz").read_bytes()


def damaged_tensor(draw: random.Random, found: Tensor) -> Any:
    """Another shape, kind or number in place of a tensor."""
    not_finite, large = found.double() * float("nan"), 255 if found.dtype == torch.uint8 else 3e38
    other = (not_finite, found[None], found.flatten()[:1], found.to(torch.int32), found.half(), -found.float())
    return draw.choice((*other, torch.zeros(1).expand(10**9), torch.full_like(found, large)))


def damaged_tree(draw: random.Random, tree: Any) -> Any:
    """One value somewhere in a state exchanged or taken out."""
    box = [tree]
    holder, key = box, 0
    while isinstance(holder[key], dict | list) and holder[key] and draw.random() < 0.9:
        holder = holder[key]
        key = draw.choice(list(holder)) if isinstance(holder, dict) else draw.randrange(len(holder))
    if draw.random() < 0.15 and holder is not box:
        del holder[key]
    elif isinstance(holder[key], Tensor) and draw.random() < 0.7:
        holder[key] = damaged_tensor(draw, holder[key])
    else:
        holder[key] = damage.value(draw)
    return box[0]


def repacked(draw: random.Random, content: bytes) -> bytes:
    """An archive whose files are packed otherwise, are damaged, or have changed places."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    one, other = draw.choice(sorted(files)), draw.choice(sorted(files))
    files[one] = draw.choice((files[other], damage.damaged_bytes(draw, files[one]), bytes(draw.choice((0, 9, 1 << 22)))))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, raw in files.items():
            archive.writestr(name, raw)
    return made.getvalue()


def tried(
    path: Path, place: Path, content: bytes, use: Callable[[], Any], refusal: type[Exception], draw: random.Random
) -> str | None:
    """The file written, or something else put in its place, and used; what is refused names `place`."""
    path.write_bytes(content)
    if draw.random() < 0.05:
        damage.put_something_else(draw, path)
    try:
        use()
    except refusal as fault:
        damage.is_sentence(str(fault), place)
        return "refused"
    return None


@fuzzer("states", few=12)
def states(draw: random.Random) -> str | None:
    """state.pt: what is let through fits model and optimiser."""
    model, recorder, whole, _ = parts()
    if draw.random() < 0.6:
        raw = io.BytesIO()
        torch.save(damaged_tree(draw, torch.load(io.BytesIO(whole), weights_only=True)), raw)
        content = raw.getvalue()
    else:
        content = repacked(draw, whole) if draw.random() < 0.5 else damage.damaged_bytes(draw, whole)

    def use() -> None:
        folder = RunFolder(path.parent)
        found = folder.load_state(torch.device("cpu"), partial(saved_state.check, model, recorder, 5, 1))
        if found is None:
            return
        fresh = tiny.model(0, torch.float32, source_vocab=300, target_vocab=300, tied_output=False)
        fresh.load_state_dict(found["model"])
        optimizer = adam(fresh, TrainConfig())
        optimizer.load_state_dict(optimizer.state_dict() | {"state": found["optimizer"]["state"]})
        Progress(**found["progress"])
        json.dumps(found["progress"])
        snapshots.SnapshotRecorder(recorder.sentences).restore(found["probes"])

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "state.pt"
        return tried(path, path, content, use, TrainingError, draw)


@fuzzer("recordings", few=60)
def recordings(draw: random.Random) -> str | None:
    """probes.npz: what loads has the arrays that its sentences say."""
    whole = parts()[3]
    content = repacked(draw, whole) if draw.random() < 0.6 else damage.damaged_bytes(draw, whole)

    def use() -> None:
        found = Recording.load(path)
        assert found.losses().shape == (len(found.steps), len(found.sentences))

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "probes.npz"
        return tried(path, path, content, use, ValueError, draw)


@fuzzer("settings", few=60)
def settings(draw: random.Random) -> str | None:
    """settings.json and log.jsonl."""
    content = json.dumps(SETTINGS).encode()
    content = damage.damaged_json(draw, content) if draw.random() < 0.7 else damage.damaged_bytes(draw, content)
    log = b'{"step": 1}\n' + draw.choice((damage.damaged_json(draw, b'{"step": 1, "loss": [2.5]}'), draw.randbytes(50)))

    def use() -> None:
        RunFolder(path.parent).check(SETTINGS)
        RunFolder(path.parent).cut_log(1)

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "settings.json"
        (Path(place) / "log.jsonl").write_bytes(log)
        came = tried(path, path.parent, content, use, TrainingError, draw)
        if came is None:
            assert (Path(place) / "log.jsonl").read_bytes().startswith(b'{"step": 1}\n')
        return came
