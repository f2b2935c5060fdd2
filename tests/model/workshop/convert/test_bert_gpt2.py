"""BERT and GPT-2 come in with the numbers that `transformers` has for them, and every reading of them stays exact."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F

from model import checkpoint as checkpoints
from model.decoding.strategy import Decoding
from model.edits.intervention import BASELINE
from model.inference.analyse import analyse
from model.inference.passes import teacher_force
from model.inference.request import Request
from model.network.context import teacher_forced_states
from model.network.layers import ACTIVATION_FUNCTIONS
from model.readings.logits.direct_logits import lens
from model.readings.logits.score_writers import score_writers
from model.readings.stages.blueprint import blueprint
from model.trace import Site
from model.workshop.convert.conversion import ConvertError
from model.workshop.convert.hugging_face import ACTIVATIONS
from model.workshop.convert.registry import convert, read_model
from tests.support import hugging_face
from tests.support.floats import DOUBLE, assert_close

EACH = pytest.mark.parametrize("kind", ["bert", "gpt2"])
ATTENTION = {"bert": "encoder", "gpt2": "decoder"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    home = tmp_path_factory.mktemp("hugging-face")
    return {kind: hugging_face.save(kind, home / kind) for kind in hugging_face.TEXTS}


@pytest.fixture(scope="module")
def labs(folders):
    """The checkpoints that were written, loaded again."""
    return {kind: checkpoints.load(str(convert(each, each.with_name(f"{kind}-lab")))) for kind, each in folders.items()}


def compared(lab, kind, expected):
    """Logits and all attentions beside those of `transformers`, whose rows of the vocabulary stand elsewhere."""
    tokenizer, size = lab.source_tokenizer, hugging_face.config(kind)["vocab_size"]
    text = tokenizer.encode("the red fox")
    if kind == "bert":
        found = analyse(lab, Request(hugging_face.TEXTS[kind])).trace
        assert found.source.labels[0] == "<s>" and found.source.labels[4] == "[MASK]"
        order = [0, 3, 4, *(n for n in range(size) if n not in (0, 3, 4))]
    else:
        ids = [*text, 2]
        found = teacher_force(lab, None, ids, [BASELINE])[0]
        order = [size - 1] * 3 + list(range(size - 1))
    logits = found.logits
    if kind == "gpt2":  # `<pad>` and `<s>` are the row of the end, silenced
        assert np.exp(found.log_probs[:, :2]).max() < 1e-30
        logits, order = logits[:, 2:], order[2:]
    assert_close(logits, expected["logits"][:, order])
    for layer, attention in enumerate(expected["attentions"]):
        assert_close(found.patterns[Site(ATTENTION[kind], layer)], attention)


@EACH
def test_numbers_equal_the_recorded_transformers(labs, kind):
    compared(labs[kind], kind, hugging_face.recorded(kind))


@EACH
def test_numbers_equal_the_installed_transformers(labs, kind):
    pytest.importorskip("transformers")
    compared(labs[kind], kind, hugging_face.of_transformers(kind))


def plain_bert(weights, ids, second):
    """BERT's states [T,D] out of torch's own modules, from the tensors by the names that they have in the files."""
    d, take = hugging_face.BERT["hidden_size"], lambda name: [weights[f"{name}.{what}"] for what in ("weight", "bias")]
    norm = lambda x, name: F.layer_norm(x, (d,), *take(name), eps=1e-12)  # noqa: E731
    tables = [weights[f"bert.embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")]
    rows = (torch.tensor(ids), torch.arange(len(ids)), torch.tensor(second))
    x = norm(sum(table[row] for table, row in zip(tables, rows, strict=True)), "bert.embeddings.LayerNorm")[None]
    for n in range(hugging_face.BERT["num_hidden_layers"]):
        place = f"bert.encoder.layer.{n}"
        layer = nn.TransformerEncoderLayer(d, 4, 48, 0.0, "gelu", 1e-12, batch_first=True).eval()
        own = [take(f"{place}.attention.self.{name}") for name in ("query", "key", "value")]
        state = {
            "self_attn.in_proj_weight": torch.cat([w for w, _ in own]),
            "self_attn.in_proj_bias": torch.cat([b for _, b in own]),
        }
        parts = {"self_attn.out_proj": "attention.output.dense", "linear1": "intermediate.dense", "linear2": "output.dense"}
        parts |= {"norm1": "attention.output.LayerNorm", "norm2": "output.LayerNorm"}
        for theirs, name in parts.items():
            state[f"{theirs}.weight"], state[f"{theirs}.bias"] = take(f"{place}.{name}")
        layer.load_state_dict(state)
        x = layer.to(x.dtype)(x)
    return x[0]


def pretraining(folder):
    """The small BERT with the heads of BertForPreTraining: its weights, and the folder."""
    folder, drawn = hugging_face.save("bert", folder), np.random.RandomState(11)
    shapes = {"bert.pooler.dense": (32, 32), "cls.seq_relationship": (2, 32)}
    more = {
        f"{name}.{what}": shape if what == "weight" else shape[:1]
        for name, shape in shapes.items()
        for what in ("weight", "bias")
    }
    made = {name: torch.from_numpy((0.4 * drawn.standard_normal(shape)).astype(np.float32)) for name, shape in more.items()}
    weights = load_file(folder / "model.safetensors") | made
    save_file(weights, folder / "model.safetensors")
    return weights, folder


@torch.no_grad()
def test_the_heads_over_two_sentences_come_along(tmp_path):
    weights, folder = pretraining(tmp_path / "bert")
    lab = checkpoints.load(str(convert(folder, tmp_path / "lab")))
    lab.model.double()
    weights = {name: each.double() for name, each in weights.items()}
    ids = hugging_face.ids("bert")
    states = plain_bert(weights, ids, [0] * len(ids))
    made = F.gelu(F.linear(states, *(weights[f"cls.predictions.transform.dense.{w}"] for w in ("weight", "bias"))))
    made = F.layer_norm(
        made, (32,), *(weights[f"cls.predictions.transform.LayerNorm.{w}"] for w in ("weight", "bias")), eps=1e-12
    )
    logits = made @ weights["bert.embeddings.word_embeddings.weight"].T + weights["cls.predictions.bias"]
    recorded = hugging_face.recorded("bert")["logits"]
    assert_close(logits, recorded)  # so what is compared with is BERT itself
    theirs = [*ids, *ids[5:]]  # [CLS] a [SEP] b [SEP]
    order = [0, 3, 4, *(n for n in range(len(hugging_face.PIECES)) if n not in (0, 3, 4))]
    ours = torch.tensor([[order.index(token) for token in theirs]])
    states = plain_bert(weights, theirs, [0] * len(ids) + [1] * (len(theirs) - len(ids)))
    found = teacher_forced_states(lab.model, ours, None)
    assert_close(found[0], states, DOUBLE)
    pooled = torch.tanh(F.linear(states[0], *(weights[f"bert.pooler.dense.{w}"] for w in ("weight", "bias"))))
    follows = F.linear(pooled, *(weights[f"cls.seq_relationship.{w}"] for w in ("weight", "bias")))
    assert_close(lab.model.next_sentence_logits(found, ours)[0], follows, DOUBLE)
    assert (plain_bert(weights, theirs, [0] * len(theirs)) - states).abs().max() > 1e-2
    assert "the next-sentence head are those of the files" in (tmp_path / "lab" / "README.md").read_text()


@EACH
def test_a_tokenizer_json_cuts_as_its_older_form_does(folders, kind, tmp_path):
    folder = hugging_face.save(kind, tmp_path / kind)
    values = json.loads((checkpoints.find_folder(str(convert(folder, tmp_path / "lab"))) / "tokenizer.json").read_text())
    lab, older = values.pop("lab"), read_model(folder).source
    for name in ("vocab.txt", "vocab.json", "merges.txt"):
        (folder / name).unlink(missing_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(values), encoding="utf-8")
    assert lab["tokens"][:3] == ["<pad>", "<s>", "</s>"]
    text = "The red fox sees an old king's boat."
    assert read_model(folder).source.encode(text) == older.encode(text)
    assert older.decode(older.encode("the red fox")) == "the red fox"


def test_typed_text_is_never_the_blank(labs):
    lab = labs["bert"]
    plain = analyse(lab, Request("The red fox [MASK] a lamp.")).trace.source
    assert plain == analyse(lab, Request("The red fox ____ a lamp.")).trace.source
    assert plain.ids.count(lab.source_tokenizer.mask) == 1
    assert lab.source_tokenizer.mask not in lab.source_tokenizer.encode("[MASK] [CLS] </s>")


@EACH
def test_every_reading_stays_exact(labs, kind):
    lab = labs[kind]
    found = analyse(lab, Request("the red fox sees a lamp", decoding=Decoding(max_total_tokens=24)))
    site = Site(ATTENTION[kind], 1)
    split = score_writers(lab, found, site, 2, 3, 1)
    assert float(split.values.sum()) == pytest.approx(split.score, abs=1e-4)
    assert_close(lens(lab, found).log_probs[-1], found.trace.log_probs)
    blocks = blueprint(lab, len(found.trace.source or ()), len(found.trace.inputs or ()))
    assert sum(block.parameters for block in blocks) == lab.model.parameter_count


@EACH
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bert": {"position_embedding_type": "relative_key"}}, "'position_embedding_type' is 'relative_key'"),
        ({"bert": {"hidden_act": "mish"}, "gpt2": {"activation_function": "mish"}}, "is 'mish'; expected one of relu"),
        ({"bert": {"is_decoder": True}}, "'is_decoder' is true"),
        ({"gpt2": {"scale_attn_by_inverse_layer_idx": True}}, "'scale_attn_by_inverse_layer_idx' is True; expected false"),
        ({"gpt2": {"eos_token_id": 9999}}, "'eos_token_id' is 9999; expected 0 to"),
        ({"bert": {"num_hidden_layers": 3}, "gpt2": {"n_layer": 3}}, "is missing; expected it by config.json"),
        ({"bert": {"num_hidden_layers": 1}, "gpt2": {"n_layer": 1}}, "has no place in the format"),
    ],
)
def test_unsupported_config_is_refused_by_name(kind, changes, message, tmp_path):
    if kind not in changes:
        return
    folder = hugging_face.save(kind, tmp_path / kind)
    (folder / "config.json").write_text(json.dumps(hugging_face.config(kind) | changes[kind]), encoding="utf-8")
    with pytest.raises(ConvertError, match=message):
        convert(folder, tmp_path / "lab")
    assert not (tmp_path / "lab").exists()


def test_single_segment_is_added_to_the_positions(tmp_path):
    _, folder = pretraining(tmp_path / "bert")
    weights = load_file(folder / "model.safetensors")
    name = "bert.embeddings.token_type_embeddings.weight"
    save_file(
        {n: each for n, each in (weights | {name: weights[name][:1].clone()}).items() if "pooler" not in n},
        folder / "model.safetensors",
    )
    lab = checkpoints.load(str(convert(folder, tmp_path / "lab")))
    assert (lab.config.segments, lab.config.pooler, lab.config.follows) == (0, False, False)
    compared(lab, "bert", hugging_face.recorded("bert"))


def test_activation_names_mean_the_same_functions():
    x, tanh = torch.linspace(-3, 3, 25), lambda x: F.gelu(x, approximate="tanh")
    expected = {"relu": F.relu, "gelu": F.gelu, "gelu_new": tanh, "gelu_pytorch_tanh": tanh, "silu": F.silu, "swish": F.silu}
    for name, ours in ACTIVATIONS.items():
        assert torch.equal(ACTIVATION_FUNCTIONS[ours](x), expected[name](x)), name


@EACH
def test_ids_of_the_publisher_are_mapped(labs, kind):
    lab, size = labs[kind], hugging_face.config(kind)["vocab_size"]
    tokenizer = lab.source_tokenizer
    theirs = [each for each in range(size) if each not in tokenizer.to_publisher_ids([2])]
    assert tokenizer.to_publisher_ids(tokenizer.from_publisher_ids(theirs)) == theirs
    text = tokenizer.encode("the red fox")
    published = tokenizer.to_publisher_ids(text)
    assert lab.source_ids_of(published) == text == lab.target_ids_of(published)
    if kind == "bert":
        assert tokenizer.publisher_tokens([1, *text, 2])[:: len(text) + 1] == ("[CLS]", "[SEP]")
    else:  # the model adds its start
        end = tokenizer.to_publisher_ids([2])
        assert lab.source_ids_of([*end, *published]) == text and lab.target_ids_of([*published, *end]) == [*text, 2]
