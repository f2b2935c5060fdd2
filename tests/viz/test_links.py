"""What a link carries: every field of the view, there and back; what is nonsense; a field that is made up."""

from __future__ import annotations

import dataclasses
import random
from urllib.parse import parse_qsl, urlencode

import pytest
import tiny

from model.config import END, MAX_TOKENS, SCHEMES
from model.decoding.sampling import MIN_TEMPERATURE
from model.decoding.strategy import MAX_ALPHA, MAX_SEED
from model.inference.request import MAX_PAD, MAX_SENTENCES
from model.readings.head_maps import MEASURES
from model.readings.head_metrics import orders
from model.trace import KINDS
from viz.fields import fields
from viz.links import link, parse
from viz.values import MAX_BRANCHES, MAX_TRIED, MAX_WORD, SEPARATOR
from viz.view import (
    CUTS,
    MAX_PE_BASE,
    MAX_PE_COUNT,
    MAX_PE_SHIFT,
    MAX_PE_WIDTH,
    MAX_TEMPERATURE,
    MAX_TOP_K,
    MAX_WIDTH,
    PARTS,
    ROWS,
    SCOPES,
    SHOWN,
    View,
    strategies,
)

TEXTS = (
    "مرحبا بالعالم 你好 😀\u200d\u202e",
    "</s> <pad> <script>alert(1)</script> &amp; &lt;",
    "a=b&c=d;e%20f+g#h",
)
# parameter of the link: field of the view, values that it may have, the least and the largest among them
FIELDS = {
    "text": ("source", ("", "Nine owls — «déjà vu» & 100 % + #1?", "  two spaces,\ta tab and\na line  ", *TEXTS)),
    "target": ("target", ("", "None", "L'été.", "Neuf hiboux = 9 🦉")),
    "step": ("step", (1, 7, 999)),
    "layer": ("layer", (1, 3, 999)),
    "head": ("head", (None, 1, 8)),
    "show": ("show", SHOWN),
    "mode": ("mode", ("given", "again")),
    "causal": ("causal_mask", (True, False)),
    "padmask": ("padding_mask", (True, False)),
    "edits": ("edits", (tiny.edited("scaling-off", "window-3", "off_cross.3.5", "block_enc_9-2"),)),
    "pad": ("pad", (0, 3, MAX_PAD)),
    "kind": ("kind", KINDS),
    "scope": ("scope", SCOPES),
    "try": ("experiment", ("order",)),
    "checkpoint": ("checkpoint", ("my-model_2.1", "my(model)", "a b", "l'été <b>")),
    "device": ("device", ("auto", "cpu", "cuda", "mps")),
    "lesson": ("lesson", ("cell",)),
    "decode": ("strategy", strategies()),
    "width": ("width", (1, 3, MAX_WIDTH)),
    "alpha": ("alpha", (0.0, 0.6, 0.125, MAX_ALPHA)),
    "temperature": ("temperature", (0.0, MIN_TEMPERATURE, 0.05, 0.7, MAX_TEMPERATURE)),
    "top_k": ("top_k", (0, 1, 40, MAX_TOP_K)),
    "top_p": ("top_p", (0.01, 1e-09, 0.95, 1.0)),
    "seed": ("seed", (0, 7, MAX_SEED)),
    "branch": (
        "branches",
        (((5,),), ((END,),), ((5, 6, END), (5, 7), (7999,)), tuple((n,) for n in range(3, 3 + MAX_BRANCHES))),
    ),
    "path": ("path", ((5,), (END,), (5, 6, 7, END), tuple(range(3, 3 + MAX_TOKENS)))),
    "sentence": ("sentence", (1, 2, MAX_SENTENCES)),
    "split": ("split", (True, False)),
    "rows": ("rows", ROWS),
    "guess": ("guess", (True, False)),
    "order": ("order", orders()),
    "measure": ("measure", MEASURES),
    "words": ("merge", (True, False)),
    "lines": ("hide", (True, False)),
    "mass": ("mass", (1, 50, 75, 100)),
    "sites": ("together", (True, False)),
    "average": ("average", (True, False)),
    "find": ("find", tuple((kind, 1, 999) for kind in KINDS)),
    "colour": ("by_row", (True, False)),
    "part": ("part", PARTS),
    "stage": ("stage", (1, 4, 99)),
    "token": ("token", (1, 128)),
    "cut": ("cut", CUTS),
    "cut_word": ("cut_word", (0, 3, 999)),
    "cut_merges": ("cut_merges", (0, 7, 9999)),
    "cut_text": ("cut_text", ("", " owl", "<script>", "🦉", "x" * MAX_TRIED)),
    "near": ("near", ("", "owl", "<script>", "l'été", "🦉", "x" * MAX_WORD)),
    "scheme": ("scheme", tuple(SCHEMES)),
    "pe_d": ("pe_width", (2, 64, MAX_PE_WIDTH)),
    "pe_base": ("pe_base", (2.0, 10000.0, 123.456, MAX_PE_BASE)),
    "pe_n": ("pe_count", (2, 64, MAX_PE_COUNT)),
    "pe_k": ("pe_shift", (0, 1, MAX_PE_SHIFT)),
    "pe_i": ("pe_pair", (0, 1, MAX_PE_WIDTH // 2 - 1)),
}
GOOD = {
    "text": "Nine owls. Ten.",
    "target": "Neuf hiboux.",
    "step": "7",
    "layer": "1",
    "head": "8",
    "show": "mask",
    "mode": "again",
    "causal": "off",
    "padmask": "off",
    "pad": "5",
    "edits": "skip_dec.2.ff~source-positions_off",
    "kind": "decoder",
    "scope": "layer",
    "try": "skip",
    "checkpoint": "mine",
    "device": "cpu",
    "lesson": "cell",
    "decode": "sample",
    "width": "2",
    "alpha": "0.6",
    "temperature": "0.7",
    "top_k": "40",
    "top_p": "0.95",
    "seed": "7",
    "branch": "5-6~5-7-2",
    "path": "5-7",
    "sentence": "3",
    "split": "off",
    "rows": "shifted",
    "guess": "first",
    "order": "entropy",
    "measure": "rollout",
    "words": "merged",
    "lines": "content",
    "mass": "90",
    "sites": "all",
    "average": "layers",
    "find": "cross_9_2",
    "colour": "row",
    "part": "map",
    "stage": "4",
    "token": "3",
    "near": "owl",
    "cut": "target",
    "cut_word": "2",
    "cut_merges": "3",
    "cut_text": "owls",
    "scheme": "learned",
    "pe_d": "64",
    "pe_base": "500",
    "pe_n": "128",
    "pe_k": "7",
    "pe_i": "5",
}
IDS_OF = {"long": "-".join(["9"] * (MAX_TOKENS + 1)), "full": "-".join(["9"] * MAX_TOKENS)}
NONSENSE = [
    *(("step", text) for text in ("-1", "0", "1000", "1.5", "", "1e2", "١", "+1", "1_0", " 1")),
    *(("layer", text) for text in ("abc", "0", "-3", "9" * 5000)),
    *(("head", text) for text in ("0", "²", "None", "Mean", "")),
    *(("pad", text) for text in ("99", "-1", str(MAX_PAD + 1), "many")),
    *(("causal", text) for text in ("maybe", "True", "", "ON")),
    *(("padmask", text) for text in ("1", "false")),
    *(("show", text) for text in ("x", "Mask", "")),
    *(("mode", text) for text in ("both", "__class__")),
    *(("kind", text) for text in ("enc", "")),
    *(("scope", text) for text in ("everything", "")),
    *(("device", text) for text in ("tpu", "cuda:x", "")),
    *(
        ("checkpoint", text)
        for text in ("../../etc", "/etc", "", ".", "..", " ", "a\\b", "</b>", "a\x00", "a\x07", "x" * 256)
    ),
    ("try", "../x"),
    ("lesson", "<b>"),
    ("text", "x" * 10_000),
    ("target", "é" * 10_000),
    *(("decode", text) for text in ("Beam", "", "best", "__class__")),
    *(("order", text) for text in ("size", "", "Entropy")),
    *(("measure", text) for text in ("gradient", "")),
    *(("words", text) for text in ("on", "")),
    *(("lines", text) for text in ("on", "")),
    *(("mass", text) for text in ("0", "101", "-5", "all", "7.5")),
    *(("sites", text) for text in ("on", "", "three")),
    *(("average", text) for text in ("on", "", "heads")),
    *(("find", text) for text in ("on", "", "cross_1", "cross_0_1", "cross_1_1000", "enc_1_1", "cross_1_1_1")),
    *(("colour", text) for text in ("on", "", "rows")),
    *(("part", text) for text in ("Map", "", "heads")),
    *(("stage", text) for text in ("0", "100", "-1", "q", "")),
    *(("token", text) for text in ("0", "1000", "-1", "le", "")),
    ("near", "x" * (MAX_WORD + 1)),
    *(("cut", text) for text in ("yours", "", "Source")),
    *(("cut_word", text) for text in ("1000", "-1", "le", "")),
    *(("cut_merges", text) for text in ("10000", "-1", "x", "")),
    ("cut_text", "x" * (MAX_TRIED + 1)),
    *(("scheme", text) for text in ("alibi", "", "Rotary")),
    *(("pe_d", text) for text in ("0", "1", "7", "1026", "-2", "64.0", "")),
    *(("pe_base", text) for text in ("1", "0", "-1", "1000001", "nan", "inf", "e", "")),
    *(("pe_n", text) for text in ("1", "513", "-1", "")),
    *(("pe_k", text) for text in ("129", "-1", "1.5", "")),
    *(("pe_i", text) for text in ("512", "-1", "0.5", "")),
    *(("width", text) for text in ("0", "9", "1000", "abc", "-1", "", "2.5", " 4", "+4", "٤", "9" * 5000)),
    *(("alpha", text) for text in ("nan", "-1", "-0.01", "5.01", "inf", "-inf", "abc", "", "1e9", "1,5", "0" * 5000)),
    *(("temperature", text) for text in ("nan", "-1", "inf", "2.01", "hot", "", "1e400")),
    *(("top_k", text) for text in ("-1", "-3", "1.5", "100000", "all", "", "nan")),
    *(("top_p", text) for text in ("0", "0.0", "1.5", "1.0001", "nan", "-0.5", "inf", "", "half")),
    *(("seed", text) for text in ("abc", "-1", str(MAX_SEED + 1), "1.5", "", "1e3")),
    *(("branch", text) for text in ("5-2-7", "2-5", "5-6~2-2", "0", "1-5", "", "a", "5--6", "-5", "5-", "5~", "5 6", "²")),
    *(("branch", text) for text in ("1000000", "9" * 5000, SEPARATOR.join("3456789") + "~10~11", *IDS_OF.values())),
    *(("path", text) for text in ("5-2-7", "2-2", "0", "1", "", "a", "5--6", "5~6", "-5", "1000000", "9" * 5000)),
    ("path", IDS_OF["long"]),
    *(("sentence", text) for text in ("0", str(MAX_SENTENCES + 1), "-1", "abc", "")),
    *(("split", text) for text in ("True", "no", "", "OFF")),
    *(("rows", text) for text in ("Steps", "", "row")),
    *(("guess", text) for text in ("on", "", "off", "last")),
]


def over_the_wire(params: dict[str, str]) -> dict[str, str]:
    """What arrives when the parameters have stood in an address."""
    return dict(parse_qsl(urlencode(params), keep_blank_values=True, strict_parsing=bool(params)))


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [(name, field, value) for name, (field, values) in FIELDS.items() for value in values],
    ids=lambda value: str(value)[:40],
)
def test_every_value_comes_back_through_its_own_parameter(name, field, value):
    view = dataclasses.replace(View(), **{field: value})
    assert set(link(view)) == ({name} if value != getattr(View(), field) else set())
    assert parse(over_the_wire(link(view))) == (view, ())


def test_any_view_comes_back_through_its_link():
    chance = random.Random(7)
    for _ in range(400):
        fields = {field: chance.choice(values) for field, values in FIELDS.values() if chance.random() < 0.5}
        fields |= {"alpha": round(chance.uniform(0, MAX_ALPHA), 3), "top_p": round(chance.uniform(0.01, 1), 2)}
        fields |= {"temperature": round(chance.uniform(0, MAX_TEMPERATURE), 2), "seed": chance.randint(0, MAX_SEED)}
        branches = (
            tuple(chance.sample(range(3, 8000), chance.randint(1, 9))) for _ in range(chance.randint(0, MAX_BRANCHES))
        )
        view = View(**(fields | {"branches": tuple(branches)}))
        assert parse(over_the_wire(link(view))) == (view, ()), view


@pytest.mark.parametrize("name", ["alpha", "temperature", "top_p"])
def test_a_number_of_many_digits_is_written_as_it_was_read(name):
    view, faults = parse({name: "0.7654321"})
    assert (getattr(view, name), faults) == (0.7654321, ())
    assert parse(over_the_wire(link(view))) == (view, ())


def test_a_default_is_left_out_of_the_link_and_may_stand_in_it():
    assert link(View()) == {}
    assert parse({}) == parse({"head": "2", "causal": "on", "pad": "0", "device": "auto"}) == (View(), ())


def test_parameters_of_other_software_are_left_alone():
    assert parse({"utm_source": "mail", "embed": "true", "source": "Nine owls."}) == (View(), ())


def test_all_that_a_view_holds_fits_into_one_link():
    view, faults = parse(over_the_wire(GOOD))
    assert faults == ()
    assert link(view) == GOOD


@pytest.mark.parametrize(("name", "text"), NONSENSE, ids=lambda text: ascii(text)[:30])
def test_nonsense_gets_one_sentence_and_the_default_and_the_rest_of_the_link_holds(name, text):
    view, faults = parse(over_the_wire(GOOD | {name: text}))
    field = FIELDS[name][0]
    assert view == dataclasses.replace(parse(GOOD)[0], **{field: getattr(View(), field)})
    assert len(faults) == 1
    assert faults[0].startswith(f"The link's {name} is “{text[:40]}")
    assert "; expected " in faults[0]
    assert faults[0].endswith(". The default is shown.")
    assert len(faults[0]) < 250
    assert "\n" not in faults[0]


def test_every_field_of_the_view_is_tried_with_values_and_with_nonsense():
    assert {field.parameter: name for name, field in fields(View).items()} == {name: f for name, (f, _) in FIELDS.items()}
    assert {name for name, _ in NONSENSE} | {"edits"} == set(FIELDS) == set(GOOD)  # bad edits: see test_view.py


def test_each_fault_has_its_own_sentence():
    bad = dict(reversed(NONSENSE))
    view, faults = parse(bad)
    assert view == View()
    assert [sum(f"link's {name} " in fault for fault in faults) for name in bad] == [1] * len(bad)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("head", "last", "mean or a whole number"),
        ("width", "9", f"from 1 to {MAX_WIDTH}"),
        ("alpha", "nan", f"from 0 to {MAX_ALPHA}"),
        ("temperature", "-1", f"0, or a number from {MIN_TEMPERATURE:g} to {MAX_TEMPERATURE:g}"),
        ("top_k", "-1", "from 0 to 99999"),
        ("top_p", "0", "above 0, up to 1"),
        ("seed", "abc", f"from 0 to {MAX_SEED}"),
        ("branch", SEPARATOR.join("3456789") + "~10~11", f"at most {MAX_BRANCHES} branches"),
        ("branch", SEPARATOR.join(f"{n}-{IDS_OF['long'][8:]}" for n in range(3, 8)), "at most 512 tokens together"),
        ("branch", IDS_OF["full"], f"fewer than {MAX_TOKENS} tokens"),
        ("branch", "5-2-7", "</s> at the end alone"),
        ("path", IDS_OF["long"], f"up to {MAX_TOKENS} numbers"),
        ("sentence", "0", f"from 1 to {MAX_SENTENCES}"),
        ("rows", "x", "steps or shifted or training"),
        ("decode", "x", "greedy or beam or sample or yours"),
    ],
)
def test_the_sentence_says_what_would_do(name, text, expected):
    assert expected in parse({name: text})[1][0]
