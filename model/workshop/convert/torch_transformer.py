"""State dicts of `torch.nn.Transformer`, and of a model around one with embeddings, a projection and perhaps positions.

A state dict lacks the number of heads, the place of norms, the activation and the scale of embeddings: the options must
give them. The parts around the layers are detected by shapes and usual names, or named in the options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...config import SCHEMES, ModelConfig
from ...io.files import MEGABYTE, read_json, short_repr
from ...network.positions import POSITION_SCHEMES
from . import conversion, vocabulary
from .conversion import ConversionOptions, ConvertedModel, ConvertError
from .vocabulary import RowOrder

PARTS = {  # parts of a model around the Transformer: usual substrings of their names
    "source_embedding": ("src", "source", "encoder", "input"),
    "target_embedding": ("tgt", "trg", "target", "decoder", "output"),
    "output": ("generator", "fc_out", "out", "proj", "head", "linear", "fc", "decoder"),
    "positions": ("pos", "pe"),
}


def unsupported_tensor(name: str, tensor: Tensor) -> ConvertError:
    """Returns the error for a tensor that the format cannot hold."""
    return ConvertError(
        f"there is a tensor {name!r} of the shape {tuple(tensor.shape)}, for which the format has no place; expected a "
        "torch.nn.Transformer with embeddings, positions and one projection"
    )


class EmbeddingsAndHead:
    """Tensors around the Transformer: embeddings, the projection, positions."""

    def __init__(self, tensors: dict[str, Tensor], options: ConversionOptions, width: int) -> None:
        self.tensors, self.options, self.width = tensors, options, width
        tables = {name: each for name, each in tensors.items() if each.dim() == 2 and each.size(1) == width}
        self.positions = self._positions(tensors)
        tables = {name: each for name, each in tables.items() if name not in self.positions}
        self.output = self._named("output", tables) or self._output(tables)
        embeddings = {name: each for name, each in tables.items() if name != self.output}
        self.source = self._named("source_embedding", tables) or self._side("source_embedding", embeddings)
        self.target = self._named("target_embedding", tables) or self._side("target_embedding", embeddings)
        if self.output is None:
            self.output = self.target
        bias = self.output.removesuffix("weight") + "bias"
        self.bias = tensors.get(bias) if bias != self.output else None
        used = {self.source, self.target, self.output, bias, *self.positions}
        if extra := sorted(set(tensors) - used - {name for name in tensors if tensors[name].dim() == 0}):
            raise unsupported_tensor(extra[0], tensors[extra[0]])

    @property
    def is_joint(self) -> bool:
        """True where one table embeds both languages."""
        return self.source == self.target or self.tensors[self.source].equal(self.tensors[self.target])

    @property
    def is_tied(self) -> bool:
        """True where the projection is the target's table."""
        return self.output == self.target or self.tensors[self.output].equal(self.tensors[self.target])

    def _named(self, part: str, tables: dict[str, Tensor]) -> str | None:
        name = self.options.names.get(part)
        if name is not None and name not in tables:
            raise ConvertError(
                f"--{part.replace('_', '-')} is {name!r}; expected the name of a tensor [V,{self.width}]: one of "
                f"{', '.join(sorted(tables)[:8]) or 'none'}"
            )
        return name

    def _output(self, tables: dict[str, Tensor]) -> str | None:
        """Returns a table with a bias, or one with a name of projections and without `emb`."""
        for name in tables:
            if name.endswith("weight") and name.removesuffix("weight") + "bias" in self.tensors:
                return name
        plain = [n for n in tables if "emb" not in n.lower() and any(word in n.lower() for word in PARTS["output"])]
        return plain[0] if len(plain) == 1 and len(tables) > 1 else None

    def _side(self, part: str, tables: dict[str, Tensor]) -> str:
        if len(tables) == 1:
            return next(iter(tables))
        fit = [name for name in tables if any(word in name.lower() for word in PARTS[part])]
        if len(fit) != 1:
            raise ConvertError(
                f"which tensor is the {part.replace('_', ' ')} is not clear (there are "
                f"{', '.join(sorted(tables)[:6]) or 'none'}); give --{part.replace('_', '-')} NAME"
            )
        return fit[0]

    def _positions(self, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        """Returns the tables of positions by name, [N,D] each."""
        chosen = self.options.names.get("positions")
        if chosen is not None and chosen not in tensors:
            raise ConvertError(f"--position-table is {chosen!r}; expected one of {', '.join(sorted(tensors)[:8])}")
        tables = {}
        for name, each in tensors.items():
            flat = each.squeeze() if each.dim() == 3 else each
            usual = any(part.startswith(PARTS["positions"]) for part in re.split(r"[._]", name.lower()))
            if (name == chosen or (chosen is None and usual)) and flat.dim() == 2 and flat.size(1) == self.width:
                tables[name] = flat
        return tables

    def scheme(self, settings: dict[str, Any]) -> str:
        """Returns the scheme of positions: the given one, or the one that the tables hold."""
        if not self.positions:
            if "positions" not in settings:
                raise ConvertError(
                    "the state dict has no table of positions; give --positions sinusoidal, or another scheme"
                )
            if settings["positions"] == "learned":
                raise ConvertError(
                    "positions is 'learned', and the state dict has no table of positions; expected one, or another scheme "
                    "(--position-table NAME says which tensor it is)"
                )
            return settings["positions"]
        schemes = {_detect_scheme(each) for each in self.positions.values()}
        if len(schemes) > 1 or (settings.get("positions") or next(iter(schemes))) not in schemes:
            expected = settings.get("positions", "one scheme")
            raise ConvertError(f"the positions in the state dict are {' and '.join(sorted(schemes))}; expected {expected}")
        return next(iter(schemes))

    def state(self, config: ModelConfig, rows: tuple[RowOrder, ...]) -> dict[str, Tensor]:
        """Returns the tensors under this program's names."""
        source, target, output = (self.tensors[name] for name in (self.source, self.target, self.output))
        tensors = {
            "source_embedding.table.weight": rows[0].reorder(source),
            "target_embedding.table.weight": rows[-1].reorder(target),
        }
        if config.joint_vocab:
            tensors["target_embedding.table.weight"] = tensors["source_embedding.table.weight"]
        tensors["projection.weight"] = (
            tensors["target_embedding.table.weight"] if config.tied_output else rows[-1].reorder(output)
        )
        if config.output_bias:
            tensors["projection.bias"] = rows[-1].reorder_bias(self.bias)
        if config.scheme.has_table:
            for side, words in (("source", PARTS["source_embedding"]), ("target", PARTS["target_embedding"])):
                fit = [n for n in self.positions if len(self.positions) == 1 or any(word in n.lower() for word in words)]
                if len(fit) != 1:
                    raise ConvertError(
                        f"which of {', '.join(self.positions)} the {side} has is not clear; expected one table"
                    )
                tensors[f"{side}_embedding.positional.table.weight"] = self.positions[fit[0]]
        return tensors


def _detect_scheme(table: Tensor) -> str:
    places = torch.arange(len(table))
    for name, scheme in POSITION_SCHEMES.items():
        encoding = None if SCHEMES[name].has_table else scheme.encode(places, table.size(1))
        if encoding is not None and torch.allclose(encoding.to(table), table, atol=2e-3):
            return name
    return "learned"


REQUIRED = {  # fields that a state dict lacks, and their options
    "heads": "--heads N",
    "norm_first": "--norm-first or --no-norm-first",
    "activation": "--activation relu|gelu|...",
    "embedding_scale": "--embedding-scale or --no-embedding-scale",
}
SETTINGS = (*REQUIRED, "positions", "norm_eps", "max_positions")  # all fields that may be given
_LAYER = re.compile(r"(^|.*\.)encoder\.layers\.0\.self_attn\.in_proj_weight")
_INNER = re.compile(
    r"(encoder|decoder)\.(layers\.\d+\.((self_attn|multihead_attn)\.(in_proj_|out_proj\.)|linear[12]\.|norm[123]\.)|norm\.)"
    r"(weight|bias)"
)
_INSIDE = re.compile(r"(encoder|decoder)\.(layers|norm)\.")  # tensors there are no embeddings, whatever their shape
_LAYERS = re.compile(r"(encoder|decoder)\.layers\.(\d+)\.")


def convert(path: Path, options: ConversionOptions) -> ConvertedModel:
    """Converts a file with a state dict, or a folder with one and perhaps a config.json with some of `SETTINGS`.

    Raises ConvertError that names a missing tensor or setting, or the part that the format cannot hold.
    """
    file = conversion.find_weights(path)
    state = conversion.read_state_dict(file)
    settings = _settings(path, options)
    prefix = _prefix(file, state)
    inner = {name.removeprefix(prefix): each for name, each in state.items() if name.startswith(prefix)}
    around = {name: each for name, each in state.items() if not name.startswith(prefix) or not _is_inner(name, prefix)}
    for name in sorted(around):
        if name.startswith(prefix) and _INSIDE.match(name.removeprefix(prefix)):
            raise unsupported_tensor(name, around[name])
    outer = EmbeddingsAndHead(around, options, inner["encoder.layers.0.linear1.weight"].size(1))
    vocabularies, rows = _vocabularies(options, outer)
    config = _config(inner, outer, settings, rows)
    notes = [f"Given at conversion: {', '.join(f'{name} = {settings[name]}' for name in sorted(settings))}"]
    notes += vocabulary.control_notes(rows, [each.tokens for each in vocabularies])
    tokenizers = [each.tokenizer(order) for each, order in zip(vocabularies, rows, strict=True)]
    return ConvertedModel(
        config,
        {**_stacks(inner, config), **outer.state(config, rows)},
        tokenizers[0],
        tokenizers[-1],
        options.languages or ("source", "target"),
        tuple(notes),
    )


def _settings(path: Path, options: ConversionOptions) -> dict[str, Any]:
    """Returns the given fields; the command line overrides the file. Raises ConvertError where one is missing."""
    file = options.config or (path / "config.json" if path.is_dir() else path.with_name("config.json"))
    values: Any = {}
    if options.config or file.is_file():
        values = read_json(file, MEGABYTE)
        if not isinstance(values, dict) or (wrong := sorted(set(values) - set(SETTINGS))):
            fault = short_repr(wrong[0]) if isinstance(values, dict) else f"a {type(values).__name__}"
            raise ConvertError(f"{file} has {fault}; expected an object with {', '.join(SETTINGS)}")
    settings = values | dict(options.fields)
    if missing := [option for name, option in REQUIRED.items() if name not in settings]:
        raise ConvertError(f"a state dict does not say how its numbers are used: give {', '.join(missing)}")
    return settings


def _prefix(file: Path, state: dict[str, Tensor]) -> str:
    """Returns the prefix before `encoder.layers` in the names of the Transformer's own tensors."""
    prefixes = sorted({match[1] for name in state if (match := _LAYER.fullmatch(name))})
    if len(prefixes) == 1 and f"{prefixes[0]}decoder.layers.0.multihead_attn.in_proj_weight" in state:
        return prefixes[0]
    what = "several Transformers" if len(prefixes) > 1 else "no encoder.layers.0.self_attn.in_proj_weight with a decoder"
    raise ConvertError(f"{file} has {what} (but {', '.join(sorted(state)[:3])}...); expected one torch.nn.Transformer")


def _is_inner(name: str, prefix: str) -> bool:
    """Returns True for a tensor of the Transformer itself."""
    return _INNER.fullmatch(name.removeprefix(prefix)) is not None


def _vocabularies(
    options: ConversionOptions, outer: EmbeddingsAndHead
) -> tuple[list[vocabulary.Vocabulary], tuple[RowOrder, ...]]:
    """Returns the joint vocabulary, or both, each with its order of rows."""
    if options.tokenizer is None:
        raise ConvertError(
            "a state dict has no vocabulary; give --tokenizer FILE, a tokenizer.json or a list of words, one a line"
        )
    files = [options.tokenizer, *([options.target_tokenizer] if options.target_tokenizer else [])]
    if not outer.is_joint and len(files) == 1:
        files *= 2
    if outer.is_joint and len(files) == 2:
        raise ConvertError("one table embeds both languages, and there are two vocabularies; expected --tokenizer alone")
    vocabularies, orders = [], []
    for file, name in zip(files, (outer.source, outer.target), strict=False):
        size = len(outer.tensors[name])
        each = vocabulary.read_vocabulary(file, size)
        places = vocabulary.control_rows(each.tokens, options.controls)
        vocabularies.append(each)
        orders.append(vocabulary.order_rows(size, places["pad"], places["start"], places["end"]))
    return vocabularies, tuple(orders)


def _config(
    inner: dict[str, Tensor], outer: EmbeddingsAndHead, settings: dict[str, Any], rows: tuple[RowOrder, ...]
) -> ModelConfig:
    layers = {(match[1], int(match[2])) for name in inner if (match := _LAYERS.match(name))}
    norms = [f"{stack}.norm.weight" in inner for stack in ("encoder", "decoder")]
    if norms[0] != norms[1]:
        raise ConvertError(f"the {'encoder' if norms[0] else 'decoder'} alone has a norm at its end; expected both, or none")
    scheme = outer.scheme(settings)
    known = {name: value for name, value in settings.items() if name not in ("positions", "max_positions")}
    try:
        return ModelConfig(
            source_vocab=len(rows[0]),
            target_vocab=len(rows[-1]),
            joint_vocab=outer.is_joint,
            tied_output=outer.is_tied,
            d_model=outer.width,
            encoder_layers=sum(stack == "encoder" for stack, _ in layers),
            decoder_layers=sum(stack == "decoder" for stack, _ in layers),
            d_ff=len(inner["encoder.layers.0.linear1.weight"]),
            positions=scheme,
            max_positions=_position_count(outer, scheme, settings),
            final_norm=norms[0],
            dropout=0.0,
            output_bias=outer.bias is not None or bool(rows[-1].silent),
            **known,
        )
    except ValueError as fault:
        raise ConvertError(str(fault)) from None


def _position_count(outer: EmbeddingsAndHead, scheme: str, settings: dict[str, Any]) -> Any:
    """Returns the number of positions: the given one, or that of the table."""
    table = next(iter(outer.positions.values()), None)
    count = settings.get("max_positions", 512 if table is None else len(table))
    if table is not None and scheme == "learned" and count != len(table):
        raise ConvertError(
            f"max_positions is {short_repr(count)}; expected {len(table)}, the rows of the table of positions"
        )
    return count


def _stacks(inner: dict[str, Tensor], config: ModelConfig) -> dict[str, Tensor]:
    """Returns all layers and final norms under this program's names."""
    tensors: dict[str, Tensor] = {}
    for stack, parts in (("encoder", ("self",)), ("decoder", ("self", "cross"))):
        for n in range(getattr(config, f"{stack}_layers")):
            for name, tensor in _layer(inner, f"{stack}.layers.{n}.", parts):
                tensors[f"{stack}.{n}.{name}"] = tensor
        if config.final_norm:
            tensors |= {f"{stack}_norm.{name}": each for name, each in _norm(inner, f"{stack}.norm")}
    return tensors


def _layer(inner: dict[str, Tensor], place: str, parts: tuple[str, ...]) -> Iterator[tuple[str, Tensor]]:
    for part in parts:
        theirs = place + {"self": "self_attn", "cross": "multihead_attn"}[part]
        weight, bias = (_split_stacked(inner, theirs, what) for what in ("weight", "bias"))
        for name, w, b in zip(("query", "key", "value"), weight, bias, strict=True):
            yield f"{part}_attention.{name}.weight", w
            yield f"{part}_attention.{name}.bias", b
        yield from ((f"{part}_attention.output.{name}", each) for name, each in _linear(inner, f"{theirs}.out_proj"))
    for ours, theirs in (("inner", "linear1"), ("outer", "linear2")):
        yield from ((f"feed_forward.{ours}.{name}", each) for name, each in _linear(inner, place + theirs))
    for number in range(len(parts) + 1):
        yield from ((f"residuals.{number}.norm.{name}", each) for name, each in _norm(inner, f"{place}norm{number + 1}"))


def _split_stacked(inner: dict[str, Tensor], name: str, what: str) -> tuple[Tensor, ...]:
    """Returns the parts of queries, keys and values of `torch.nn.MultiheadAttention`; zeros for absent biases."""
    if what == "bias" and f"{name}.in_proj_bias" not in inner:
        return (torch.zeros(inner[f"{name}.in_proj_weight"].size(1)),) * 3
    return _required_tensor(inner, f"{name}.in_proj_{what}").chunk(3)


def _linear(inner: dict[str, Tensor], name: str) -> tuple[tuple[str, Tensor], ...]:
    weight = _required_tensor(inner, f"{name}.weight")
    return ("weight", weight), ("bias", inner.get(f"{name}.bias", torch.zeros(len(weight))))


_norm = _linear


def _required_tensor(inner: dict[str, Tensor], name: str) -> Tensor:
    if name not in inner:
        raise ConvertError(f"{name!r} is missing; expected the tensors of a torch.nn.Transformer")
    return inner[name]
