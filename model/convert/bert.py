"""BERT models in Hugging Face's form (Devlin et al. 2019): a sentence is read at once, and blanks in it are filled in.

Post-norm without a norm at the end, learned positions, a norm after the embeddings, and before the output a linear layer
with activation and norm. One sentence is read at a time, all of it of the first of BERT's segments, whose vector is added
to each position here. [CLS] is `<s>`, [SEP] is `</s>`, [PAD] is `<pad>`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from model.config import ModelConfig
from model.convert import hugging_face, hugging_face_vocabulary, weights
from model.convert.hugging_face import Taken, entry
from model.convert.parts import Converted, ConvertError, Options
from model.convert.rows import controls, rows
from model.files import shown

_LAYER = {  # theirs and ours
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
_IGNORED = ("bert.pooler.", "cls.seq_relationship.")  # they say of two sentences whether one follows the other
_NOTES = (
    "Post-norm, learned positions, a norm after the embeddings and a transform before the output, as BERT has them",
    "Every sentence is read as BERT’s first segment: its vector is added to each position",
    "The pooler and the next-sentence head, where the files had them, are left out",
)


def convert(folder: Path, options: Options) -> Converted:
    """A folder with config.json, weights with a language-model head, and a tokenizer.json or vocab.txt.

    Raises ConvertError that names what is missing, or what the format cannot hold.
    """
    values = hugging_face.read_config(folder)
    file = weights.find(folder)
    state = Taken(file, _plain(weights.read(file)))
    if state.take(f"{_HEAD}.transform.dense.weight", None) is None:
        raise ConvertError(
            f"{file} has no language-model head (cls.predictions): it says nothing of its tokens. Expected the weights of a "
            "BertForMaskedLM or BertForPreTraining"
        )
    table = state.take("bert.embeddings.word_embeddings.weight")
    found = hugging_face_vocabulary.read(folder, len(table), options, hugging_face_vocabulary.word_pieces)
    known = controls(found.tokens, options.controls)
    order = rows(len(table), known["pad"], known["start"], known["end"])
    output = state.take(f"{_HEAD}.decoder.weight", None)
    bias = state.take(f"{_HEAD}.bias", None)
    twin = state.take(f"{_HEAD}.decoder.bias", None)  # the same number twice in newer files
    config = _config(values, len(order), tied=output is None or output.equal(table))
    made = {
        "source_embedding.table.weight": order.of(table),
        "source_embedding.positional.table.weight": _positions(state),
        "projection.weight": order.of(table if output is None else output),
        "projection.bias": order.bias(bias if bias is not None else twin),
    }
    if made["projection.bias"] is None:
        made["projection.bias"] = table.new_zeros(len(order))
    made |= _both(state, "bert.embeddings.LayerNorm", "source_embedding.norm")
    made |= _both(state, f"{_HEAD}.transform.dense", "transform.dense")
    made |= _both(state, f"{_HEAD}.transform.LayerNorm", "transform.norm")
    for n in range(config.encoder_layers):
        for theirs, ours in _LAYER.items():
            made |= _both(state, f"bert.encoder.layer.{n}.{theirs}", f"encoder.{n}.{ours}")
    state.check_all_taken()
    tokenizer = found.tokenizer(order)
    return Converted(config, made, tokenizer, tokenizer, options.languages or ("Text", "Text"), _NOTES)


def _plain(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """With the names that norms have today, and without the heads that judge two sentences."""
    found = {
        name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias"): each
        for name, each in state.items()
    }
    return {name: each for name, each in found.items() if not name.startswith(_IGNORED) and "position_ids" not in name}


def _positions(state: Taken) -> Tensor:
    """The learned positions [P,D], with the vector of the first segment in each."""
    positions = state.take("bert.embeddings.position_embeddings.weight")
    segments = state.take("bert.embeddings.token_type_embeddings.weight", None)
    return positions if segments is None else positions + segments[0]


def _both(state: Taken, theirs: str, ours: str) -> dict[str, Tensor]:
    return {f"{ours}.{what}": state.take(f"{theirs}.{what}") for what in ("weight", "bias")}


def _config(values: dict[str, Any], size: int, tied: bool) -> ModelConfig:
    kind = values.get("position_embedding_type", "absolute")
    if kind != "absolute":
        raise ConvertError(f"config.json: 'position_embedding_type' is {shown(kind)}; expected 'absolute'")
    if values.get("is_decoder"):
        raise ConvertError("config.json: 'is_decoder' is true; expected false, a BERT that reads")
    return hugging_face.made_config(
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
    )
