"""Marian models in the format of Hugging Face (Junczys-Dowmunt et al. 2018; OPUS-MT by Tiedemann and Thottingal 2020).

Post-norm without a final norm, sinusoidal positions with all sines before all cosines, a bias on the logits. Activation and
scale of the embeddings come from config.json (SiLU and the square root of d_model in OPUS-MT). Marian's decoder starts with
`<pad>` and has no `<s>`: here `<s>` is that row, and `<pad>` a row of zeros.

The vocabularies are SentencePiece files (Kudo and Richardson 2018). They are protocol buffers, of which this module reads a
few fields without the package.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...config import ModelConfig
from ...io.files import MEGABYTE, read_bytes, read_json, short_repr
from ...network.positions import sinusoidal_halves
from ...text.foreign_tokenizer import ForeignTokenizer, foreign_values
from ...text.languages import BY_CODE
from . import conversion, hugging_face
from .conversion import ConversionOptions, ConvertedModel, ConvertError
from .hugging_face import StateDictReader, entry
from .vocabulary import RowOrder, control_notes, order_rows

_PAIR = re.compile(r"opus-mt-([a-zA-Z_]+)-([a-zA-Z_]+)$")


def language_name(code: Any) -> str | None:
    """Returns the language of a code; an unknown code itself; None where it is no code."""
    if not isinstance(code, str) or not re.fullmatch(r"[a-zA-Z_]{2,12}", code):
        return None
    return BY_CODE.get(code.lower(), code)


def language_pair(name: Any) -> tuple[str | None, str | None]:
    """Returns the two languages of a model whose name ends in a pair such as `opus-mt-en-fr`."""
    match = _PAIR.search(name) if isinstance(name, str) else None
    return (None, None) if match is None else (language_name(match[1]), language_name(match[2]))


MAX_BYTES = 64 * MEGABYTE
NORMAL, UNKNOWN, USER_DEFINED, UNUSED, BYTE = 1, 2, 4, 5, 6  # kinds of a piece
MODELS = {1: "unigram", 2: "BPE", 3: "word", 4: "char"}
# Fields of the trainer's and the normaliser's record, by number: the supported value, and the name.
TRAINER = {24: (0, "treat_whitespace_as_suffix"), 35: (0, "byte_fallback")}
NORMALIZER = {3: (1, "add_dummy_prefix"), 4: (1, "remove_extra_whitespaces"), 5: (1, "escape_whitespaces")}


@dataclass(frozen=True)
class SentencePieceModel:
    """Unigram model: each piece with its score (log-probability in nats), and the rewrites of its normaliser."""

    scores: dict[str, float]
    charsmap: bytes

    def backend(self) -> dict[str, Any]:
        """Returns the value of an equivalent tokenizer.json of the `tokenizers` library, for rewritten text."""
        lowest = min(self.scores.values())
        vocabulary = [
            [" ", lowest],
            *([piece, score] for piece, score in self.scores.items()),
        ]  # rewritten text has no plain space
        return {"version": "1.0", "model": {"type": "Unigram", "unk_id": 0, "vocab": vocabulary, "byte_fallback": False}}


def read_pieces(path: Path) -> SentencePieceModel:
    """Returns the pieces of a file; raises ConvertError for a damaged file or unsupported rules."""
    try:
        raw = read_bytes(path, MAX_BYTES)
    except FileNotFoundError:
        raise ConvertError(f"{path} is missing; expected a file of SentencePiece") from None
    scores, charsmap, kind = {}, b"", 1
    try:
        for number, value in _fields(raw):
            if number == 1:
                _add_piece(path, dict(_fields(value)), scores)
            elif number == 2:
                trainer = dict(_fields(value))
                kind = trainer.get(3, 1)
                _check(path, trainer, TRAINER)
            elif number == 3:
                normalizer = dict(_fields(value))
                charsmap = normalizer.get(2, b"")
                _check(path, normalizer, NORMALIZER)
    except (LookupError, struct.error, UnicodeDecodeError, TypeError, AttributeError):
        raise ConvertError(f"{path} is truncated or damaged; expected a file of SentencePiece") from None
    if kind != 1:
        raise ConvertError(f"{path} is a SentencePiece model of the kind {MODELS.get(kind, kind)}; expected unigram")
    if not scores:
        raise ConvertError(f"{path} has no pieces; expected a file of SentencePiece")
    return SentencePieceModel(scores, charsmap)


def _add_piece(path: Path, fields: dict[int, Any], scores: dict[str, float]) -> None:
    kind = fields.get(3, NORMAL)
    if kind in (USER_DEFINED, BYTE):
        what = "defined by its user" if kind == USER_DEFINED else "for a byte"
        raise ConvertError(
            f"{path} has a piece {what}, {fields[1].decode()[:40]!r}; expected pieces that were learned alone"
        )
    if kind == NORMAL:
        scores[fields[1].decode()] = struct.unpack("<f", fields.get(2, b"\0" * 4))[0]


def _check(path: Path, fields: dict[int, Any], expected: dict[int, tuple[int, str]]) -> None:
    for number, (value, name) in expected.items():
        if fields.get(number, value) != value:
            raise ConvertError(f"{path} has {name} = {bool(fields[number])}; expected {bool(value)}")


def _fields(raw: bytes) -> Iterator[tuple[int, Any]]:
    """Yields numbers and values of a record's fields: integers or bytes."""
    offset = 0
    while offset < len(raw):
        key, offset = _read_varint(raw, offset)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, offset = _read_varint(raw, offset)
        else:
            if kind == 2:
                size, offset = _read_varint(raw, offset)
            else:
                size = {1: 8, 5: 4}[kind] if kind in (1, 5) else len(raw) + 1
            if offset + size > len(raw):
                raise IndexError("a field ends behind the file")
            value, offset = raw[offset : offset + size], offset + size
        yield number, value


def _read_varint(raw: bytes, offset: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[offset]
        value, shift, offset = value | (byte & 0x7F) << shift, shift + 7, offset + 1
        if byte < 0x80 or shift > 63:
            return value, offset


_COMMON = {  # names in the files and here
    "self_attn.q_proj": "self_attention.query",
    "self_attn.k_proj": "self_attention.key",
    "self_attn.v_proj": "self_attention.value",
    "self_attn.out_proj": "self_attention.output",
    "fc1": "feed_forward.inner",
    "fc2": "feed_forward.outer",
    "self_attn_layer_norm": "residuals.0.norm",
}
_ENCODER = _COMMON | {"final_layer_norm": "residuals.1.norm"}
_DECODER = _COMMON | {
    "encoder_attn.q_proj": "cross_attention.query",
    "encoder_attn.k_proj": "cross_attention.key",
    "encoder_attn.v_proj": "cross_attention.value",
    "encoder_attn.out_proj": "cross_attention.output",
    "encoder_attn_layer_norm": "residuals.1.norm",
    "final_layer_norm": "residuals.2.norm",
}


def convert(folder: Path, options: ConversionOptions) -> ConvertedModel:
    """Converts a folder with config.json, weights, source.spm, target.spm and vocab.json (or with target_vocab.json).

    Raises ConvertError that names the missing part, or the part that the format cannot hold.
    """
    values = hugging_face.read_config(folder)
    state = StateDictReader(conversion.find_weights(folder), conversion.read_state_dict(conversion.find_weights(folder)))
    joint = values.get("share_encoder_decoder_embeddings", True) is not False
    source = _table(state, "encoder", joint)
    target = source if joint else _table(state, "decoder", joint)
    orders = {"source": _rows(values, len(source)), "target": _rows(values, len(target))}
    bias = state.take("final_logits_bias", None)
    output = state.take("lm_head.weight", None)
    config = _config(values, joint, orders, tied=output is None or output.equal(target))
    tensors = _stacks(state, config)
    for side in ("encoder", "decoder"):
        _check_positions(state, side, config.d_model)
    tensors["source_embedding.table.weight"] = orders["source"].reorder(source)
    tensors["target_embedding.table.weight"] = orders["target"].reorder(target)
    tensors["projection.weight"] = orders["target"].reorder(target if output is None else output)
    tensors["projection.bias"] = orders["target"].reorder_bias(None if bias is None else bias.flatten())
    state.check_all_used()
    tokens = [_tokens(folder, side, joint, orders[side]) for side in ("source", "target")]
    tokenizers = [_tokenizer(folder, side, orders[side], each) for side, each in zip(orders, tokens, strict=True)]
    notes = control_notes([orders["target"]] if joint else list(orders.values()), tokens)
    return ConvertedModel(
        config, tensors, *tokenizers, languages=options.languages or _languages(folder, values), notes=notes
    )


def _table(state: StateDictReader, side: str, joint: bool) -> Tensor:
    """Returns the embedding of a side. A shared one may have any of three names."""
    names = [f"model.{side}.embed_tokens.weight"]
    if joint:
        names = ["model.shared.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"]
    tables = [each for name in names if (each := state.take(name, None)) is not None]
    if not tables:
        raise ConvertError(f"{state.file}: {names[0]!r} is missing; expected the embedding of a Marian model")
    if any(not each.equal(tables[0]) for each in tables[1:]):
        raise ConvertError(f"{state.file}: {' and '.join(names[1:])} differ; expected one table, as config.json says")
    return tables[0]


def _rows(values: dict[str, Any], size: int) -> RowOrder:
    """Orders the rows. Marian's `<pad>` usually starts the decoder; another start is supported."""
    names = ("eos_token_id", "decoder_start_token_id", "pad_token_id")
    end, start, pad = (None if name == names[2] and values.get(name) is None else entry(values, name, int) for name in names)
    for name, row in zip(names, (end, start, pad), strict=True):
        if row is not None and not 0 <= row < size:
            raise ConvertError(f"config.json: {name!r} is {row}; expected 0 to {size - 1}, a row of the embedding")
    return order_rows(size, pad if pad not in (start, end) else None, start, end)


def _config(values: dict[str, Any], joint: bool, orders: dict[str, RowOrder], tied: bool) -> ModelConfig:
    same = {}
    for name in ("attention_heads", "ffn_dim"):
        both = [entry(values, f"{side}_{name}", int) for side in ("encoder", "decoder")]
        if both[0] != both[1]:
            raise ConvertError(
                f"config.json: 'encoder_{name}' is {both[0]} and 'decoder_{name}' {both[1]}; expected the same"
            )
        same[name] = both[0]
    for name in ("normalize_before", "normalize_embedding", "add_final_layer_norm"):
        if values.get(name):
            raise ConvertError(
                f"config.json: {name!r} is {short_repr(values[name])}; expected false, as Marian models have it"
            )
    if values.get("static_position_embeddings", True) is not True:
        raise ConvertError("config.json: 'static_position_embeddings' is false; expected true, sinusoidal positions")
    return hugging_face.build_config(
        source_vocab=len(orders["source"]),
        target_vocab=len(orders["target"]),
        joint_vocab=joint,
        tied_output=tied,
        d_model=entry(values, "d_model", int),
        heads=same["attention_heads"],
        encoder_layers=entry(values, "encoder_layers", int),
        decoder_layers=entry(values, "decoder_layers", int),
        d_ff=same["ffn_dim"],
        positions="sinusoidal-halves",
        activation=hugging_face.activation(values, "activation_function"),
        norm_first=False,
        final_norm=False,
        dropout=0.0,
        embedding_scale=values.get("scale_embedding", False) is True,
        output_bias=True,
    )


def _stacks(state: StateDictReader, config: ModelConfig) -> dict[str, Tensor]:
    tensors = {}
    for stack, names in (("encoder", _ENCODER), ("decoder", _DECODER)):
        for n in range(getattr(config, f"{stack}_layers")):
            for theirs, ours in names.items():
                for what in ("weight", "bias"):
                    tensors[f"{stack}.{n}.{ours}.{what}"] = state.take(f"model.{stack}.layers.{n}.{theirs}.{what}")
    return tensors


def _check_positions(state: StateDictReader, side: str, width: int) -> None:
    """Raises ConvertError unless stored positions follow the sinusoidal formula. They are not stored again."""
    table = state.take(f"model.{side}.embed_positions.weight", None)
    if table is not None and not torch.allclose(
        sinusoidal_halves(torch.arange(len(table)), width), table.float(), atol=2e-3
    ):
        raise ConvertError(f"{state.file}: the {side}'s positions are not sinusoidal; expected all sines, then all cosines")


def _tokens(folder: Path, side: str, joint: bool, order: RowOrder) -> list[str]:
    """Returns the tokens of a side's vocabulary, in the order of the model's ids."""
    file = folder / ("vocab.json" if side == "source" or joint else "target_vocab.json")
    try:
        ids = read_json(file, MAX_BYTES)
    except FileNotFoundError:
        raise ConvertError(f"{file} is missing; expected an id for each token") from None
    if not isinstance(ids, dict) or not all(isinstance(row, int) and not isinstance(row, bool) for row in ids.values()):
        raise ConvertError(f"{file} is no object with an id for each token")
    size = max((row for row in order.order if row is not None), default=-1) + 1
    tokens = [f"<unused {n}>" for n in range(size)]
    for token, row in ids.items():
        if not 0 <= row < size:
            raise ConvertError(f"{file}: {token[:40]!r} has the id {row}; expected 0 to {size - 1}, a row of the embedding")
        tokens[row] = token
    return tokens


def _tokenizer(folder: Path, side: str, order: RowOrder, tokens: list[str]) -> ForeignTokenizer:
    """Returns the tokenizer of a side's .spm, with the ids of its vocabulary."""
    pieces = read_pieces(folder / f"{side}.spm")
    unknown = "<unk>" if "<unk>" in tokens else None
    try:
        renamed, controls = order.reorder_tokens(tokens), order.controls(tokens)
        values = foreign_values(pieces.backend(), renamed, "sentencepiece", unknown, pieces.charsmap, controls)
        return ForeignTokenizer(values)
    except ValueError as fault:
        raise ConvertError(f"{folder / f'{side}.spm'}, with its vocabulary: {fault}") from None


def _languages(folder: Path, values: dict[str, Any]) -> tuple[str, str]:
    """Returns the languages by tokenizer_config.json, else by the name of the model."""
    settings = hugging_face.read_optional(folder / "tokenizer_config.json")
    languages = [language_name(settings.get(f"{side}_lang")) for side in ("source", "target")]
    for name in (values.get("_name_or_path"), folder.resolve().name):
        languages = [one or other for one, other in zip(languages, language_pair(name), strict=True)]
    return languages[0] or "source", languages[1] or "target"
