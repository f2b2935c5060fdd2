"""State dicts of torch.nn.Transformer: what was brought in computes what the module computes."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from model import checkpoint as checkpoints
from model.__main__ import main
from model.config import END, PAD, START
from model.network.context import teacher_forced_states
from model.network.positions import sinusoidal
from model.workshop.convert.conversion import ConversionOptions, ConvertError
from model.workshop.convert.registry import convert, read_model

WORDS = ["<unk>", "<pad>", "<bos>", "<eos>", *(f"w{n}" for n in range(16))]
OTHERS = [*WORDS, "one", "two"]
INSIDE = "transformer.decoder.layers.0.self_attn"
TOLD = {"heads": 4, "norm_first": False, "activation": "relu", "embedding_scale": True}
pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")


class Translator(nn.Module):
    """As tutorials build one."""

    def __init__(self, tied: bool = False, learned: bool = False, **options: Any) -> None:
        super().__init__()
        self.transformer = nn.Transformer(16, 4, 2, 3, 24, 0.0, batch_first=True, **options)
        self.src_tok_emb, self.tgt_tok_emb = nn.Embedding(len(WORDS), 16), nn.Embedding(len(OTHERS), 16)
        self.generator = nn.Linear(16, len(OTHERS), bias=not tied)
        if tied:
            self.generator.weight = self.tgt_tok_emb.weight
        table = torch.randn(40, 16) if learned else sinusoidal(torch.arange(40), 16)
        self.register_buffer("pos_embedding", table[None])
        for parameter in self.parameters():
            if parameter.dim() == 1:
                nn.init.normal_(parameter, std=0.3)

    def forward(self, source: Tensor, target: Tensor, scale: float) -> Tensor:
        x, y = self.src_tok_emb(source) * scale, self.tgt_tok_emb(target) * scale
        x, y = (each + self.pos_embedding[:, : each.size(1)] for each in (x, y))
        mask = nn.Transformer.generate_square_subsequent_mask(target.size(1))
        return self.generator(self.transformer(x, y, tgt_mask=mask))


def options(folder: Path, **changes: Any) -> ConversionOptions:
    """Vocabularies as lists of words, and what is told."""
    (folder / "src.txt").write_text("\n".join(WORDS), encoding="utf-8")
    (folder / "tgt.txt").write_text("\n".join(OTHERS) + "\n", encoding="utf-8")
    return ConversionOptions(folder / "src.txt", folder / "tgt.txt", fields=TOLD | changes)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, {}),
        ({"norm_first": True, "activation": "gelu"}, {"norm_first": True, "activation": "gelu"}),
        ({"tied": True, "bias": False}, {"embedding_scale": False}),
        ({"learned": True, "layer_norm_eps": 1e-3}, {"norm_eps": 1e-3}),
    ],
    ids=str,
)
def test_it_computes_what_the_module_computes(tmp_path, changes, told):
    torch.manual_seed(0)
    module = Translator(**changes).eval()
    torch.save({"epoch": 3, "model_state_dict": module.state_dict()}, tmp_path / "best.pt")
    loaded = checkpoints.load(str(convert(tmp_path / "best.pt", tmp_path / "made", options=options(tmp_path, **told))))
    source, outputs = ([int(w[1:]) for w in text.split()] for text in ("w3 w7 w0 w15", "w4 w4 w9"))
    mine = [*loaded.source_tokenizer.encode("w3 w7 w0 w15"), END], [*loaded.target_tokenizer.encode("w4 w4 w9"), END]
    theirs = [*(n + 4 for n in source), 3], [2, *(n + 4 for n in outputs)]
    scale = math.sqrt(16) if told.get("embedding_scale", True) else 1.0
    with torch.no_grad():
        expected = module(torch.tensor([theirs[0]]), torch.tensor([theirs[1]]), scale)[0]
    found = loaded.model.project(teacher_forced_states(loaded.model, *(torch.tensor([ids]) for ids in mine)))[0]
    order = [1, 2, 3, 0, *range(4, len(OTHERS))]  # <pad>, <s>, </s> come first
    torch.testing.assert_close(found, expected[:, order], atol=1e-5, rtol=1e-5)
    assert loaded.config.positions == ("learned" if changes.get("learned") else "sinusoidal")
    assert (loaded.config.tied_output, loaded.config.output_bias) == (bool(changes.get("tied")), not changes.get("tied"))
    assert loaded.target_tokenizer.decode(mine[1]) == "w4 w4 w9"
    assert loaded.source_tokenizer.encode("<pad> </s> w3") == [3, 3, 3, 3, 3, 3, 7]  # typed ones are words like others


def test_command_line_reads_a_self_describing_folder(tmp_path, capsys):
    module = Translator()
    (tmp_path / "mine").mkdir()
    save_file(module.state_dict(), tmp_path / "mine" / "weights.safetensors")
    (tmp_path / "mine" / "config.json").write_text(json.dumps(TOLD), encoding="utf-8")
    asked = options(tmp_path)
    files = ["--tokenizer", str(asked.tokenizer), "--target-tokenizer", str(asked.target_tokenizer)]
    line = ["convert", str(tmp_path / "mine"), "--to", str(tmp_path), "--name", "Mine", *files]
    line += ["--languages", "Latin", "Greek"]
    assert main(line) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'Mine'}\n"
    assert checkpoints.load(str(tmp_path / "Mine")).languages == ("Latin", "Greek")
    assert main(line) == 2
    assert "is there already; name a new folder, or remove it first" in capsys.readouterr().err


class Outside:
    """What a pickle would do."""

    def __reduce__(self) -> tuple:
        return (Path.touch, (Path("touched"),))


def damaged(name: str, folder: Path) -> Path:
    """A file of weights with something wrong in it."""
    state, file = Translator().state_dict(), folder / "m.pt"
    changes = {
        "gone": lambda: state.pop("transformer.decoder.layers.1.linear2.weight"),
        "extra": lambda: state.update({"relative_bias": torch.zeros(4, 8)}),
        "inside": lambda: state.update({f"{INSIDE}.{name}": torch.zeros(22, 16) for name in ("bias_k", "pos")}),
        "one norm": lambda: [state.pop(f"transformer.decoder.norm.{each}") for each in ("weight", "bias")],
        "no positions": lambda: state.pop("pos_embedding"),
        "nan": lambda: state["generator.bias"].fill_(math.nan),
        "no transformer": lambda: [state.pop(key) for key in list(state) if key.startswith("transformer")],
        "unclear": lambda: state.update({"src_extra.weight": torch.zeros(20, 16)}),
    }
    changes.get(name, lambda: None)()
    torch.save(state, file)
    if name == "half":
        file.write_bytes(file.read_bytes()[:3000])
    if name == "a pickle":
        file.write_bytes(pickle.dumps(Outside(), 2))
    if name == "a list":
        torch.save([1, 2], file)
    return file


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone", "'decoder.layers.1.linear2.weight' is missing; expected the tensors of a torch.nn.Transformer"),
        ("extra", r"there is a tensor 'relative_bias' of the shape \(4, 8\), for which the format has no place"),
        ("inside", rf"a tensor '{INSIDE}.bias_k' of the shape \(22, 16\), for which the format has no place"),
        ("one norm", "the encoder alone has a norm at its end; expected both, or none"),
        ("no positions", "the state dict has no table of positions; give --positions"),
        ("nan", "'projection.bias' holds 22 values that are NaN or infinite"),
        ("no transformer", r"has no encoder.layers.0.self_attn.in_proj_weight with a decoder"),
        ("unclear", "which tensor is the source embedding is not clear .* give --source-embedding NAME"),
        ("half", "m.pt is truncated or damaged"),
        ("a pickle", r"m.pt holds more than weights \(.*\): reading it would execute code"),
        ("a list", "m.pt holds a list; expected a state dict: names and tensors"),
    ],
)
def test_damaged_weights_are_refused_without_running(tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    asked = options(tmp_path)
    file = damaged(name, tmp_path)
    with pytest.raises(ConvertError, match=message) as caught:
        convert(file, tmp_path / "made", options=asked)
    assert "\n" not in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.pt", "src.txt", "tgt.txt"]


def test_missing_control_row_is_never_predicted(tmp_path):
    torch.save(Translator().state_dict(), tmp_path / "m.pt")
    asked = options(tmp_path)
    asked.tokenizer.write_text("\n".join(["<unk>", "a", "b", *WORDS[3:]]), encoding="utf-8")
    asked.target_tokenizer.write_text("\n".join(["<unk>", "a", "b", *OTHERS[3:]]), encoding="utf-8")
    made = read_model(tmp_path / "m.pt", options=ConversionOptions(**(vars(asked) | {"controls": {"start": "<eos>"}})))
    assert made.config.target_vocab == len(OTHERS) + 2
    bias, table = made.state["projection.bias"], made.state["target_embedding.table.weight"]
    assert bias[[PAD, START]].tolist() == [-100, -100]
    assert table[START].equal(table[END]) and not table[PAD].any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"fields": {"heads": 4}},
            r"does not say .*: give --norm-first or --no-norm-first, --activation .*, --embedding-scale",
        ),
        ({"fields": TOLD | {"heads": 3}}, "d_model is 16; expected a multiple of heads, which is 3"),
        ({"fields": TOLD | {"activation": "mish"}}, "activation is 'mish'; expected one of relu, gelu"),
        ({"fields": TOLD | {"positions": "learned"}}, "the positions in the state dict are sinusoidal; expected learned"),
        ({"fields": TOLD | {"max_positions": "x"}}, "max_positions is 'x'"),
        ({"tokenizer": None}, "a state dict has no vocabulary; give --tokenizer FILE"),
        ({"target_tokenizer": None}, "src.txt has 20 tokens; expected 22"),
        (
            {"names": {"output": "nothing"}},
            r"--output is 'nothing'; expected the name of a tensor \[V,16\]: one of generator",
        ),
        ({"controls": {"end": "</x>"}}, "the token '</x>', given as --end-token, is not in the vocabulary"),
    ],
)
def test_wrong_option_of_a_conversion_is_refused(tmp_path, changes, message):
    torch.save(Translator().state_dict(), tmp_path / "m.pt")
    asked = options(tmp_path)
    with pytest.raises(ConvertError, match=message):
        read_model(tmp_path / "m.pt", options=ConversionOptions(**(vars(asked) | changes)))


def library(**changes: Any) -> str:
    """A tokenizer.json with something wrong in it."""
    return json.dumps({"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}}} | changes)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.txt", "a\n\nb", "t.txt has nothing in line 2; expected a word a line"),
        ("t.txt", "a\nb\na", "t.txt has the word 'a' twice"),
        ("t.txt", "", "t.txt has no words"),
        ("t.json", library(added_tokens=5), "its 'added_tokens' are 5; expected a list of objects"),
        ("t.json", library(added_tokens=["x"]), r"its 'added_tokens' are \['x'\]; expected a list of objects"),
        ("t.json", library(added_tokens=[{"content": "</s>", "id": "2"}]), "do not have the ids from 0 on, each once"),
        ("t.json", library(model={"type": "Unigram", "vocab": [5]}), "its 'vocab' has 5; expected pairs of a token"),
        ("t.json", library(normalizer="NFC"), "its normalizer is 'NFC'; expected an object"),
    ],
)
def test_damaged_vocabulary_is_refused(tmp_path, name, content, message):
    torch.save(Translator().state_dict(), tmp_path / "m.pt")
    asked = options(tmp_path)
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(ConvertError, match=message):
        read_model(tmp_path / "m.pt", options=ConversionOptions(**(vars(asked) | {"tokenizer": tmp_path / name})))
