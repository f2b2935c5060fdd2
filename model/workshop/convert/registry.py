"""Converters by name. `convert` reads a model of another program and writes a checkpoint folder.

A new format needs one entry here, and one in `model.io.foreign_checkpoints`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

import torch
from safetensors import SafetensorError

from ... import checkpoint as checkpoints
from ...checkpoint import Checkpoint
from ...config import ACTIVATIONS, ModelConfig
from ...io import folders, foreign_checkpoints
from ...io.files import short_repr
from ...io.package_names import COMMAND
from ...network.transformer import build
from ..evaluation.model_card import NORMS
from . import bert_gpt2, marian, torch_transformer
from .conversion import ConversionOptions, ConvertedModel, Converter, ConvertError, find_weights

DATA_FILES = {
    "encoder-decoder": "FILE.tsv",
    "decoder-only": "FILE.txt",
    "encoder-only": "FILE.txt",
}  # data that scores a family


def write_checkpoint(converted: ConvertedModel, folder: Path, origin: Path, title: str) -> Path:
    """Writes the folder of a checkpoint, which must be absent or empty. Loads it once as a test.

    Raises ConvertError where the folder or its name is invalid, weights are missing, or the result cannot be loaded;
    OSError where the disk is full. A failure leaves nothing behind.
    """
    folder = folder.absolute()
    if not folders.is_name(folder.name):
        raise ConvertError(f"a checkpoint cannot be called {folder.name[:80]!r}: a name has {folders.NAME_RULE}")
    if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise ConvertError(f"{folder} is there already; name a new folder, or remove it first")
    absent = [parent for parent in folder.parents if not parent.exists()]  # the innermost first
    staged = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(prefix=f".{folder.name[:40]}.", dir=folder.parent))
        checkpoint = _build_checkpoint(converted, folder.name)
        checkpoints.save(checkpoint, staged, keep_float32=True)
        (staged / "README.md").write_text(card(checkpoint, converted, origin, title), encoding="utf-8")
        checkpoints.load(str(staged))
        if folder.is_dir():
            folder.rmdir()
        staged.chmod(0o755)
        os.rename(staged, folder)
    except ValueError as fault:
        raise ConvertError(str(fault).replace(str(staged), str(folder))) from None
    except SafetensorError as fault:
        raise ConvertError(f"{folder} cannot be written: {' '.join(str(fault).split())[:200]}") from None
    finally:
        if staged is not None:
            shutil.rmtree(staged, ignore_errors=True)
        with contextlib.suppress(OSError):  # a parent may hold the checkpoint, or another file
            for parent in absent:
                parent.rmdir()
    return folder


def _build_checkpoint(converted: ConvertedModel, name: str) -> Checkpoint:
    config = converted.config
    with torch.device("meta"):
        model = build(config)
    expected = {key: tuple(p.shape) for key, p in model.named_parameters()}
    for key, shape in expected.items():
        tensor = converted.state.get(key)
        if tensor is None or tuple(tensor.shape) != shape:
            what = "is missing" if tensor is None else f"has the shape {tuple(tensor.shape)}"
            raise ConvertError(f"in the converted model, {key!r} {what}; expected {shape}")
    if extra := sorted(set(converted.state) - set(model.state_dict())):
        raise ConvertError(f"in the converted model, {extra[0]!r} has no place in this program's models")
    model = model.to_empty(device="cpu")
    model.load_state_dict({key: converted.state[key] for key in expected}, strict=False)
    if config.tied_output:
        model.projection.weight = (model.target_embedding if config.decoder_layers else model.source_embedding).table.weight
    model.eval().requires_grad_(False)
    return Checkpoint(name, config, model, converted.source, converted.target, converted.languages)


def card(checkpoint: Checkpoint, converted: ConvertedModel, origin: Path, title: str) -> str:
    """Returns the model card: origin, architecture, changes of the conversion."""
    config, (source, target) = checkpoint.config, checkpoint.languages
    layers = (
        f"{config.encoder_layers} + {config.decoder_layers}" if len(config.kinds) == 3 else str(sum(config.layers.values()))
    )
    can_score = config.family != "encoder-only" or checkpoint.source_tokenizer.mask is not None
    command = f"{COMMAND} evaluate --checkpoint FOLDER/{checkpoint.name} --data {DATA_FILES[config.family]}"
    weights = find_weights(origin)
    lines = [
        f"# {checkpoint.name}",
        "",
        f"Brought in with `{COMMAND} convert` from {title}: `{origin.name}`.",
        "",
        f"- Languages: {source} to {target}" if len(config.kinds) == 3 else f"- Language: {source}",
        f"- {config.family}, {layers} layers of {config.heads} heads, d_model {config.d_model}, d_ff {config.d_ff}, "
        f"{checkpoint.model.parameter_count:,} parameters",
        f"- Vocabulary: {config.source_vocab:,} tokens"
        + ("" if config.joint_vocab else f" of the source, {config.target_vocab:,} of the target"),
        *(f"- {line}" for line in _design(config)),
        *(f"- {note}" for note in converted.notes),
        f"- SHA-256 of `{weights.name}`: `{_digest(weights)}`",
        "",
        "No scores are known here" + (f": `{command}` measures them." if can_score else "."),
        "The licence is that of the model it came from.",
    ]
    return "\n".join(lines) + "\n"


def _design(config: ModelConfig) -> list[str]:
    """Returns the card's lines on layers and tables, from the config."""
    norm = f"{'Pre' if config.norm_first else 'Post'}-norm ({NORMS[config.norm]}, epsilon {config.norm_eps:g})"
    positions = config.positions + (f", {config.max_positions:,} rows" if config.scheme.has_table else "")
    embeddings = ["multiplied by the square root of d_model" if config.embedding_scale else "not scaled"]
    if "cross" in config.kinds:
        embeddings.insert(0, "one table for both sides" if config.joint_vocab else "a table for each side")
    if config.segments:
        embeddings.append(f"a vector for each of {config.segments} segments added")
    if config.embedding_norm:
        embeddings.append("then a norm")
    output = ["the embedding table" if config.joint_vocab else "the target's embedding table"]
    if not config.tied_output:
        output = ["a table of its own"]
    output.append("with a bias" if config.output_bias else "without a bias")
    if config.output_transform:
        output.append("after a linear layer, the activation and a norm")
    return [
        f"{norm}, {'a norm' if config.final_norm else 'no norm'} after the last layer",
        f"Activation: {ACTIVATIONS[config.activation].title}",
        f"Positions: {positions}",
        f"Embeddings: {', '.join(embeddings)}",
        f"Output: {', '.join(output)}",
    ]


def _digest(path: Path) -> str:
    with open(path, "rb") as raw:
        return hashlib.file_digest(raw, "sha256").hexdigest()


CONVERTERS: dict[str, Converter] = {
    made.name: made
    for made in (
        Converter("marian", marian.convert),
        Converter("bert", bert_gpt2.convert_bert),
        Converter("gpt2", bert_gpt2.convert_gpt2),
        Converter("torch", torch_transformer.convert),
    )
}


def read_model(source: Path | str, kind: str | None = None, options: ConversionOptions | None = None) -> ConvertedModel:
    """Converts a model of another program, a folder or a file, in memory.

    Raises ConvertError for a missing, unknown or unsupported model; FileError for an unreadable file.
    """
    path = Path(source)
    if not path.exists():
        raise ConvertError(f"There is no {path}; expected a folder or a file with a model")
    detected = kind or foreign_checkpoints.kind_of(path)
    if detected is None and "schema" in foreign_checkpoints.config_of(path):
        raise ConvertError(f"{path} is a checkpoint of this program already; it needs no conversion")
    if detected is None:
        raise ConvertError(
            foreign_checkpoints.describe_foreign(path)
            or f"{path} is not a supported model; {foreign_checkpoints.convertible_kinds()}"
        )
    if detected not in CONVERTERS:
        raise ConvertError(f"the kind is {detected!r}; expected one of {', '.join(CONVERTERS)}")
    own = foreign_checkpoints.config_of(path).get("model_type")
    if detected != "torch" and own not in (None, detected):  # a state dict may have any config.json next to it
        raise ConvertError(
            foreign_checkpoints.describe_foreign(path) or f"{path}: 'model_type' is {short_repr(own)}; expected {detected!r}"
        )
    try:
        return CONVERTERS[detected].convert(path, options or ConversionOptions())
    except (LookupError, TypeError, AttributeError, RuntimeError) as fault:  # faults of files in another form
        message = f"{type(fault).__name__}: {' '.join(str(fault).split())[:200]}"
        raise ConvertError(f"{path} is no whole {detected} model ({message})") from None


def convert(source: Path | str, to: Path | str, kind: str | None = None, options: ConversionOptions | None = None) -> Path:
    """Converts a model of another program to a new checkpoint folder, and returns the folder.

    Code in files is never executed: weights come from safetensors, or from torch's loader of weights only. Raises the
    errors of `read_model` and `write_checkpoint`.
    """
    path, folder = Path(source), Path(to)
    detected = kind or foreign_checkpoints.kind_of(path)
    return write_checkpoint(
        read_model(path, detected, options),
        folder,
        path,
        CONVERTERS[detected].title if detected in CONVERTERS else "a model",
    )
