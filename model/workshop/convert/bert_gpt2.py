"""BERT and GPT-2 models in the format of Hugging Face.

BERT (Devlin et al. 2019): post-norm without a final norm, learned positions, a norm after the embeddings. The output has a
linear layer with activation and norm. [CLS] is `<s>`, [SEP] is `</s>`, [PAD] is `<pad>`. Tokens up to the first `</s>`
belong to BERT's first segment, later ones to the second. The pooler and the next-sentence head are converted where the files
have them.

GPT-2 (Radford et al. 2019): pre-norm with a final norm, learned positions, the activation of config.json (mostly the tanh
formula of GELU). Mostly one table serves embedding and output. The only control token, <|endoftext|>, separates texts: it
becomes both `<s>` and `</s>`, and every text begins with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from ...config import ModelConfig
from ...io.files import short_repr
from . import conversion, hugging_face
from .conversion import ConversionOptions, ConvertedModel, ConvertError
from .hugging_face import StateDictReader, entry
from .vocabulary import RowOrder, control_notes, control_rows, order_rows

_LAYER = {  # names in the files and here
    "attention.self.query": "self_attention.query",
    "attention.self.key": "self_attention.key",
    "attention.self.value": "self_attention.value",
    "attention.output.dense": "self_attention.output",
    "attention.output.LayerNorm": "residuals.0.norm",
    "intermediate.dense": "feed_forward.inner",
    "output.dense": "feed_forward.outer",
    "output.LayerNorm": "residuals.1.norm",
}
_HEAD = "cls.predictions"
_POOLER, _FOLLOWS = "bert.pooler.dense", "cls.seq_relationship"  # they predict whether a sentence follows another
_HEAD_NOTES = {  # whether the files have a pooler, and a next-sentence head
    (True, True): "The pooler and the next-sentence head are those of the files",
    (True, False): "The pooler is that of the files, which have no next-sentence head",
    (False, True): "The files have a next-sentence head without the pooler that it reads: it is left out",
    (False, False): "The files have neither a pooler nor a next-sentence head",
}


def convert_bert(folder: Path, options: ConversionOptions) -> ConvertedModel:
    """Converts a folder with config.json, weights with a language-model head, and a tokenizer.json or vocab.txt.

    Raises ConvertError that names the missing part, or the part that the format cannot hold.
    """
    values = hugging_face.read_config(folder)
    file = conversion.find_weights(folder)
    read = conversion.read_state_dict(file)
    state = StateDictReader(file, _normalize_names(read))
    if state.take(f"{_HEAD}.transform.dense.weight", None) is None:
        raise ConvertError(
            f"{file} has no language-model head (cls.predictions); expected the weights of a "
            "BertForMaskedLM or BertForPreTraining"
        )
    table = state.take("bert.embeddings.word_embeddings.weight")
    vocabulary = hugging_face.read_vocabulary(folder, len(table), options, hugging_face.word_pieces)
    special_rows = control_rows(vocabulary.tokens, options.controls)
    order = order_rows(len(table), special_rows["pad"], special_rows["start"], special_rows["end"])
    output = state.take(f"{_HEAD}.decoder.weight", None)
    bias = state.take(f"{_HEAD}.bias", None)
    twin = state.take(f"{_HEAD}.decoder.bias", None)  # the same number twice in newer files
    positions, segments, segment_note = _positions(state)
    judges = state.has(f"{_POOLER}.weight"), state.has(f"{_POOLER}.weight") and state.has(f"{_FOLLOWS}.weight")
    config = _bert_config(values, len(order), output is None or output.equal(table), segments, *judges)
    tensors = {
        "source_embedding.table.weight": order.reorder(table),
        "source_embedding.positional.table.weight": positions,
        "projection.weight": order.reorder(table if output is None else output),
        "projection.bias": order.reorder_bias(bias if bias is not None else twin),
    }
    if tensors["projection.bias"] is None:
        tensors["projection.bias"] = table.new_zeros(len(order))
    tensors |= _weight_and_bias(state, "bert.embeddings.LayerNorm", "source_embedding.norm")
    tensors |= _weight_and_bias(state, f"{_HEAD}.transform.dense", "transform.dense")
    tensors |= _weight_and_bias(state, f"{_HEAD}.transform.LayerNorm", "transform.norm")
    if segments is not None:
        tensors["source_embedding.segments.weight"] = segments
    for theirs, ours, there in ((_POOLER, "pooler.dense", config.pooler), (_FOLLOWS, "follows", config.follows)):
        tensors |= _weight_and_bias(state, theirs, ours) if there else {}
    for n in range(config.encoder_layers):
        for theirs, ours in _LAYER.items():
            tensors |= _weight_and_bias(state, f"bert.encoder.layer.{n}.{theirs}", f"encoder.{n}.{ours}")
    state.check_all_used()
    tokenizer = vocabulary.tokenizer(order)
    notes = (
        *control_notes([order], [vocabulary.tokens]),
        segment_note,
        _HEAD_NOTES[config.pooler, f"{_FOLLOWS}.weight" in read],
    )
    return ConvertedModel(config, tensors, tokenizer, tokenizer, options.languages or ("Text", "Text"), notes)


def _normalize_names(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Renames norms of older files. Drops the numbers of positions, and a next-sentence head without a pooler."""
    renamed = {
        name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias"): each
        for name, each in state.items()
    }
    lone = () if f"{_POOLER}.weight" in renamed else (_FOLLOWS,)
    return {name: each for name, each in renamed.items() if not name.startswith(lone) and "position_ids" not in name}


def _positions(state: StateDictReader) -> tuple[Tensor, Tensor | None, str]:
    """Returns the learned positions [P,D], the segments [2,D] and a note on them.

    Without two segments, the first is added to each position.
    """
    positions = state.take("bert.embeddings.position_embeddings.weight")
    segments = state.take("bert.embeddings.token_type_embeddings.weight", None)
    if segments is None:
        return positions, None, "The files have no table of segments"
    if len(segments) == 2:
        return positions, segments, "A sentence is read as BERT’s first segment, what follows its </s> as the second"
    note = "It has one segment for all" if len(segments) == 1 else f"Of its {len(segments)} segments only the first is read"
    return positions + segments[0], None, f"{note}: its vector is added to each position"


def _weight_and_bias(state: StateDictReader, theirs: str, ours: str) -> dict[str, Tensor]:
    return {f"{ours}.{what}": state.take(f"{theirs}.{what}") for what in ("weight", "bias")}


def _bert_config(
    values: dict[str, Any], size: int, tied: bool, segments: Tensor | None, pooler: bool, follows: bool
) -> ModelConfig:
    kind = values.get("position_embedding_type", "absolute")
    if kind != "absolute":
        raise ConvertError(f"config.json: 'position_embedding_type' is {short_repr(kind)}; expected 'absolute'")
    if values.get("is_decoder"):
        raise ConvertError("config.json: 'is_decoder' is true; expected false, a BERT that reads")
    return hugging_face.build_config(
        source_vocab=size,
        target_vocab=size,
        family="encoder-only",
        encoder_layers=entry(values, "num_hidden_layers", int),
        decoder_layers=0,
        d_model=entry(values, "hidden_size", int),
        heads=entry(values, "num_attention_heads", int),
        d_ff=entry(values, "intermediate_size", int),
        positions="learned",
        max_positions=entry(values, "max_position_embeddings", int),
        activation=hugging_face.activation(values, "hidden_act"),
        norm_first=False,
        final_norm=False,
        norm_eps=values.get("layer_norm_eps", 1e-12),
        tied_output=tied,
        dropout=0.0,
        embedding_scale=False,
        output_bias=True,
        embedding_norm=True,
        output_transform=True,
        source_start=True,
        segments=0 if segments is None else 2,
        pooler=pooler,
        follows=follows,
    )


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


def convert_gpt2(folder: Path, options: ConversionOptions) -> ConvertedModel:
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
    config = _gpt2_config(values, len(order), tied)
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


def _gpt2_config(values: dict[str, Any], size: int, tied: bool) -> ModelConfig:
    for name, plain in SUPPORTED.items():
        if values.get(name, plain) is not plain:
            raise ConvertError(f"config.json: {name!r} is {short_repr(values[name])}; expected {str(plain).lower()}")
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
