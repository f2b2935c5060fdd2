"""What a link carries: every field of the view, there and back; what is nonsense."""

from __future__ import annotations

import dataclasses
import random
from urllib.parse import parse_qsl, urlencode

import pytest

from model.config import MAX_TOKENS
from model.decoding.sampling import MIN_TEMPERATURE
from model.decoding.strategy import MAX_ALPHA, MAX_SEED
from model.inference.request import MAX_SENTENCES
from tests.support.link_examples import FIELDS, GOOD, IDS_OF, NONSENSE
from viz.fields import fields
from viz.links import link, parse
from viz.values import MAX_BRANCHES, SEPARATOR
from viz.view import MAX_TEMPERATURE, MAX_WIDTH, View


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
    beside = {each.parameter for each in fields(View).values() if each.stated_with == field}
    assert set(link(view)) == ({name} | beside if value != getattr(View(), field) else set())
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
