"""What the stages of one head say in words."""

from __future__ import annotations

import itertools
import math
import re
from functools import partial

import numpy as np
import pytest

from model.format import figures
from model.trace import KINDS
from tests.support import unfold_helpers
from tests.support.unfold_helpers import MODELS, shown

MARKUP = re.compile(r"[<>*`\n]|  ")


@pytest.fixture(scope="module")
def make(tokenizer):
    """Checkpoints of the models by name."""
    return partial(unfold_helpers.make, tokenizer)


def plain(sentence: str) -> str:
    """A sentence without what it quotes."""
    return re.sub("“[^”]*”", "…", sentence)


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        *((name, ()) for name in MODELS),
        ("pre-norm", ("scaling-off", "skip_enc.1.self", "skip_dec.1.ff")),
        ("as in 2017", ("off_cross", "block_enc_3-all")),
    ],
)
def test_every_stage_has_title_formula_and_sentence(make, name, codes):
    checkpoint = make(name)
    for kind in KINDS:
        _, data = shown(checkpoint, *codes, kind=kind)
        for stage in data["stages"]:
            assert stage["title"] and not MARKUP.search(stage["title"])
            left = re.sub(r"[_^]\{[^{}_^]+\}", "", stage["formula"].replace("x^{2}", "x2"))
            assert left and not re.search(r"[{}_^<>]", left), stage["formula"]
            assert stage["sentence"].endswith(".") and not MARKUP.search(plain(stage["sentence"]))
        assert len({stage["title"] for stage in data["stages"]}) >= len(data["stages"]) - 4  # norms and residuals come twice


def stated(u, config) -> dict[str, list[str]]:
    """The numbers that each stage's sentence may quote, from its tables, in their order."""
    width = config.head_dim
    values = {stage.name: stage.tables[0].values.astype(float) for stage in u.stages}
    norms = {stage.name: np.linalg.norm(values[stage.name], axis=-1) for stage in u.stages}
    dots = values["products"].sum(-1)
    spread = values["scale"].std(0)
    hidden = len(u.keys) - sum(u["mask"].tables[0].allowed)
    weights = values["softmax"][:, 0]
    ranks = [str(n + 1) for n in [(norms["project"][:-1] > norms["project"][u.head]).sum()] if n]

    def place(row: int) -> list[str]:
        return [str(row + 1)] if u.keys.count(u.keys[row]) > 1 else []

    found = {
        "input": [str(u.site.layer + 1), str(config.d_model)],
        "qkv": [str(u.head + 1), str(width)],
        "rotate": [],
        "products": [*place(dots.argmax()), figures(dots.max()), *place(dots.argmin()), figures(dots.min())],
        "scale": [str(width), f"{math.sqrt(width):.2f}", figures(spread[0]), figures(spread[1])],
        "mask": [str(hidden), str(len(u.keys)), "0"] if hidden else [],
        "softmax": ["0", "1", *place(weights.argmax()), f"{weights.max():.3f}"],
        "mix": [str(u.head + 1)],
        "concatenate": [str(config.heads), str(u.head * width + 1), str((u.head + 1) * width), str(u.head + 1)],
        "project": [*map(str, (config.d_model, u.head + 1)), figures(norms["project"][u.head]), *ranks, str(config.heads)],
        "ff_inner": [f"{config.d_ff:,}", str(config.d_model)],
        "ff_output": [str(config.d_model)],
    }
    for stage in u.stages:
        if stage.name in ("residual", "ff_residual"):
            found[stage.name] = [figures(n) for n in (*norms[stage.name], np.linalg.norm(stage.tables[0].foot))]
        elif "norm" in stage.name and config.norm == "layernorm":
            found[stage.name] = [figures(values[stage.name].mean()), figures(values[stage.name].std())]
        elif "norm" in stage.name:
            found[stage.name] = []
        elif stage.name == "ff_active":
            counts = [f"{(values[stage.name] > 0).sum():,}", f"{config.d_ff:,}"]
            found[stage.name] = [*counts, "0"] if config.activation == "swiglu" else ["0", *counts]
    return found


@pytest.mark.parametrize(("name", "kind"), zip(MODELS, itertools.cycle(KINDS)))
def test_every_number_in_a_sentence_is_one_of_the_tables(make, name, kind):
    checkpoint = make(name)
    for text in ("The fox sees a lamp.", "a a a"):
        u, data = shown(checkpoint, kind=kind, text=text, layer=0)
        expected = stated(u, checkpoint.config)
        for stage in data["stages"]:
            got = re.findall(r"(?<![\w.])−?\d[\d,.]*(?:e[+−]\d+)?(?<![.,])", plain(stage["sentence"]))
            assert got == expected[stage["name"]], stage["sentence"]


@pytest.mark.parametrize("text", ["<b>a</b> & “a” *a* `a` _{a}"])
def test_typed_text_stays_text(make, text):
    checkpoint = make("pre-norm")
    u, data = shown(checkpoint, text=text, query=0)
    assert data["queries"] == list(u.keys) and "</s>" in data["queries"]
    assert all(u.asks not in stage["formula"] for stage in data["stages"] if len(u.asks) > 2)
    first = shown(checkpoint, kind="decoder", query=0)[1]
    assert first["asks"].startswith("<s> → ") and "“<s> → " in first["stages"][0]["sentence"]


@pytest.mark.parametrize(
    ("code", "kind", "query", "stage", "said"),
    [
        ("scaling-off", "encoder", 0, "scale", "switches the division by √8 off"),
        ("off_enc.1.2", "encoder", 0, "mix", "is replaced and no longer the sum"),
        ("mean_enc.1.2", "encoder", 0, "mix", "is replaced and no longer the sum"),
        ("row_enc.1.2_1-uniform", "encoder", 0, "softmax", "overwrites this row"),
        ("skip_enc.1.self", "encoder", 0, "residual", "skips this sub-layer"),
        ("skip_dec.1.ff", "cross", 0, "ff_residual", "skips this sub-layer"),
    ],
)
def test_an_edit_is_named_at_its_stage_only(make, code, kind, query, stage, said):
    _, data = shown(make("pre-norm"), code, kind=kind, query=query)
    edited = [each for each in data["stages"] if each["edited"]]
    assert [each["name"] for each in edited] == [stage] and said in edited[0]["sentence"]
    assert [each["name"] for each in data["stages"] if "edit" in each["sentence"]] == [stage]
