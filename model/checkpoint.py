"""A checkpoint is a folder: saved, found, loaded, and checked to the last number.

config.json         schema version, languages, ModelConfig; perhaps `peer`, the name of the checkpoint to compare it with
tokenizer.json      the vocabulary (tokenizer.source.json and tokenizer.target.json where there are two)
model.safetensors   float16 weights, loaded as float32
metrics.json        scores, with the data that they were measured on
counts.json         how often each token occurs in the training data; may be absent
seen.json           lengths of the training sentences, occurrences of their words (model/text/seen.py); may be absent
means.safetensors   mean z of every head over the dev pairs' positions (model/evaluation/head_means.py); may be absent
probes.npz          what a few sentences looked like during the training (model/training/snapshots.py); may be absent
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
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from model.config import ModelConfig
from model.folders import homes
from model.network.transformer import Transformer, build
from model.text.seen import Seen
from model.text.tokenizer import Tokenizer
from model.text.worth import read as read_worth
from model.trace import Site

SCHEMA = 1


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; the text names the file, the key, the value found and the value expected."""


@dataclass(frozen=True, repr=False)
class Checkpoint:
    """A loaded model with everything needed to use it. Shared by all threads: never written to after loading.

    The `peer` names a checkpoint of the same languages whose decoder was trained the other way round: without the causal
    mask where this one has it, with it where this one has not. Ready experiments ask it for a comparison.
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
    seen: Seen | None = None  # the training pairs, counted

    @property
    def device(self) -> torch.device:
        """Where the weights are, and where what is computed with them has to be."""
        return next(self.model.parameters()).device

    def __repr__(self) -> str:
        source, target = self.languages
        size = f"{sum(p.numel() for p in self.model.parameters()):,} parameters"
        return f"<Checkpoint {self.name!r}: {source} to {target}, {size}, on {self.device}>"


def names(home: Path | None = None) -> tuple[str, ...]:
    """Checkpoints that lie in a folder, in alphabetical order; without one, in CHECKPOINTS= and among the shipped."""
    return tuple(sorted({p.parent.name for each in _homes(home) for p in each.glob("*/config.json")}))


def _homes(home: Path | None) -> tuple[Path, ...]:
    return (home,) if home else homes()


def find(name: str, home: Path | None = None) -> Path:
    """The folder of a checkpoint: a name, looked up as by `names`, or a path to a folder.

    Raises CheckpointError, with the names that there are.
    """
    known = names(home)
    if name in known:
        return next(each / name for each in _homes(home) if (each / name / "config.json").exists())
    path = Path(name)
    if os.sep in name and path.is_dir():  # a bare name never leads out of `checkpoints/`: links carry names
        return path
    raise CheckpointError(
        f"There is no checkpoint {name!r}; expected one of {', '.join(known) or '(none found)'}, or the path of a folder."
    )


def save(checkpoint: Checkpoint, folder: Path) -> None:
    """Writes all files, the weights as float16. All are written beside the old ones before the first of these goes.

    What is not known of a model leaves no file: counts, what was seen, and means, which belong to other weights.

    Raises OSError or SafetensorError where the disk is full; the folder then holds what it held before.
    """
    folder.mkdir(parents=True, exist_ok=True)
    state = checkpoint.model.state_dict()
    weights = {key: state[key].detach().cpu().half().contiguous() for key in _stored_keys(checkpoint.model)}
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
    if checkpoint.config.joint_vocab:
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
    for name in {"means.safetensors", "counts.json", "seen.json"} - set(writers):  # those of other weights
        (folder / name).unlink(missing_ok=True)


def write_json(path: Path, value: Any, indent: int | None = 1) -> None:
    """Writes a JSON file whole, by way of a temporary one."""
    temporary = path.with_name(path.name + ".new")
    _dump(temporary, value, indent)
    os.replace(temporary, path)


def _dump(path: Path, value: Any, indent: int | None = 1) -> None:
    path.write_text(json.dumps(value, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8")


def load(name: str = "en-fr", device: str | torch.device = "cpu", home: Path | None = None) -> Checkpoint:
    """Reads and checks a checkpoint by name or path; the model is in eval mode, float32, without gradients.

    This reads to the CPU unless told otherwise; `model.load` chooses the device.
    Raises CheckpointError on a missing or damaged file, an unknown schema, a wrong shape, a weight that is not finite, or
    a vocabulary that does not fit the embedding.
    """
    folder = find(name, home)
    config, languages, peer = _read_config(folder / "config.json")
    if config.joint_vocab:
        source = target = _read_tokenizer(folder / "tokenizer.json", config.source_vocab)
    else:
        source = _read_tokenizer(folder / "tokenizer.source.json", config.source_vocab)
        target = _read_tokenizer(folder / "tokenizer.target.json", config.target_vocab)
    with torch.device("meta"):  # shapes alone: an absurd config.json must not take all memory
        expected = {key: tuple(p.shape) for key, p in build(config).named_parameters()}
    state = _read_weights(folder / "model.safetensors", expected)
    model = build(config)
    model.load_state_dict(state, strict=False)  # every stored key has been checked; tied ones follow
    model.eval().requires_grad_(False).to(device)
    metrics = _read_metrics(folder / "metrics.json")
    counts = _read_counts(folder / "counts.json", config)
    seen = _read_seen(folder / "seen.json")
    whole = folder.resolve()  # a run keeps its checkpoint in a folder of that name: then the run's own name tells more
    label = name if name in names(home) else whole.parent.name if whole.name == "checkpoint" else whole.name
    means = {site: mean.to(device) for site, mean in _read_means(folder / "means.safetensors", config).items()}
    return Checkpoint(label, config, model, source, target, languages, metrics, counts, means, peer, seen)


def save_means(means: dict[Site, torch.Tensor], folder: Path) -> None:
    """Writes the heads' means, [H,K] a site, into a checkpoint's folder, as float32. Raises OSError or SafetensorError."""
    temporary = folder / "means.safetensors.new"
    save_file({f"{site.kind}.{site.layer}": mean.cpu().float().contiguous() for site, mean in means.items()}, temporary)
    os.replace(temporary, folder / "means.safetensors")


def _read_means(path: Path, config: ModelConfig) -> dict[Site, torch.Tensor]:
    if not path.exists():
        return {}
    sites = [Site(kind, layer) for kind, layers in config.layers.items() for layer in range(layers)]
    stored = _read_weights(path, {f"{s.kind}.{s.layer}": (config.heads, config.head_dim) for s in sites})
    return {site: stored[f"{site.kind}.{site.layer}"] for site in sites}


def _stored_keys(model: Transformer) -> list[str]:
    """Names of the parameters that are stored: of tied ones, the first."""
    return [key for key, _ in model.named_parameters()]


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing; a checkpoint needs it. Copy the folder again.") from None
    except OSError as fault:
        raise CheckpointError(f"{path} cannot be read: {fault.strerror}.") from None
    except ValueError as fault:
        raise CheckpointError(f"{path} is no valid JSON ({fault}); copy the folder again.") from None


def _read_config(path: Path) -> tuple[ModelConfig, tuple[str, str], str | None]:
    values = _read_json(path)
    found = values.get("schema") if isinstance(values, dict) else None
    if found != SCHEMA:
        raise CheckpointError(
            f"{path}: 'schema' is {found!r}; expected {SCHEMA}. The checkpoint belongs to another version of this program."
        )
    try:
        config = ModelConfig.from_dict(values.get("model"))
    except ValueError as fault:
        raise CheckpointError(f"{path}: 'model': {fault}.") from None
    languages = values.get("languages", ["source", "target"])
    if not (isinstance(languages, list) and len(languages) == 2 and all(isinstance(x, str) for x in languages)):
        raise CheckpointError(f"{path}: 'languages' is {languages!r}; expected two names, source and target.")
    peer = values.get("peer")
    if peer is not None and not (isinstance(peer, str) and peer and Path(peer).name == peer):
        raise CheckpointError(f"{path}: 'peer' is {peer!r}; expected the name of a checkpoint, or no such entry.")
    return config, (languages[0], languages[1]), peer


def _read_tokenizer(path: Path, rows: int) -> Tokenizer:
    try:
        tokenizer = Tokenizer.load(path)
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing; a checkpoint needs it. Copy the folder again.") from None
    except (OSError, ValueError) as fault:
        raise CheckpointError(f"{path} is no usable vocabulary: {fault}.") from None
    if tokenizer.size != rows:
        raise CheckpointError(
            f"{path}: the vocabulary has {tokenizer.size} tokens; expected {rows}, the rows of the embedding in config.json."
        )
    return tokenizer


def _read_weights(path: Path, expected: dict[str, tuple[int, ...]]) -> dict[str, torch.Tensor]:
    if not path.exists():
        raise CheckpointError(f"{path} is missing; a checkpoint needs it. Copy the folder again.")
    try:
        with safe_open(path, framework="pt") as stored:
            present = set(stored.keys())
            if missing := [key for key in expected if key not in present]:
                raise CheckpointError(f"{path}: {missing[0]!r} is missing; expected {expected[missing[0]]} by config.json.")
            if extra := sorted(present - set(expected)):
                raise CheckpointError(f"{path}: {extra[0]!r} is not a parameter of the model that config.json describes.")
            state = {key: stored.get_tensor(key).float() for key in expected}
    except (SafetensorError, OSError) as fault:
        raise CheckpointError(f"{path} is truncated or damaged ({fault}); copy the file again.") from None
    for key, tensor in state.items():
        if tuple(tensor.shape) != expected[key]:
            raise CheckpointError(
                f"{path}: {key!r} has the shape {tuple(tensor.shape)}; expected {expected[key]} by config.json."
            )
        if bad := int((~tensor.isfinite()).sum()):
            raise CheckpointError(f"{path}: {key!r} holds {bad} values that are NaN or infinite; expected finite numbers.")
    return state


def _read_metrics(path: Path) -> dict[str, Any]:
    values = _read_json(path) if path.exists() else {}
    if not isinstance(values, dict):
        raise CheckpointError(f"{path}: the content is a {type(values).__name__}; expected an object with the scores.")
    try:
        read_worth(values)
    except ValueError as fault:
        raise CheckpointError(f"{path}: {fault}.") from None
    return values


def _read_counts(path: Path, config: ModelConfig) -> dict[str, tuple[int, ...]]:
    if not path.exists():
        return {}
    values = _read_json(path)
    sizes = {"source": config.source_vocab, "target": config.target_vocab}
    for side, size in sizes.items():
        found = values.get(side) if isinstance(values, dict) else None
        if not isinstance(found, list) or len(found) != size or not all(isinstance(n, int) and n >= 0 for n in found):
            raise CheckpointError(f"{path}: {side!r} is no list of {size} counts, one a token of the vocabulary.")
    return {side: tuple(values[side]) for side in sizes}


def _read_seen(path: Path) -> Seen | None:
    if not path.exists():
        return None
    try:
        return Seen.from_dict(_read_json(path))
    except CheckpointError:
        raise
    except ValueError as fault:
        raise CheckpointError(f"{path}: {fault}.") from None
