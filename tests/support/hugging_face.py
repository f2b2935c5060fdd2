"""Small random BERT and GPT-2 models in Hugging Face's format, with recorded outputs of `transformers`.

`python -m tests.support.hugging_face` records them again if `transformers` is installed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

RECORDED = Path(__file__).parent / "hugging_face.npz"
WORDS = ("the", "red", "fox", "sees", "lamp", "old", "king", "paint", "boat", ".")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
PIECES = ("[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, *(f"##{c}" for c in LETTERS), *WORDS)
MERGES = (("t", "h"), ("th", "e"), ("Ġ", "r"), ("Ġr", "e"), ("Ġre", "d"), ("Ġ", "f"), ("o", "x"))
END = "<|endoftext|>"
TEXTS = {"bert": "The red fox ___ a lamp.", "gpt2": "the red fox"}
BERT = {"model_type": "bert", "vocab_size": len(PIECES), "hidden_size": 32, "num_hidden_layers": 2}
BERT |= {"num_attention_heads": 4, "intermediate_size": 48, "hidden_act": "gelu", "max_position_embeddings": 40}
BERT |= {"type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0}
GPT2 = {"model_type": "gpt2", "vocab_size": 0, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_inner": None}
GPT2 |= {"n_positions": 160, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}


def byte_vocabulary() -> dict[str, int]:
    """All bytes, the merges, and the only control token at the end, as GPT-2 has it."""
    from model.text.tokenizer import byte_of

    tokens = [*sorted(byte_of()), *("".join(pair) for pair in MERGES), END]
    return {token: n for n, token in enumerate(tokens)}


def _bert_shapes() -> dict[str, tuple[int, ...]]:
    d, f, v = BERT["hidden_size"], BERT["intermediate_size"], BERT["vocab_size"]
    shapes: dict[str, tuple[int, ...]] = {
        "bert.embeddings.word_embeddings.weight": (v, d),
        "bert.embeddings.position_embeddings.weight": (BERT["max_position_embeddings"], d),
        "bert.embeddings.token_type_embeddings.weight": (2, d),
        "cls.predictions.bias": (v,),
        "cls.predictions.transform.dense.weight": (d, d),
        "cls.predictions.transform.dense.bias": (d,),
    }
    norms = ["bert.embeddings.LayerNorm", "cls.predictions.transform.LayerNorm"]
    for n in range(BERT["num_hidden_layers"]):
        place = f"bert.encoder.layer.{n}."
        for name, size in {
            "attention.self.query": (d, d),
            "attention.self.key": (d, d),
            "attention.self.value": (d, d),
            "attention.output.dense": (d, d),
            "intermediate.dense": (f, d),
            "output.dense": (d, f),
        }.items():
            shapes |= {f"{place}{name}.weight": size, f"{place}{name}.bias": size[:1]}
        norms += [f"{place}attention.output.LayerNorm", f"{place}output.LayerNorm"]
    return shapes | {f"{norm}.{what}": (d,) for norm in norms for what in ("weight", "bias")}


def _gpt2_shapes() -> dict[str, tuple[int, ...]]:
    d, v = GPT2["n_embd"], len(byte_vocabulary())
    shapes: dict[str, tuple[int, ...]] = {
        "transformer.wte.weight": (v, d),
        "transformer.wpe.weight": (GPT2["n_positions"], d),
        "transformer.ln_f.weight": (d,),
        "transformer.ln_f.bias": (d,),
    }
    for n in range(GPT2["n_layer"]):
        place = f"transformer.h.{n}."
        for name, size in {"attn.c_attn": 3 * d, "attn.c_proj": d, "mlp.c_fc": 4 * d}.items():
            shapes |= {f"{place}{name}.weight": (d, size), f"{place}{name}.bias": (size,)}
        shapes |= {f"{place}mlp.c_proj.weight": (4 * d, d), f"{place}mlp.c_proj.bias": (d,)}
        shapes |= {f"{place}{norm}.{what}": (d,) for norm in ("ln_1", "ln_2") for what in ("weight", "bias")}
    return shapes


def make_weights(kind: str) -> dict[str, torch.Tensor]:
    """Returns weights that are equal in every version of every library."""
    shapes, random = {"bert": _bert_shapes, "gpt2": _gpt2_shapes}[kind](), np.random.RandomState(7)
    weights = {}
    for name, shape in sorted(shapes.items()):
        values = 0.4 * random.standard_normal(shape)
        is_norm = any(part in name for part in ("LayerNorm.weight", "ln_1.weight", "ln_2.weight", "ln_f.weight"))
        weights[name] = torch.from_numpy((values + is_norm).astype(np.float32))
    return weights


def config(kind: str) -> dict[str, Any]:
    """Returns the values of config.json."""
    if kind == "bert":
        return dict(BERT)
    last = len(byte_vocabulary())
    return GPT2 | {"vocab_size": last, "eos_token_id": last - 1, "bos_token_id": last - 1}


def save(kind: str, folder: Path) -> Path:
    """Writes the folder of a model, as it is downloaded."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config(kind)), encoding="utf-8")
    save_file(make_weights(kind), folder / "model.safetensors")
    if kind == "bert":
        (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in PIECES), encoding="utf-8")
    else:
        (folder / "vocab.json").write_text(json.dumps(byte_vocabulary()), encoding="utf-8")
        merges = "".join(f"{one} {other}\n" for one, other in MERGES)
        (folder / "merges.txt").write_text(f"#version: 0.2\n{merges}", encoding="utf-8")
    return folder


def ids(kind: str) -> list[int]:
    """The text in the model's own ids, with what its tokenizer adds; GPT-2 begins with its only control token."""
    known = {piece: n for n, piece in enumerate(PIECES)}
    if kind == "bert":
        words = ("[CLS]", "the", "red", "fox", "[MASK]", "a", "lamp", ".", "[SEP]")
        return [known[word] for word in words]
    known = byte_vocabulary()
    return [known[token] for token in (END, "the", "Ġred", "Ġf", "ox")]


@torch.inference_mode()
def of_transformers(kind: str) -> dict[str, np.ndarray]:
    """Returns logits [T,V] and attentions [L,H,T,T] of `transformers` itself."""
    import transformers

    values = {name: value for name, value in config(kind).items() if name != "model_type"}
    names = {"bert": ("BertConfig", "BertForMaskedLM"), "gpt2": ("GPT2Config", "GPT2LMHeadModel")}[kind]
    settings = getattr(transformers, names[0])(**values, attn_implementation="eager")
    model = getattr(transformers, names[1])(settings).eval()
    missing, unexpected = model.load_state_dict(make_weights(kind), strict=False)
    assert not unexpected and all("decoder" in name or "lm_head" in name or "position_ids" in name for name in missing)
    model.tie_weights()
    if kind == "bert":
        model.cls.predictions.decoder.bias = model.cls.predictions.bias
    output = model(torch.tensor([ids(kind)]), output_attentions=True)
    return {"logits": output.logits[0].numpy(), "attentions": torch.cat(output.attentions).numpy()}


def recorded(kind: str) -> dict[str, np.ndarray]:
    """Returns the recorded logits and attentions."""
    with np.load(RECORDED) as arrays:
        return {name: arrays[f"{kind}.{name}"] for name in ("logits", "attentions")}


if __name__ == "__main__":
    np.savez_compressed(
        RECORDED, **{f"{kind}.{name}": each for kind in TEXTS for name, each in of_transformers(kind).items()}
    )
