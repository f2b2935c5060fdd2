"""Links: every field there and back, any text is one fault or a value, and a field needs its declaration only."""

import dataclasses
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from model.config import MAX_TOKENS
from model.decoding.sampling import MIN_TEMPERATURE
from model.decoding.strategy import MAX_ALPHA, MAX_SEED
from tests.support.link_examples import FIELDS, GOOD
from viz.state import values
from viz.state.fields import fields, view_field
from viz.state.links import link, parse
from viz.state.values import MAX_BRANCH_TOKENS, MAX_BRANCHES, MAX_LINK_TEXT, SEPARATOR
from viz.state.view import MAX_TEMPERATURE, MAX_WIDTH, View, can_hold

QUICK = settings(derandomize=True, deadline=None, max_examples=150)
FULL = "-".join(["9"] * MAX_TOKENS)
WORDS = ("", "on", "off", "True", "mean", "None", "nan", "inf", "-1", "0", "1.5", "1e2", "+1", "1_0", " 1", "١", "²", "2-2")
WORDS += (FULL, "9" * 5000, "__class__", "../../etc", "a\\b", "a\x00", "x" * 10_000, "<b>", "5-2-7", "5--6", "5~6")
FROM_1 = {"step", "layer", "width", "sentence", "mass", "near_w", "large", "stage", "probe", "beside_layer", "size_l"}
NUMBERS = {name: values for name, (_, values) in FIELDS.items() if {type(each) for each in values} <= {int, type(None)}}


def over_the_wire(params: dict[str, str]) -> dict[str, str]:
    """The parameters after they have stood in an address."""
    return dict(parse_qsl(urlencode(params), keep_blank_values=True, strict_parsing=bool(params)))


@pytest.mark.parametrize("name", FIELDS)
def test_every_value_comes_back_through_its_parameter(name):
    field, listed = FIELDS[name]
    for value in listed:
        view = dataclasses.replace(View(), **{field: value})
        beside = {each.parameter for each in fields(View).values() if each.stated_with == field}
        assert set(link(view)) == ({name} | beside if value != getattr(View(), field) else set())
        assert parse(over_the_wire(link(view))) == (view, ()), value


@QUICK
@given(st.data())
def test_any_view_comes_back_through_its_link(data):
    chosen = data.draw(st.sets(st.sampled_from(sorted(FIELDS)), max_size=40))
    view = View(**{FIELDS[name][0]: data.draw(st.sampled_from(FIELDS[name][1])) for name in sorted(chosen)})
    if "intervention" in {FIELDS[name][0] for name in chosen}:
        masks = {name: data.draw(st.booleans()) for name in ("causal_mask", "padding_mask")}
        view = dataclasses.replace(view, intervention=dataclasses.replace(view.intervention, **masks))
    numbers = {"alpha": st.floats(0, MAX_ALPHA), "top_p": st.floats(0.01, 1), "seed": st.integers(0, MAX_SEED)}
    view = dataclasses.replace(view, **{name: data.draw(each) for name, each in numbers.items()})
    assert parse(over_the_wire(link(view))) == (view, ())


@QUICK
@given(
    st.sampled_from(sorted(set(FIELDS) - {"edits", "patched"})),
    st.one_of(st.sampled_from(WORDS), st.text(max_size=30), st.floats().map(str)),
)
@example("checkpoint", ".")
@example("pad", "17")
@example("find", "cross_0_1")
@example("branch", SEPARATOR.join("3456789") + "~10~11")
def test_any_text_of_a_parameter_is_a_value_or_one_fault(name, text):
    sent = over_the_wire(GOOD | {name: text}) if max(text, default="") <= "\ud7ff" else GOOD | {name: text}
    view, faults = parse(sent)
    if not faults:
        assert parse(link(view)) == (view, ())
        return
    assert view == parse({other: each for other, each in GOOD.items() if other != name})[0]
    (fault,) = faults
    assert fault.startswith(f"The link's {name} is “{text[:40]}") and "; expected " in fault
    assert fault.endswith(". The default is shown.") and len(fault) < 290


@pytest.mark.parametrize("name", sorted(set(NUMBERS) - {"head", "other_head", "token"}))
def test_a_number_beyond_its_limits_is_refused(name):
    least = 0 if name in FROM_1 else -1
    most = max(value for value in NUMBERS[name] if value is not None)
    for beyond in (least, fields(View)[FIELDS[name][0]].value.numbered(most) + 1):
        view, faults = parse({name: str(beyond)})
        assert (view, len(faults)) == (View(), 1), beyond


def test_words_of_every_choice_are_checked():
    choices = ("show", "mode", "kind", "decode", "order", "part", "why")
    for name, (field, listed) in FIELDS.items():
        if all(isinstance(value, bool) for value in listed) or name in choices:
            for nonsense in ("", "Maybe", "__class__"):
                assert parse({name: nonsense})[0] == View() and len(parse({name: nonsense})[1]) == 1, (name, field)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("head", "last", "mean or a whole number"),
        ("width", "9", f"from 1 to {MAX_WIDTH}"),
        ("alpha", "nan", f"from 0 to {MAX_ALPHA}"),
        ("temperature", "2.01", f"0, or a number from {MIN_TEMPERATURE:g} to {MAX_TEMPERATURE:g}"),
        ("top_p", "0", "above 0, up to 1"),
        ("pe_d", "7", "even"),
        ("checkpoint", "../../etc", "the name of a checkpoint"),
        ("device", "cuda:999", "expected auto, cpu, mps, cuda, or cuda:1"),
        ("branch", SEPARATOR.join("3456789") + "~10~11", f"at most {MAX_BRANCHES} branches"),
        ("branch", SEPARATOR.join(f"{n}-{FULL[6:]}" for n in range(3, 8)), "at most 512 tokens together"),
        ("branch", FULL, f"fewer than {MAX_TOKENS} tokens"),
        ("branch", "5-2-7", "</s> at the end alone"),
        ("path", f"{FULL}-9", f"up to {MAX_TOKENS} numbers"),
        ("text", "x" * 10_000, f"at most {MAX_LINK_TEXT} characters"),
        ("room", "x" * 13, "; expected"),
    ],
)
def test_the_fault_says_what_is_expected(name, text, expected):
    view, (fault,) = parse({name: text})
    assert view == View() and expected in fault


def test_defaults_and_foreign_parameters_are_ignored():
    assert link(View()) == {}
    assert parse({}) == parse({"head": "2", "causal": "on", "pad": "0", "device": "auto"}) == (View(), ())
    assert parse({"utm_source": "mail", "embed": "true", "source": "Nine owls."}) == (View(), ())
    assert link(parse({"device": "cuda:15"})[0]) == {"device": "cuda:15"}


def test_a_link_holds_all_fields_and_as_many_branches_as_allowed():
    view, faults = parse(over_the_wire(GOOD))
    assert faults == () and link(view) == GOOD and set(FIELDS) == set(GOOD)
    declared = {p: name for name, field in fields(View).items() for p in (field.parameter, *field.attributes)}
    assert declared == {name: f for name, (f, _) in FIELDS.items()}
    each = MAX_BRANCH_TOKENS // MAX_BRANCHES
    view = View(branches=tuple((*range(7000, 7000 + each - 1), 7900 + n) for n in range(MAX_BRANCHES)))
    assert len(link(view)["branch"]) <= MAX_LINK_TEXT and parse(link(view)) == (view, ())
    assert parse({"branch": "5-6~7~5-6"}) == (View(branches=((5, 6), (7,))), ())


PLAIN = st.none() | st.booleans() | st.integers() | st.floats()
JUNK = PLAIN | st.text(max_size=20) | st.lists(st.integers(), max_size=2)


@QUICK
@given(st.sampled_from(sorted(fields(View))), JUNK)
def test_a_field_holds_what_its_link_gives_back(name, junk):
    assert can_hold(name, getattr(View, name))
    if can_hold(name, junk) and not fields(View)[name].value.free:
        view = dataclasses.replace(View(), **{name: junk})
        assert parse(link(view))[0] == view


def test_only_sentences_and_targets_may_be_longer_than_a_link():
    texts = {"source", "own_text", "second", "target", "other_text"}
    assert {name for name in fields(View) if can_hold(name, "x" * 300_000)} == texts


@dataclasses.dataclass(frozen=True)
class Wider(View):
    made_up: int = view_field(3, "made", values.number(1, 9), undo="step", renews=("step",))


def test_a_registered_field_reaches_the_link():
    assert link(Wider()) == {} and link(Wider(made_up=4, step=1)) == {"step": "2", "made": "4"}
    assert parse({"made": "4", "step": "2"}, Wider) == (Wider(made_up=4, step=1), ())
    fault = "The link's made is “x”; expected a whole number from 1 to 9. The default is shown."
    assert parse({"made": "x", "step": "2"}, Wider) == (Wider(step=1), (fault,))
    assert link(View(find=("encoder", 2, 1))) == {"layer": "3", "head": "2", "find": "encoder_3_2"}  # stated with another


def test_a_wrong_declaration_is_refused():
    number, unknown = values.number(1, 9), "the field made_up names stride, which is no field"
    for field, message in (
        (7, "the view's field made_up declares nothing"),
        (view_field(1, "step", number), "the link's parameter step has two fields"),
        (view_field(1, "made", number, renews=("stride",)), unknown),
        (view_field(1, "made", number, stated_with="stride"), unknown),
        (view_field(1, "made", number, drops=("stride",)), unknown),
    ):
        with pytest.raises(ValueError, match=message):
            fields(dataclasses.make_dataclass("Made", [("made_up", int, field)], bases=(View,), frozen=True))
    with pytest.raises(ValueError, match="undo is 'always'; expected one of no, "):
        view_field(1, "made", number, undo="always")
