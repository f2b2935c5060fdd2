"""GPT-2 models in the format of Hugging Face (Radford et al. 2019).

Pre-norm with a final norm, learned positions, the activation of config.json (mostly the tanh formula of GELU). Mostly one
table serves embedding and output. The only control token, <|endoftext|>, separates texts: it becomes both `<s>` and `</s>`,
and every text begins with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from ...config import ModelConfig
from ...io.files import shown
from . import conversion, hugging_face
from .conversion import ConversionOptions, ConvertedModel, ConvertError
from .hugging_face import StateDictReader, entry
from .row_order import RowOrder, control_notes, order_rows

SUPPORTED = {  # settings that the format supports with these values only
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "reorder_and_upcast_attn": False,
    "add_cross_attention": False,
}
_PARTS = {  # names in the files and here; Conv1D stores its matrix transposed
    "attn.c_proj": "self_attention.output",
    "mlp.c_fc": "feed_forward.inner",
    "mlp.c_proj": "feed_forward.outer",
}
_NORMS = {"ln_1": "residuals.0.norm", "ln_2": "residuals.1.norm"}
_NOTE = "Every text begins with `<s>`, the token that ends a text in the files"


def convert(folder: Path, options: ConversionOptions) -> ConvertedModel:
    """Converts a folder with config.json, weights, and a tokenizer.json or vocab.json with merges.txt.

    Raises ConvertError that names the missing part, or the part that the format cannot hold.
    """
    values = hugging_face.read_config(folder)
    file = conversion.find_weights(folder)
    state = StateDictReader(file, _drop_masks(conversion.read_state_dict(file)))
    table = state.take("wte.weight")
    order = _rows(values, len(table))
    output = state.take("lm_head.weight", None)
    tied = output is None or output.equal(table)
    config = _config(values, len(order), tied)
    tensors = {
        "target_embedding.table.weight": order.reorder(table),
        "target_embedding.positional.table.weight": state.take("wpe.weight"),
        "projection.weight": order.reorder(table if output is None else output),
        "projection.bias": order.reorder_bias(None),
        "decoder_norm.weight": state.take("ln_f.weight"),
        "decoder_norm.bias": state.take("ln_f.bias"),
    }
    for n in range(config.decoder_layers):
        tensors |= {f"decoder.{n}.{name}": each for name, each in _layer(state, f"h.{n}.").items()}
    state.check_all_used()
    vocabulary = hugging_face.read_vocabulary(folder, len(table), options, hugging_face.byte_level)
    tokenizer = vocabulary.tokenizer(order)
    notes = (*control_notes([order], [vocabulary.tokens]), _NOTE)
    return ConvertedModel(config, tensors, tokenizer, tokenizer, options.languages or ("Text", "Continuation"), notes)


def _drop_masks(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Removes the prefix of models with a head, and the stored masks."""
    renamed = {name.removeprefix("transformer."): each for name, each in state.items()}
    return {name: each for name, each in renamed.items() if not name.endswith((".attn.bias", ".attn.masked_bias"))}


def _rows(values: dict[str, Any], size: int) -> RowOrder:
    """Orders the rows: one token begins and ends a text. `<pad>` shares its row and is silenced by a bias."""
    end = entry(values, "eos_token_id", int)
    if not 0 <= end < size:
        raise ConvertError(f"config.json: 'eos_token_id' is {end}; expected 0 to {size - 1}, a row of the embedding")
    return order_rows(size, end, end, end)


def _config(values: dict[str, Any], size: int, tied: bool) -> ModelConfig:
    for name, plain in SUPPORTED.items():
        if values.get(name, plain) is not plain:
            raise ConvertError(f"config.json: {name!r} is {shown(values[name])}; expected {str(plain).lower()}")
    width, inner = entry(values, "n_embd", int), values.get("n_inner")
    return hugging_face.build_config(
        source_vocab=size,
        target_vocab=size,
        family="decoder-only",
        encoder_layers=0,
        decoder_layers=entry(values, "n_layer", int),
        d_model=width,
        heads=entry(values, "n_head", int),
        d_ff=4 * width if inner is None else entry(values, "n_inner", int),
        positions="learned",
        max_positions=values.get("n_positions", values.get("n_ctx")),
        activation=hugging_face.activation(values, "activation_function"),
        norm_eps=values.get("layer_norm_epsilon", 1e-5),
        tied_output=tied,
        dropout=0.0,
        embedding_scale=False,
        output_bias=True,
    )


def _layer(state: StateDictReader, place: str) -> dict[str, Tensor]:
    tensors = {}
    for name, weight, bias in zip(
        ("query", "key", "value"),
        state.take(f"{place}attn.c_attn.weight").chunk(3, dim=1),
        state.take(f"{place}attn.c_attn.bias").chunk(3),
        strict=True,
    ):
        tensors |= {f"self_attention.{name}.weight": weight.T.contiguous(), f"self_attention.{name}.bias": bias}
    for theirs, ours in _PARTS.items():
        tensors[f"{ours}.weight"] = state.take(f"{place}{theirs}.weight").T.contiguous()
        tensors[f"{ours}.bias"] = state.take(f"{place}{theirs}.bias")
    for theirs, ours in _NORMS.items():
        tensors |= {f"{ours}.{what}": state.take(f"{place}{theirs}.{what}") for what in ("weight", "bias")}
    return tensors
