"""A checkpoint is a folder of files; this module saves, finds, loads and checks it.

config.json         schema version, languages, ModelConfig; optionally `peer`, the checkpoint to compare with
tokenizer.json      the vocabulary (tokenizer.source.json and tokenizer.target.json where there are two)
model.safetensors   float16 weights, loaded as float32; float32 where float16 would round converted weights
metrics.json        scores and the data that they were measured on
counts.json         how often each token occurs in the training data; may be absent
seen.json           lengths of the training sentences, occurrences of their words (model/text/corpus_stats.py); may be absent
means.safetensors   mean z of every head over the dev pairs' positions; may be absent
faithfulness.json   faithfulness of each reading (model/text/faithfulness_result.py); may be absent
probes.npz          recorded sentences during training (model/workshop/training/snapshots.py); may be absent
log.jsonl           losses, learning rate and gradient norms of some steps; may be absent
README.md           the model card
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from . import checkpoint_files
from .checkpoint_files import SCHEMA, CheckpointError
from .config import END, ModelConfig
from .io import folders, foreign_checkpoints
from .io.files import shown
from .network.context import Pass, forced
from .network.transformer import Transformer, build
from .text.corpus_stats import Seen
from .text.faithfulness_result import Trust
from .text.sentences import Labels
from .text.tokenizer import Tokenizer
from .trace import Probe, Site

PROBED = 64  # tokens of the pass that checks the weights


@dataclass(frozen=True, repr=False)
class Checkpoint:
    """A loaded model with its tokenizers and measurements. All threads share it, so it never changes after loading.

    `peer` names a checkpoint of the same languages whose decoder was trained without the causal mask where this one has it,
    or with it where this one has not. Ready experiments compare both.
    """

    name: str
    config: ModelConfig
    model: Transformer
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    languages: tuple[str, str] = ("source", "target")
    metrics: dict[str, Any] = field(default_factory=dict)
    counts: dict[str, tuple[int, ...]] = field(default_factory=dict)  # "source", "target": occurrences of each token
    means: dict[Site, torch.Tensor] = field(default_factory=dict)  # mean z of every head over dev positions, [H,K]
    peer: str | None = None
    seen: Seen | None = None  # counts of the training pairs
    trust: Trust | None = None  # measured faithfulness of the readings
    folder: Path | None = None  # None for a model in memory

    @property
    def answers(self) -> Tokenizer | Labels:
        """The vocabulary of the predictions: the target tokenizer, or the labels of a classifier."""
        return Labels(self.config.classes) if self.config.classes else self.target_tokenizer

    @property
    def device(self) -> torch.device:
        """The device of the weights, and of all tensors that are computed with them."""
        return next(self.model.parameters()).device

    def __repr__(self) -> str:
        source, target = self.languages
        size = f"{sum(p.numel() for p in self.model.parameters()):,} parameters"
        return f"<Checkpoint {self.name!r}: {source} to {target}, {size}, on {self.device}>"


def names(home: Path | None = None) -> tuple[str, ...]:
    """Returns the names of the checkpoints in a folder, sorted; by default those in CHECKPOINTS= and the shipped ones."""
    return folders.offered([home]) if home else tuple(folders.survey().places)


def find(name: str, home: Path | None = None) -> Path:
    """Returns the folder of a checkpoint: of a name among `names`, or of a path.

    Raises CheckpointError with the available names.
    """
    survey = None if home else folders.survey()
    known = survey.places if survey else {each: home / each for each in names(home)}
    if name in known:
        return known[name]
    if os.sep in name and _is_folder(name):  # a name without a separator stays in `checkpoints/`: links contain names
        return Path(name)
    if os.sep in name and (message := foreign_checkpoints.told(Path(name))):
        raise CheckpointError(message)
    misnamed = os.sep not in name and not folders.is_name(name)
    homes = (home,) if home else folders.homes()
    if misnamed and any(_is_folder(str(each / name)) for each in homes) and set(name) - {"."}:
        raise CheckpointError(f"A checkpoint cannot be called {shown(name)}: a name has {folders.NAME}. Rename the folder.")
    expected = f"one of {', '.join(known) or '(none found)'}, or the path of a folder"
    faults = "".join(f" {fault}" for fault in survey.unusable[:3]) if survey else ""
    raise CheckpointError(f"There is no checkpoint {name[:200]!r}; expected {expected}.{faults}")


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):  # longer than a path can be
        return False


def save(checkpoint: Checkpoint, folder: Path, exact: bool = False) -> None:
    """Writes all files, with the weights as float16, or with `exact` as float32 where float16 would round them.

    New files replace old ones only after all are written. Optional files of other weights or another vocabulary are removed.

    Raises OSError or SafetensorError where the disk is full; the folder then stays unchanged.
    """
    folder.mkdir(parents=True, exist_ok=True)
    state = checkpoint.model.state_dict()
    weights = {key: _stored(state[key], exact) for key in _stored_keys(checkpoint.model)}
    config = {"schema": SCHEMA, "languages": list(checkpoint.languages), "model": checkpoint.config.to_dict()}
    config |= {"peer": checkpoint.peer} if checkpoint.peer else {}
    counts = {side: list(numbers) for side, numbers in checkpoint.counts.items()}
    writers: dict[str, Callable[[Path], None]] = {
        "config.json": lambda path: _dump(path, config),
        "metrics.json": lambda path: _dump(path, checkpoint.metrics),
        "model.safetensors": lambda path: save_file(weights, path),
    }
    if counts:
        writers["counts.json"] = lambda path: _dump(path, counts, indent=None)
    if seen := checkpoint.seen:
        writers["seen.json"] = lambda path: _dump(path, seen.to_dict(), indent=None)
    if checkpoint.config.joint_vocab and checkpoint.source_tokenizer is checkpoint.target_tokenizer:
        writers["tokenizer.json"] = checkpoint.source_tokenizer.save
    else:
        writers["tokenizer.source.json"] = checkpoint.source_tokenizer.save
        writers["tokenizer.target.json"] = checkpoint.target_tokenizer.save
    staged = {folder / name: folder / f"{name}.new" for name in writers}
    try:
        for temporary, write in zip(staged.values(), writers.values(), strict=True):
            write(temporary)
    except BaseException:
        for temporary in staged.values():
            temporary.unlink(missing_ok=True)
        raise
    for path, temporary in staged.items():
        os.replace(temporary, path)
    optional = {"means.safetensors", "counts.json", "seen.json", "faithfulness.json"}
    optional |= {"tokenizer.json", "tokenizer.source.json", "tokenizer.target.json"}
    for name in optional - set(writers):  # left by other weights or another vocabulary
        (folder / name).unlink(missing_ok=True)


def write_json(path: Path, value: Any, indent: int | None = 1) -> None:
    """Writes a JSON file atomically, through a temporary file."""
    temporary = path.with_name(path.name + ".new")
    _dump(temporary, value, indent)
    os.replace(temporary, path)


def _dump(path: Path, value: Any, indent: int | None = 1) -> None:
    separators = (",", ":") if indent is None else None  # compact, because nobody reads it
    path.write_text(json.dumps(value, indent=indent, ensure_ascii=False, separators=separators) + "\n", encoding="utf-8")


def load(name: str = "en-fr", device: str | torch.device = "cpu", home: Path | None = None) -> Checkpoint:
    """Reads and checks a checkpoint by name or path; the model is in eval mode, float32, without gradients.

    The default device is the CPU; `model.load` chooses one. Raises CheckpointError for a missing or damaged file, an unknown
    schema, a wrong shape, weights or activations that are not finite, or a vocabulary that does not fit the embedding.
    """
    folder = find(name, home)
    config, languages, peer = checkpoint_files.read_config(folder / "config.json")
    if config.joint_vocab and not (folder / "tokenizer.source.json").exists():
        source = target = checkpoint_files.read_tokenizer(folder / "tokenizer.json", config.source_vocab)
    else:
        source = checkpoint_files.read_tokenizer(folder / "tokenizer.source.json", config.source_vocab)
        target = checkpoint_files.read_tokenizer(folder / "tokenizer.target.json", config.target_vocab)
    metrics = checkpoint_files.read_metrics(folder / "metrics.json")
    counts = checkpoint_files.read_counts(folder / "counts.json", config)
    seen = checkpoint_files.read_seen(folder / "seen.json")
    trust = checkpoint_files.read_trust(folder / "faithfulness.json")
    with torch.device("meta"):  # shapes only: compared with the file before any memory is allocated
        expected = {key: tuple(p.shape) for key, p in build(config).named_parameters()}
    state = checkpoint_files.read_weights(folder / "model.safetensors", expected)
    means = checkpoint_files.read_means(folder / "means.safetensors", config)
    model = build(config)
    model.load_state_dict(state, strict=False)  # every stored key has been checked; tied ones follow
    model.eval().requires_grad_(False)
    _check_numbers(model, folder / "model.safetensors")
    model.to(device)
    means = {site: mean.to(device) for site, mean in means.items()}
    label = name if name in names(home) else folders.name_of(folder)
    label = "".join(char if char.isprintable() else "?" for char in label[: folders.LONGEST])
    known = (languages, metrics, counts, means, peer, seen, trust, folder.resolve())
    return Checkpoint(label, config, model, source, target, *known)


@torch.inference_mode()
def _check_numbers(model: Transformer, path: Path) -> None:
    """Raises CheckpointError where a pass over tokens of all the vocabulary gives a number that is not finite.

    Finite weights may be so large that a pass overflows.
    """
    config, probe = model.config, Probe("full")
    length = config.longest(PROBED)
    source, outputs = (
        torch.linspace(END, size - 1, length).long()[None] if stack in config.kinds else None  # [1,T]
        for stack, size in (("encoder", config.source_vocab), ("decoder", config.target_vocab))
    )
    hidden = forced(model, source, outputs, Pass(probe=probe))  # [1,T,D]
    logits = model.answer(hidden, source)
    records = (each for record in probe.records.values() for each in record.items())
    streams = (("residual stream", each) for both in probe.streams.values() for each in both)
    pooled = [("pooled state", model.pooled(hidden, source))] if config.pooler else []
    for what, tensor in (*records, *streams, ("logits", logits), *pooled):
        if not tensor.isfinite().all():
            raise CheckpointError(
                f"{path}: a first pass gives a number that is NaN or infinite ({what}); expected finite numbers. The "
                "weights cannot be computed with."
            )


def save_means(means: dict[Site, torch.Tensor], folder: Path) -> None:
    """Writes the mean z of the heads, [H,K] a site, as float32. Raises OSError or SafetensorError."""
    temporary = folder / "means.safetensors.new"
    save_file({f"{site.kind}.{site.layer}": mean.cpu().float().contiguous() for site, mean in means.items()}, temporary)
    os.replace(temporary, folder / "means.safetensors")


def _stored(weight: torch.Tensor, exact: bool) -> torch.Tensor:
    """Returns a parameter in the stored precision."""
    plain = weight.detach().cpu().float().contiguous()
    half = plain.half()
    return plain if exact and not half.float().equal(plain) else half


def _stored_keys(model: Transformer) -> list[str]:
    """Returns the names of the stored parameters; tied parameters are stored once, under the first name."""
    return [key for key, _ in model.named_parameters()]
