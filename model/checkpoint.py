"""A checkpoint is a folder of files; this module saves, finds, loads and checks it.

config.json         schema version, languages, ModelConfig; optionally `peer`, the checkpoint to compare with
tokenizer.json      the vocabulary (tokenizer.source.json and tokenizer.target.json where there are two)
model.safetensors   float16 weights, loaded as float32; float32 where float16 would round converted weights
metrics.json        scores and the data that they were measured on
counts.json         how often each token occurs in the training data; may be absent
seen.json           lengths of the training sentences, occurrences of their words (model/text/corpus_stats.py); may be absent
means.safetensors   mean z of every head over the dev pairs' positions; may be absent
faithfulness.json   faithfulness of each reading (model/text/measurements.py); may be absent
routes.json         heads that carry the choice of a right token (model/text/route_heads.py); may be absent
findings.json      published claims about heads, tested on this model (model/text/findings.py); may be absent
heads.json         statistics of all heads over a corpus (model/text/head_statistics.py); may be absent
probes.npz          recorded sentences during training (model/workshop/training/snapshots.py); may be absent
log.jsonl           losses, learning rate and gradient norms of some steps; may be absent
README.md           the model card
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from . import checkpoint_files
from .checkpoint_files import SCHEMA, CheckpointError
from .config import END, START, ModelConfig
from .io import folders, foreign_checkpoints
from .io.files import is_count, short_repr
from .network.context import Pass, teacher_forced_states
from .network.transformer import EncoderOnly, Transformer, build
from .text.corpus_stats import CorpusStats
from .text.findings import Findings
from .text.head_statistics import HeadsOverCorpus
from .text.measurements import FaithfulnessShares
from .text.route_heads import RouteHeads
from .text.sentences import ClassLabels
from .text.tokenizer import Tokenizer
from .trace import Probe, Site

CHECKED_TOKENS = 64  # tokens of the pass that checks the weights


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
    token_counts: dict[str, tuple[int, ...]] = field(default_factory=dict)  # "source", "target": occurrences of each token
    mean_z: dict[Site, torch.Tensor] = field(default_factory=dict)  # mean z of every head over dev positions, [H,K]
    peer: str | None = None
    corpus_stats: CorpusStats | None = None  # counts of the training pairs
    faithfulness: FaithfulnessShares | None = None  # measured faithfulness of the readings
    folder: Path | None = None  # None for a model in memory
    route_heads: RouteHeads | None = None  # heads that carry the choice of a right token against a wrong one
    head_statistics: HeadsOverCorpus | None = None  # of all heads over a corpus
    findings: Findings | None = None  # published claims about heads, tested on this model

    @property
    def output_vocabulary(self) -> Tokenizer | ClassLabels:
        """The vocabulary of the predictions: the target tokenizer, or the labels of a classifier."""
        return ClassLabels(self.config.classes) if self.config.classes else self.target_tokenizer

    def source_ids_of(self, publisher_ids: Iterable[int]) -> list[int]:
        """Returns the source ids for ids of the publisher's tokenizer, such as that of Hugging Face.

        The order of a converted vocabulary differs. A checkpoint of this program has its own ids. Without an encoder a
        leading `<s>` is left out, because the model adds it. Raises ValueError for an unknown id.
        """
        ids = [int(each) for each in publisher_ids]
        own = self.source_tokenizer.from_publisher_ids(ids)
        starts = own and (own[0] == START or self.source_tokenizer.publisher_tokens(own[:1]) == self._start_token)
        return own[1:] if "encoder" not in self.config.kinds and starts else own

    def target_ids_of(self, publisher_ids: Iterable[int]) -> list[int]:
        """Returns the target ids for ids of the publisher's tokenizer; see `source_ids_of`."""
        return self.target_tokenizer.from_publisher_ids(publisher_ids)

    @property
    def _start_token(self) -> tuple[str, ...]:
        """The publisher's token for `<s>`."""
        return self.source_tokenizer.publisher_tokens([START])

    @property
    def device(self) -> torch.device:
        """The device of the weights, and of all tensors that are computed with them."""
        return self.model.projection.weight.device

    def __repr__(self) -> str:
        source, target = self.languages
        size = f"{sum(p.numel() for p in self.model.parameters()):,} parameters"
        return f"<Checkpoint {self.name!r}: {source} to {target}, {size}, on {self.device}>"


def describe_trainings(first: Checkpoint, second: Checkpoint) -> str:
    """Returns the numbers of examples in the last training of two checkpoints; empty if one is unknown or both are equal."""
    counts = [_training_examples(each.metrics) for each in (first, second)]
    if None in counts or counts[0] == counts[1]:
        return ""
    return f"Examples in the last training: {first.name} {counts[0]:,}, {second.name} {counts[1]:,}."


def _training_examples(metrics: dict[str, Any]) -> int | None:
    """Returns the number of examples in the last training; None if a foreign `metrics.json` lacks it."""
    training = metrics.get("training")
    count = training.get("pairs") if isinstance(training, dict) else None
    return count if is_count(count) else None


def list_names(root: Path | None = None) -> tuple[str, ...]:
    """Returns the names of the checkpoints in a folder, sorted; by default those in CHECKPOINTS= and the shipped ones."""
    return folders.checkpoint_names([root]) if root else tuple(folders.list_checkpoints().folders)


def find_folder(name: str, root: Path | None = None) -> Path:
    """Returns the folder of a checkpoint: of a name among `list_names`, or of a path.

    Raises CheckpointError with the available names.
    """
    survey = None if root else folders.list_checkpoints()
    known = survey.folders if survey else {each: Path(root or ".") / each for each in list_names(root)}
    if name in known:
        return known[name]
    if os.sep in name and _is_folder(name):  # a name without a separator stays in `checkpoints/`: links contain names
        return Path(name)
    if os.sep in name and (message := foreign_checkpoints.describe_foreign(Path(name))):
        raise CheckpointError(message)
    is_invalid_name = os.sep not in name and not folders.is_name(name)
    homes = (root,) if root else folders.search_folders()
    if is_invalid_name and any(_is_folder(str(each / name)) for each in homes) and set(name) - {"."}:
        raise CheckpointError(
            f"A checkpoint cannot be called {short_repr(name)}: a name has {folders.NAME_RULE}. Rename the folder."
        )
    expected = f"one of {', '.join(known) or '(none found)'}, or the path of a folder"
    faults = "".join(f" {fault}" for fault in survey.unusable[:3]) if survey else ""
    raise CheckpointError(f"There is no checkpoint {name[:200]!r}; expected {expected}.{faults}")


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):  # longer than a path can be
        return False


def save(checkpoint: Checkpoint, folder: Path, keep_float32: bool = False) -> None:
    """Writes all files, with the weights as float16, or with `keep_float32` as float32 where float16 would round them.

    New files replace old ones only after all are written. Optional files of other weights or another vocabulary are removed.

    Raises OSError or SafetensorError where the disk is full; the folder then stays unchanged.
    """
    folder.mkdir(parents=True, exist_ok=True)
    state = checkpoint.model.state_dict()
    weights = {key: _to_stored_dtype(state[key], keep_float32) for key in _parameter_names(checkpoint.model)}
    config = {"schema": SCHEMA, "languages": list(checkpoint.languages), "model": checkpoint.config.to_dict()}
    config |= {"peer": checkpoint.peer} if checkpoint.peer else {}
    counts = {side: list(numbers) for side, numbers in checkpoint.token_counts.items()}
    writers: dict[str, Callable[[Path], None]] = {
        "config.json": lambda path: _dump_json(path, config),
        "metrics.json": lambda path: _dump_json(path, checkpoint.metrics),
        "model.safetensors": lambda path: save_file(weights, path),
    }
    if counts:
        writers["counts.json"] = lambda path: _dump_json(path, counts, indent=None)
    if corpus_stats := checkpoint.corpus_stats:
        writers["seen.json"] = lambda path: _dump_json(path, corpus_stats.to_dict(), indent=None)
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
    optional = {"means.safetensors", "counts.json", "seen.json", "faithfulness.json", "routes.json", "heads.json"}
    optional |= {"findings.json"}
    optional |= {"tokenizer.json", "tokenizer.source.json", "tokenizer.target.json"}
    for name in optional - set(writers):  # left by other weights or another vocabulary
        (folder / name).unlink(missing_ok=True)


def write_json(path: Path, value: Any, indent: int | None = 1) -> None:
    """Writes a JSON file atomically, through a temporary file."""
    temporary = path.with_name(path.name + ".new")
    _dump_json(temporary, value, indent)
    os.replace(temporary, path)


def _dump_json(path: Path, value: Any, indent: int | None = 1) -> None:
    separators = (",", ":") if indent is None else None  # compact, because nobody reads it
    path.write_text(json.dumps(value, indent=indent, ensure_ascii=False, separators=separators) + "\n", encoding="utf-8")


def load(name: str = "en-fr", device: str | torch.device = "cpu", root: Path | None = None) -> Checkpoint:
    """Reads and checks a checkpoint by name or path; the model is in eval mode, float32, without gradients.

    The default device is the CPU; `model.load` chooses one. Raises CheckpointError for a missing or damaged file, an unknown
    schema, a wrong shape, weights or activations that are not finite, or a vocabulary that does not fit the embedding.
    """
    folder = find_folder(name, root)
    config, languages, peer = checkpoint_files.read_config(folder / "config.json")
    if config.joint_vocab and not (folder / "tokenizer.source.json").exists():
        source = target = checkpoint_files.read_tokenizer(folder / "tokenizer.json", config.source_vocab)
    else:
        source = checkpoint_files.read_tokenizer(folder / "tokenizer.source.json", config.source_vocab)
        target = checkpoint_files.read_tokenizer(folder / "tokenizer.target.json", config.target_vocab)
    metrics = checkpoint_files.read_metrics(folder / "metrics.json")
    counts = checkpoint_files.read_token_counts(folder / "counts.json", config)
    corpus_stats = checkpoint_files.read_corpus_stats(folder / "seen.json")
    faithfulness = checkpoint_files.read_faithfulness(folder / "faithfulness.json")
    with torch.device("meta"):  # shapes only: compared with the file before any memory is allocated
        expected = {key: tuple(p.shape) for key, p in build(config).named_parameters()}
    state = checkpoint_files.read_weights(folder / "model.safetensors", expected)
    means = checkpoint_files.read_mean_z(folder / "means.safetensors", config)
    route_heads = checkpoint_files.read_route_heads(folder / "routes.json", config)
    head_statistics = checkpoint_files.read_head_statistics(folder / "heads.json", config)
    findings = checkpoint_files.read_findings(folder / "findings.json")
    model = build(config)
    model.load_state_dict(state, strict=False)  # every stored key has been checked; tied ones follow
    model.eval().requires_grad_(False)
    _check_finite(model, folder / "model.safetensors")
    model.to(device)
    means = {site: mean.to(device) for site, mean in means.items()}
    label = name if name in list_names(root) else folders.name_of(folder)
    label = "".join(char if char.isprintable() else "?" for char in label[: folders.MAX_NAME_LENGTH])
    measurements = (languages, metrics, counts, means, peer, corpus_stats, faithfulness, folder.resolve(), route_heads)
    return Checkpoint(label, config, model, source, target, *measurements, head_statistics, findings)


@torch.inference_mode()
def _check_finite(model: Transformer, path: Path) -> None:
    """Raises CheckpointError where a pass over tokens of all the vocabulary gives a number that is not finite.

    Finite weights may be so large that a pass overflows.
    """
    config, probe = model.config, Probe("full")
    length = config.clamp_length(CHECKED_TOKENS)
    source, outputs = (
        torch.linspace(END, size - 1, length).long()[None] if stack in config.kinds else None  # [1,T]
        for stack, size in (("encoder", config.source_vocab), ("decoder", config.target_vocab))
    )
    hidden = teacher_forced_states(model, source, outputs, Pass(probe=probe))  # [1,T,D]
    logits = model.task_logits(hidden, source)
    records = (each for record in probe.records.values() for each in record.items())
    streams = (("residual stream", each) for both in probe.streams.values() for each in both)
    pooled = []
    if config.pooler and isinstance(model, EncoderOnly) and source is not None:
        pooled.append(("pooled state", model.pooled_output(hidden, source)))
    for name, tensor in (*records, *streams, ("logits", logits), *pooled):
        if not tensor.isfinite().all():
            raise CheckpointError(
                f"{path}: a first pass gives a number that is NaN or infinite ({name}); expected finite numbers. The "
                "weights cannot be computed with."
            )


def save_means(means: dict[Site, torch.Tensor], folder: Path) -> None:
    """Writes the mean z of the heads, [H,K] a site, as float32. Raises OSError or SafetensorError."""
    temporary = folder / "means.safetensors.new"
    save_file({f"{site.kind}.{site.layer}": mean.cpu().float().contiguous() for site, mean in means.items()}, temporary)
    os.replace(temporary, folder / "means.safetensors")


def _to_stored_dtype(weight: torch.Tensor, keep_float32: bool) -> torch.Tensor:
    """Returns a parameter in the stored precision."""
    plain = weight.detach().cpu().float().contiguous()
    half = plain.half()
    return plain if keep_float32 and not half.float().equal(plain) else half


def _parameter_names(model: Transformer) -> list[str]:
    """Returns the names of the stored parameters; tied parameters are stored once, under the first name."""
    return [key for key, _ in model.named_parameters()]
