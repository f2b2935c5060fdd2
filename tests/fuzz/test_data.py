"""Files of pairs, paragraphs, probes, runs and recordings are read, or refused in one sentence that names the file."""

from __future__ import annotations

import functools
import gzip
import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from hypothesis import given
from hypothesis import strategies as st

from model.config import MAX_TOKENS, TrainConfig
from model.network import masks
from model.text.tokenizer import Tokenizer
from model.workshop.corpus.corpus import Corpus, DataError, file_hash, read_pairs
from model.workshop.corpus.windows import Texts, read_paragraphs
from model.workshop.evaluation.probes import read_probe_texts, read_probes
from model.workshop.training import saved_state, snapshots
from model.workshop.training.preparation import build_optimizer
from model.workshop.training.recording import Recording
from model.workshop.training.run_folder import RunFolder, RunProgress, TrainingError
from tests.support import strategies, tiny

ENDS = st.sampled_from(("\n", "\n", "\n", "\n", "\r\n", "\r", "\n\n", "\x0b", "\u2028", "\0", "\t\n", "|\n", "\ufeff\n"))
ENCODINGS = st.sampled_from(("utf-8", "utf-8", "utf-8", "utf-16", "latin-1", "utf-8-sig"))
NAMES = ("pairs.txt", "_about.txt", "a/b.tsv", "\ufffd.txt", "é.txt", "../x.txt", "no")
ONE_THING = (b"a\tb\n", b"\n", b"q", b"\0", b"a\tb", b"\xff", "’".encode())


@functools.cache
def tokenizer() -> Tokenizer:
    return Tokenizer.train(tiny.SENTENCES, 300)


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """Lines of pairs, most of them right, or a megabyte of one thing."""
    if not draw(st.integers(0, 12)):
        one = draw(st.sampled_from(ONE_THING))
        return one * ((1 << 20) // len(one))
    pairs = draw(st.lists(st.sampled_from(tiny.PAIRS) | st.tuples(strategies.texts(), st.just("x")), max_size=9))
    text = "".join(f"{source}\t{target}{draw(ENDS)}" for source, target in pairs)
    return text.encode(draw(ENCODINGS), draw(st.sampled_from(("replace", "ignore"))))


@st.composite
def files(draw: st.DrawFn) -> tuple[str, bytes]:
    """The name and content of a file of pairs, packed by its name or otherwise, and often damaged."""
    raw, kind = draw(lines()), draw(st.sampled_from(("tsv", "tsv", "tsv.gz", "zip", "ZIP", "txt")))
    packing = draw(st.sampled_from((kind.lower(), kind.lower(), kind.lower(), "tsv", "zip")))
    if packing.endswith("gz"):
        raw = gzip.compress(raw, 1)
    elif packing == "zip":
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", draw(st.sampled_from((0, 8, 12, 14)))) as archive:
            for name in draw(st.sets(st.sampled_from(NAMES), max_size=3)):
                archive.writestr(name, raw)
        raw = out.getvalue()
    return f"pairs.{kind}", draw(st.just(raw) | strategies.damaged_bytes(raw))


def paragraphs(path: Path) -> None:
    found = Texts.encode([read_paragraphs(path)[:1000]], tokenizer())
    windows = found.windows([7]).targets
    assert sum(map(len, windows)) == found.tokens
    assert all(1 <= len(row) <= MAX_TOKENS for row in windows)


def pairs(path: Path) -> None:
    found = read_pairs(path)[:1000]
    corpus = Corpus.encode(found, tokenizer(), tokenizer())
    assert len(corpus) + corpus.too_long == len(found)
    assert all(1 < len(row) <= MAX_TOKENS for row in (*corpus.sources, *corpus.targets))


@strategies.few(40)
@given(file=files())
def test_file_of_texts_is_read_or_refused(file):
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / file[0]
        path.write_bytes(file[1])
        for read in (file_hash, read_probes, read_probe_texts, paragraphs, pairs):
            try:
                read(path)
            except DataError as fault:
                strategies.is_sentence(str(fault), path)


# -- the folder of a run ---------------------------------------------------------------------------------------------------

SETTINGS = {"model": {"d_model": 16}, "training": TrainConfig().to_dict(), "data": {"train": "a" * 64, "dev": "b" * 64}}
SETTINGS |= {"init": None, "processes": 1}


@functools.cache
def parts() -> tuple:
    """Returns a model, its recorder, and the bytes of a state and of a recording."""
    made = tiny.checkpoint(tokenizer())
    model = made.model.requires_grad_(True)
    optimizer = build_optimizer(model, TrainConfig())
    source, target = tiny.ids(1, 3), tiny.target_ids(1, 3)
    model(source, target, masks.build(made.config, source, target)).sum().backward()
    optimizer.step()
    listed = [("fox", pair[0], [pair[1]]) for pair in tiny.PAIRS[:2]]
    recorder = snapshots.SnapshotRecorder(snapshots.encode_probes(listed, made.source_tokenizer, made.target_tokenizer))
    recorder.record(0, model)
    entry = {"step": 1, "dev_loss": 2.5, "bleu": 1.0, "chrf": 3.0}
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "snapshots": [model.state_dict()],
        "progress": vars(RunProgress(step=1, validations=[entry], best=entry)),
        "random": [{"cpu": torch.get_rng_state()}],
        "probes": recorder.state(),
    }
    raw = io.BytesIO()
    torch.save(state, raw)
    with tempfile.TemporaryDirectory() as place:
        recorder.recording().save(Path(place) / "probes.npz")
        return model, recorder, raw.getvalue(), (Path(place) / "probes.npz").read_bytes()


TENSORS: tuple[Callable[[torch.Tensor], object], ...] = (
    lambda t: t.double() * float("nan"),
    lambda t: t[None],
    lambda t: t.flatten()[:1],
    lambda t: t.to(torch.int32),
    lambda t: t.half(),
    lambda t: -t.float(),
    lambda t: torch.full_like(t, 255 if t.dtype == torch.uint8 else 3e38),
    lambda t: torch.zeros(1).expand(10**9),
)


@st.composite
def damaged_state(draw: st.DrawFn) -> bytes:
    """A state with one value replaced or removed."""
    box = [torch.load(io.BytesIO(parts()[2]), weights_only=True)]
    holder, key = box, 0
    while isinstance(holder[key], dict | list) and holder[key] and draw(st.integers(0, 8)):
        holder = holder[key]
        key = draw(st.sampled_from(list(holder)) if isinstance(holder, dict) else st.integers(0, len(holder) - 1))
    if holder is not box and not draw(st.integers(0, 5)):
        del holder[key]
    elif isinstance(holder[key], torch.Tensor) and draw(st.integers(0, 3)):
        holder[key] = draw(st.sampled_from(TENSORS))(holder[key])
    else:
        holder[key] = draw(strategies.values())
    raw = io.BytesIO()
    torch.save(box[0], raw)
    return raw.getvalue()


@st.composite
def repacked(draw: st.DrawFn, content: bytes) -> bytes:
    """An archive with other compression, a damaged file or two exchanged files."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    one, other = (draw(st.sampled_from(sorted(found))) for _ in range(2))
    zeros = bytes(draw(st.sampled_from((0, 9, 1 << 22))))
    found[one] = draw(st.sampled_from((found[other], zeros)) | strategies.damaged_bytes(found[one]))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", draw(st.sampled_from((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))) as archive:
        for name, raw in found.items():
            archive.writestr(name, raw)
    return made.getvalue()


def is_used(path: Path, content: bytes | Callable, use: Callable[[], object], refusal: type[Exception], place: Path):
    content(path) if callable(content) else path.write_bytes(content)
    try:
        use()
    except refusal as fault:
        strategies.is_sentence(str(fault), place)
        return False
    return True


@strategies.few(30)
@given(content=damaged_state() | repacked(parts()[2]) | strategies.damaged_bytes(parts()[2]) | strategies.replacements())
def test_state_of_a_run_fits_or_is_refused(content):
    model, recorder, *_ = parts()

    def use() -> None:
        folder = RunFolder(path.parent)
        found = folder.load_state(torch.device("cpu"), partial(saved_state.check, model, recorder, 5, 1))
        if found is None:
            return
        fresh = tiny.model(0, torch.float32, source_vocab=300, target_vocab=300, tied_output=False)
        fresh.load_state_dict(found["model"])
        optimizer = build_optimizer(fresh, TrainConfig())
        optimizer.load_state_dict(optimizer.state_dict() | {"state": found["optimizer"]["state"]})
        json.dumps(vars(RunProgress(**found["progress"])))
        snapshots.SnapshotRecorder(recorder.sentences).restore(found["probes"])

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "state.pt"
        is_used(path, content, use, TrainingError, path)


@strategies.few(60)
@given(content=repacked(parts()[3]) | strategies.damaged_bytes(parts()[3]) | strategies.replacements())
def test_recording_has_its_arrays_or_is_refused(content):
    def use() -> None:
        found = Recording.load(path)
        assert found.losses().shape == (len(found.steps), len(found.sentences))

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "probes.npz"
        if content is not strategies.REPLACEMENTS[0]:
            is_used(path, content, use, ValueError, path)


WHOLE = json.dumps(SETTINGS).encode()


@strategies.few(60)
@given(
    content=strategies.damaged_json(WHOLE) | strategies.damaged_bytes(WHOLE) | strategies.replacements(),
    line=strategies.damaged_json(b'{"step": 1, "loss": [2.5]}') | st.binary(max_size=50),
)
def test_settings_of_a_run_are_read_or_refused(content, line):
    def use() -> None:
        RunFolder(path.parent).check(SETTINGS)
        RunFolder(path.parent).cut_log(1)

    with tempfile.TemporaryDirectory() as place:
        path, log = Path(place) / "settings.json", Path(place) / "log.jsonl"
        log.write_bytes(b'{"step": 1}\n' + line)
        if is_used(path, content, use, TrainingError, path.parent):
            assert log.read_bytes().startswith(b'{"step": 1}\n')
