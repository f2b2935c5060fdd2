"""What the stages of one head say in words."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from functools import partial

import numpy as np
import pytest

from model.decoding.strategy import Decoding
from model.format import figures
from model.readings.unfold import unfold
from model.trace import KINDS, Site
from tests.support import unfold_helpers
from tests.support.unfold_helpers import MODELS, asked, shown
from viz.inside.stage_texts import told

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
def test_every_stage_has_a_title_a_formula_and_a_sentence(make, name, codes):
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


def test_repeated_tokens_are_told_apart(make):
    checkpoint = make("pre-norm")
    for query in range(3):
        u, data = shown(checkpoint, text="a a a", target=None, decoding=Decoding(limit=3), query=query)
        assert u.keys.count("a") + u.keys.count(u.keys[1]) >= 2
        sentence = next(stage["sentence"] for stage in data["stages"] if stage["name"] == "products")
        rows = re.findall(r"“([^”]*)”(?: \((\d+)\))?", sentence)
        dots = u["products"].tables[0].totals
        for (label, place), row in zip(rows, (int(dots.argmax()), int(dots.argmin())), strict=True):
            assert label == u.keys[row]
            assert place == (str(row + 1) if u.keys.count(label) > 1 else "")


@pytest.mark.parametrize("text", ["<b>a</b> & “a” *a* `a` _{a}"])
def test_what_a_visitor_types_stays_as_it_was_typed(make, text):
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
def test_an_edit_is_told_at_its_stage_and_nowhere_else(make, code, kind, query, stage, said):
    _, data = shown(make("pre-norm"), code, kind=kind, query=query)
    edited = [each for each in data["stages"] if each["edited"]]
    assert [each["name"] for each in edited] == [stage] and said in edited[0]["sentence"]
    assert [each["name"] for each in data["stages"] if "edit" in each["sentence"]] == [stage]


def test_what_a_mask_hides_is_counted(make):
    checkpoint = make("pre-norm")
    for query, said in ((0, "5 of 6 tokens are"), (4, "1 of 6 tokens is"), (5, "Nothing is hidden")):
        u, data = shown(checkpoint, kind="decoder", query=query)
        sentence = next(stage["sentence"] for stage in data["stages"] if stage["name"] == "mask")
        assert sentence.startswith(said) and len(u.keys) == 6
    _, data = shown(checkpoint, "block_cross_1-all", kind="cross", query=0)
    sentences = {stage["name"]: stage["sentence"] for stage in data["stages"]}
    assert sentences["mask"].startswith("Everything is hidden") and sentences["softmax"].startswith("Nothing may be seen")


def test_what_follows_is_told_as_it_is(make):
    """Behind the last layer there is no next one; in post-norm it is the norm's row that goes on."""

    def end(name: str, stage: str, **where) -> str:
        stages = shown(make(name), **where)[1]["stages"]
        return next(each["sentence"] for each in stages if each["name"] == stage).split(". ")[-1]

    for kind in ("encoder", "cross"):
        assert end("pre-norm", "ff_residual", kind=kind) == "This row goes up to the next layer."
        assert "next" not in end("pre-norm", "ff_residual", kind=kind, layer=1)
        assert "next" not in end("post-norm", "ff_residual", kind=kind)
    assert end("pre-norm", "residual", kind="decoder", layer=1) == "Cross-attention comes next."


def test_an_unknown_stage_has_no_words(make):
    checkpoint = make("pre-norm")
    u = unfold(checkpoint, asked(checkpoint), Site("encoder", 0), 0, 0)
    with pytest.raises(AssertionError, match="nothing"):
        told(u, dataclasses.replace(u.stages[0], name="nothing"), checkpoint.config)
