"""A small Marian model in Hugging Face's format, with outputs of `transformers` in marian.npz.

`python -m tests.support.marian write` records them again if transformers and sentencepiece are installed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.support import tiny

FILE = Path(__file__).with_name("marian.npz")
TEXTS = ("The red fox sees a lamp.", "The  king 🦉🦉 takes l'été ﬁn.", "boat  x>y lamp", "An old lamp.")
TARGET = ("Lo varun mira.", "una nefa")
LIMIT = 12
SIZES = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 2}
SIZES |= {f"{side}_{name}": n for side in ("encoder", "decoder") for name, n in (("attention_heads", 4), ("ffn_dim", 24))}


def make(folder: Path, rule: str = "nmt_nfkc", seed: int = 0, **changes: Any) -> None:
    """Writes the folder of an untrained model whose vocabulary lacks some of its pieces, with both packages."""
    import sentencepiece
    from transformers import MarianConfig, MarianMTModel

    ids = {"</s>": 0, "<unk>": 1}
    for side, texts in (("source", [p[0] for p in tiny.PAIRS]), ("target", [p[1] for p in tiny.PAIRS])):
        train(folder / f"{side}.spm", texts, rule)
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
        for n in range(3, pieces.get_piece_size()):
            if n % 17 != 5:
                ids.setdefault(pieces.id_to_piece(n), len(ids))
    ids["<pad>"] = len(ids)
    (folder / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    torch.manual_seed(seed)
    last = len(ids) - 1
    special = {"pad_token_id": last, "decoder_start_token_id": last, "eos_token_id": 0, "forced_eos_token_id": None}
    config = MarianConfig(
        vocab_size=len(ids), activation_function="swish", scale_embedding=True, init_std=0.3, **SIZES, **special, **changes
    )
    model = MarianMTModel(config).eval()
    with torch.no_grad():
        model.final_logits_bias.normal_()[0, 0] -= 3  # a sentence that ends at once would tell little
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    (folder / "tokenizer_config.json").write_text('{"source_lang": "en", "target_lang": "deu"}', encoding="utf-8")


def train(file: Path, texts: list[str], rule: str = "nmt_nfkc", **more: Any) -> None:
    """Learns the pieces of some texts."""
    import sentencepiece

    prefix = str(file.with_suffix(""))
    options = {"vocab_size": 90, "hard_vocab_limit": False, "normalization_rule_name": rule, "minloglevel": 2} | more
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts * 3), model_prefix=prefix, num_threads=1, **options
    )
    Path(f"{prefix}.vocab").unlink()
    Path(f"{prefix}.model").rename(file)


def peer(folder: Path) -> dict[str, np.ndarray]:
    """Returns outputs of transformers: ids; for the first two texts with a target logits, attentions, greedy and beam."""
    from transformers import MarianMTModel, MarianTokenizer

    model = MarianMTModel.from_pretrained(str(folder), attn_implementation="eager").eval()
    tokenizer = MarianTokenizer.from_pretrained(str(folder))
    found = {f"ids {n}": np.array(tokenizer(text).input_ids) for n, text in enumerate(TEXTS)}
    for n, target in enumerate(TARGET):
        source = torch.tensor(found[f"ids {n}"])[None]
        outputs = tokenizer(text_target=target).input_ids
        inputs = torch.tensor([[model.config.decoder_start_token_id, *outputs[:-1]]])
        with torch.no_grad():
            done = model(input_ids=source, decoder_input_ids=inputs, output_attentions=True)
        found |= {f"outputs {n}": np.array(outputs), f"logits {n}": done.logits[0].numpy()}
        for kind, maps in (("encoder", "encoder"), ("decoder", "decoder"), ("cross", "cross")):
            for layer, each in enumerate(getattr(done, f"{maps}_attentions")):
                found[f"{kind} {layer} {n}"] = each[0].numpy()
        for width in (1, 3):
            ids = model.generate(source, num_beams=width, length_penalty=0.0, max_new_tokens=LIMIT, do_sample=False)
            found[f"beam {width} {n}"] = np.array(ids[0].tolist()[1:])
    return found


def write() -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, "identity")
        kept = {f"file {f.name}": np.frombuffer(f.read_bytes(), np.uint8) for f in folder.iterdir() if f.suffix != ".npz"}
        np.savez_compressed(FILE, **kept, **peer(folder))


def unpack(folder: Path) -> dict[str, np.ndarray]:
    """Writes the recorded folder; returns what was recorded of it."""
    with np.load(FILE) as recorded:
        for name in recorded.files:
            if name.startswith("file "):
                (folder / name.removeprefix("file ")).write_bytes(recorded[name].tobytes())
        return {name: recorded[name] for name in recorded.files if not name.startswith("file ")}


if __name__ == "__main__" and sys.argv[1:] == ["write"]:
    write()
