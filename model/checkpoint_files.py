"""Readers of the files of a checkpoint; each checks size, form and numbers first."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from .config import MAX_LANGUAGE, ModelConfig, is_language
from .io import foreign_checkpoints
from .io.files import MEGABYTE, FileError, is_count, is_whole_number, open_file, read_json, short_repr
from .io.folders import NAME_RULE, is_name
from .io.package_names import COMMAND
from .text.corpus_stats import CorpusStats
from .text.findings import Findings
from .text.foreign_tokenizer import load_tokenizer
from .text.head_statistics import HeadsOverCorpus
from .text.measurements import FaithfulnessShares, read_alignment
from .text.route_heads import RouteHeads
from .text.tokenizer import Tokenizer
from .text.warning_calibration import read_signs, read_warnings
from .trace import Site

SCHEMA = 1
MAX_BYTES = {  # bytes of each file; the limit of weights follows from the config
    "config.json": MEGABYTE,
    "metrics.json": 16 * MEGABYTE,
    "counts.json": 64 * MEGABYTE,
    "seen.json": 64 * MEGABYTE,
    "faithfulness.json": MEGABYTE,
    "routes.json": MEGABYTE,
    "heads.json": 16 * MEGABYTE,
    "findings.json": MEGABYTE,
}
DTYPE_BYTES = {"F16": 2, "BF16": 2, "F32": 4, "F64": 8}  # bytes of a number, by the dtype of stored weights
MAX_HEADER_BYTES = 16 * MEGABYTE  # limit of the header of a weights file
SCORE_LIMITS = {  # maximum and count fields of each test score
    "bits_per_character": (10_000, ("characters",)),
    "accuracy": (1, ("sentences",)),
    "answers_right": (1, ("sentences",)),
    "bleu": (100, ("sentences", "beam")),
}
MAX_WEIGHT = 65504.0  # the largest number of float16


class CheckpointError(ValueError):
    """A checkpoint that cannot be used; the message has the file, the key, the value and the expected value."""


def _read_json(path: Path) -> Any:
    try:
        return read_json(path, MAX_BYTES[path.name])
    except FileNotFoundError:
        raise _missing_file_error(path) from None
    except FileError as fault:
        raise CheckpointError(f"{fault}; copy the folder again.") from None


def _missing_file_error(path: Path) -> CheckpointError:
    return CheckpointError(f"{path} is missing; a checkpoint needs it. Copy the folder again.")


def read_config(path: Path) -> tuple[ModelConfig, tuple[str, str], str | None]:
    """Returns the configuration, the two languages and the name of the peer, if any."""
    if message := foreign_checkpoints.describe_foreign(path.parent):
        raise CheckpointError(message)
    values = _read_json(path)
    schema = values.get("schema") if isinstance(values, dict) else None
    if not is_whole_number(schema) or schema != SCHEMA:
        raise CheckpointError(
            f"{path}: 'schema' is {short_repr(schema)}; expected {SCHEMA}. "
            "The checkpoint belongs to another version of this program."
        )
    try:
        config = ModelConfig.from_dict(values.get("model"))
    except ValueError as fault:
        raise CheckpointError(f"{path}: 'model': {fault}.") from None
    languages = values.get("languages", ["source", "target"])
    if not (isinstance(languages, list) and len(languages) == 2 and all(map(is_language, languages))):
        raise CheckpointError(
            f"{path}: 'languages' is {short_repr(languages)}; expected two names, source and target, of at most "
            f"{MAX_LANGUAGE} "
            "printable characters."
        )
    peer = values.get("peer")
    if peer is not None and not (isinstance(peer, str) and is_name(peer)):
        raise CheckpointError(
            f"{path}: 'peer' is {short_repr(peer)}; expected the name of a checkpoint, or no such entry. A name has "
            f"{NAME_RULE}."
        )
    return config, (languages[0], languages[1]), peer


def read_tokenizer(path: Path, vocab_size: int) -> Tokenizer:
    """Returns a tokenizer with one token for each row of the embedding."""
    try:
        tokenizer = load_tokenizer(path)
    except FileNotFoundError:
        raise _missing_file_error(path) from None
    except FileError as fault:
        raise CheckpointError(f"{fault}; expected a vocabulary. Copy the file again.") from None
    except ValueError as fault:
        raise CheckpointError(f"{path} is no usable vocabulary: {fault}.") from None
    if tokenizer.size != vocab_size:
        raise CheckpointError(
            f"{path}: the vocabulary has {tokenizer.size} tokens; expected {vocab_size}, the rows of the embedding in "
            f"config.json."
        )
    return tokenizer


def read_weights(path: Path, expected: dict[str, tuple[int, ...]]) -> dict[str, torch.Tensor]:
    """Returns the tensors of these names and shapes, as float32. Names, shapes and dtypes are checked before reading."""
    max_bytes = MAX_HEADER_BYTES + sum(max(DTYPE_BYTES.values()) * torch.Size(shape).numel() for shape in expected.values())
    try:
        open_file(path, max_bytes).close()
        with safe_open(path, framework="pt") as stored:
            _check_names(path, stored.keys(), expected)
            for key, shape in expected.items():
                _check_shape_and_dtype(path, key, stored.get_slice(key), shape)
            state = {key: stored.get_tensor(key).float() for key in expected}
    except FileNotFoundError:
        raise _missing_file_error(path) from None
    except FileError as fault:
        raise CheckpointError(f"{fault}; copy the file again.") from None
    except (SafetensorError, OSError) as fault:
        reason = " ".join(str(fault).split())[:200]
        raise CheckpointError(f"{path} is truncated or damaged ({reason}); copy the file again.") from None
    for key, tensor in state.items():
        if bad := int((~tensor.isfinite()).sum()):
            raise CheckpointError(f"{path}: {key!r} holds {bad} values that are NaN or infinite; expected finite numbers.")
        if (largest := float(tensor.abs().max())) > MAX_WEIGHT:
            raise CheckpointError(
                f"{path}: {key!r} holds the value {largest:.3g}; expected at most {MAX_WEIGHT:,.0f}, the most of float16."
            )
    return state


def _check_names(path: Path, keys: Iterable[str], expected: dict[str, tuple[int, ...]]) -> None:
    present = set(keys)
    if missing := [key for key in expected if key not in present]:
        raise CheckpointError(f"{path}: {missing[0]!r} is missing; expected {expected[missing[0]]} by config.json.")
    if extra := sorted(present - set(expected)):
        raise CheckpointError(f"{path}: {short_repr(extra[0])} is not a parameter of the model that config.json describes.")


def _check_shape_and_dtype(path: Path, key: str, stored: Any, shape: tuple[int, ...]) -> None:
    if tuple(stored.get_shape()) != shape:
        stored_shape = f"({', '.join(map(str, stored.get_shape()[:9]))})"
        raise CheckpointError(f"{path}: {key!r} has the shape {stored_shape}; expected {shape} by config.json.")
    if stored.get_dtype() not in DTYPE_BYTES:
        raise CheckpointError(
            f"{path}: {key!r} holds numbers of the kind {stored.get_dtype()}; expected {', '.join(DTYPE_BYTES)}."
        )


def read_mean_z(path: Path, config: ModelConfig) -> dict[Site, torch.Tensor]:
    """Returns the mean z of the heads, [H,K] a site; empty where the file is absent."""
    if not os.path.lexists(path):
        return {}
    sites = [Site(kind, layer) for kind, layers in config.layers.items() for layer in range(layers)]
    stored = read_weights(path, {f"{s.kind}.{s.layer}": (config.heads, config.head_dim) for s in sites})
    return {site: stored[f"{site.kind}.{site.layer}"] for site in sites}


def read_metrics(path: Path) -> dict[str, Any]:
    """Returns the scores; those that pages display are checked."""
    values = _read_json(path) if os.path.lexists(path) else {}
    if not isinstance(values, dict):
        raise CheckpointError(f"{path}: the content is a {type(values).__name__}; expected an object with the scores.")
    try:
        _check_scores(values)
        read_warnings(values)
        read_signs(values)
        read_alignment(values)
    except ValueError as fault:
        raise CheckpointError(f"{path}: {fault}.") from None
    return values


def _check_scores(values: dict[str, Any]) -> None:
    """Checks the results of `python -m model evaluate --record test`, where present."""
    for key in ("test", "test_all_references"):
        if (test := values.get(key)) is not None:
            _check_score(key, test)


def _check_score(key: str, test: Any) -> None:
    if not isinstance(test, dict):
        raise ValueError(f"{key!r} is {short_repr(test)}; expected an object with the scores")
    score = next((name for name in SCORE_LIMITS if name in test), "bleu")
    maximum, counts = SCORE_LIMITS[score]
    value = test.get(score)
    if not ((is_whole_number(value) or isinstance(value, float)) and 0 <= value <= maximum):
        raise ValueError(f"{key!r}: {score!r} is {short_repr(value)}; expected a number from 0 to {maximum}")
    for name in counts:
        count = test.get(name, 1 if name == "beam" else None)
        if not (is_count(count) and count):
            raise ValueError(f"{key!r}: {name!r} is {short_repr(count)}; expected a whole number of at least 1")


def read_token_counts(path: Path, config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Returns the training count of each token of each side; empty where the file is absent."""
    if not os.path.lexists(path):
        return {}
    values = _read_json(path)
    sizes = {"source": config.source_vocab, "target": config.target_vocab}
    for side, size in sizes.items():
        counts = values.get(side) if isinstance(values, dict) else None
        if not isinstance(counts, list) or len(counts) != size or not all(map(is_count, counts)):
            raise CheckpointError(f"{path}: {side!r} is no list of {size} counts, one a token of the vocabulary.")
    return {side: tuple(values[side]) for side in sizes}


def read_corpus_stats(path: Path) -> CorpusStats | None:
    """Returns lengths and words of the training pairs; None where the file is absent."""
    if not os.path.lexists(path):
        return None
    values = _read_json(path)
    try:
        return CorpusStats.from_dict(values)
    except ValueError as fault:
        raise CheckpointError(f"{path}: {fault}.") from None


def read_faithfulness(path: Path) -> FaithfulnessShares | None:
    """Returns the measured faithfulness of the readings; None where the file is absent."""
    if not os.path.lexists(path):
        return None
    values = _read_json(path)
    try:
        return FaithfulnessShares.from_dict(values)
    except ValueError as fault:
        raise CheckpointError(f"{path}: {fault}. Measure again: {COMMAND} report faithfulness.") from None


def read_head_statistics(path: Path, config: ModelConfig) -> HeadsOverCorpus | None:
    """Returns the statistics of all heads over a corpus; None where the file is absent."""
    if not os.path.lexists(path):
        return None
    values = _read_json(path)
    try:
        result = HeadsOverCorpus.from_dict(values)
        result.check(config)
    except ValueError as fault:
        raise CheckpointError(f"{path}: {fault}. Measure again: {COMMAND} report heads --data FILE --store.") from None
    return result


def read_findings(path: Path) -> Findings | None:
    """Returns the results of the published claims; None where the file is absent."""
    if not os.path.lexists(path):
        return None
    try:
        return Findings.from_dict(_read_json(path))
    except ValueError as fault:
        raise CheckpointError(f"{path}: {fault}. Measure again: {COMMAND} report findings.") from None


def read_route_heads(path: Path, config: ModelConfig) -> RouteHeads | None:
    """Returns the heads that carry the choice of a right token; None where the file is absent."""
    if not os.path.lexists(path):
        return None
    values = _read_json(path)
    try:
        result = RouteHeads.from_dict(values)
        for each in (head for measured in (result, *result.earlier) for head in measured.heads):
            if each.layer >= config.layers.get(each.site, 0) or each.head >= config.heads:
                raise ValueError(f"'heads' has {each.name}, which the model of config.json lacks")
    except ValueError as fault:
        raise CheckpointError(f"{path}: {fault}. Measure again: {COMMAND} report routes.") from None
    return result
