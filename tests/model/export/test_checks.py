"""Checks: what a view states holds on it, what is not so fails, and a faulty line is told with its number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from model.__main__ import main
from model.checkpoint import load
from model.decoding.strategy import Decoding
from model.experiments.effects import head_effects
from model.export import check_forms, check_kinds, checks
from model.export.checks import KINDS, Lab, check, parse, view_checks
from model.inference.analyse import analyse
from model.inference.request import Request
from model.trace import Site
from tests.support import tiny

ROOT = Path(__file__).resolve().parents[3]
TEXT = "The red fox takes a red lamp."
SHORT = Decoding(max_total_tokens=6)
ASKED = [
    ({}, Request(TEXT, decoding=SHORT)),
    ({}, Request('A "red" lamp#2 in \\ "x" with step=1', target="Lo “varun” is\u2028 0.5 within")),
    (
        {},
        Request(
            TEXT, decoding=Decoding("beam", max_total_tokens=6, width=3), other_sentences=(tiny.OTHER,), extra_padding=1
        ),
    ),
    ({}, Request(TEXT, decoding=Decoding("sample", max_total_tokens=6, seed=4, temperature=1.5, top_k=9), prefix="Lo")),
    ({}, Request(TEXT, decoding=SHORT, mode="again", intervention=tiny.edited("off_cross.1", "window-2", "patch_enc.1_2"))),
    ({"family": "encoder-only", "decoder_layers": 0}, Request(TEXT)),
    ({"family": "decoder-only", "encoder_layers": 0}, Request(TEXT, decoding=Decoding(max_total_tokens=14))),
]


def stated(checkpoint, request: Request) -> tuple[str, ...]:
    analysis = analyse(checkpoint, request)
    places = [(site, head, 1) for site in analysis.full_pass.patterns for head in (None, 1)]
    return view_checks(checkpoint, analysis, 1, places)


@pytest.mark.parametrize("number", range(len(ASKED)))
def test_what_a_view_states_holds_on_it(tokenizer, number):
    changes, request = ASKED[number]
    checkpoint = tiny.checkpoint(tokenizer, **changes)
    said = stated(checkpoint, request)
    heads = 2 * len(analyse(checkpoint, request).full_pass.patterns)
    assert sum(line.startswith("head ") for line in said) == 2 * heads
    assert sum("leaks" in line for line in said) == ("family" not in changes) + 1
    lab = Lab(checkpoint)
    for each in parse("# what was found\n\n" + "\n".join(said) + "\n"):
        assert each.measure(lab).holds, each.text
        assert each.values["request"] == request
    assert "\n" not in check_forms.format_request(request)


def test_a_missing_mask_is_found_out(tokenizer):
    line = 'no later token leaks in "The red fox takes a lamp." with max_total_tokens=6'
    (check,) = parse(line)
    assert check.measure(Lab(tiny.checkpoint(tokenizer))).holds
    found = check.measure(Lab(tiny.checkpoint(tokenizer, causal=False)))
    assert (
        not found.holds
        and "earlier positions move; first: “" in found.description
        and "at decoder layer 1" in found.description
    )


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_example_of_a_kind_is_read_as_it(kind):
    (check,) = parse(kind.example)
    assert check.kind is kind
    assert f"`{kind.example}`" in check_kinds.table()


def test_the_page_of_checks_lists_all_kinds():
    assert check_kinds.table() in (ROOT / "docs/checks.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("how", "holds"),
    [
        ("at least 0.5", (False, True, True)),
        ("at most 0.5", (True, True, False)),
        ("0.5 within 0.1", (False, True, False)),
        ("-0.5 within 0.1", (False, False, False)),
    ],
)
def test_amounts(how, holds):
    amount = check_forms.read("{amount}", how)["amount"]
    assert tuple(amount.holds(value) for value in (0.3, 0.5, 0.7)) == holds
    assert not amount.holds(float("nan"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "the file has no check; expected lines such as"),
        ("# nothing", "the file has no check"),
        ("hello", "line 1: expected one of the forms of docs/checks.md"),
        ('\n\nhead cross.3.2 puts at least x of "a" on "b" in "c"', "line 3: expected “at least 0.9”"),
        ('head cross.3.2 puts 0.5 of "a" on "b" in "c"', "line 1: expected “at least 0.9”, “at most 0.1” or “0.5 within"),
        ('head middle.3.2 puts at least 0.5 of "a" on "b" in "c"', "expected a head such as cross.3.2, or cross.3.mean at"),
        ('head cross.0.2 puts at least 0.5 of "a" on "b" in "c"', "expected a head such as"),
        ('head cross.1.2 has charm at least 0.5 in "c"', "expected one of entropy"),
        ('head cross.1.2 puts at least 0.5 of a on "b" in "c"', "expected a text in double quotes at 'a on"),
        ('no later token leaks in "c" today', "expected the end of the line at ' today'"),
        ('no later token leaks in "c" with colour="red"', "expected one of target, prefix"),
        ('no later token leaks in "c" with extra_padding=1 extra_padding=2', "each once at 'extra_padding=2'"),
        ('no later token leaks in "c" with extra_padding=99', "expected a valid request (The padding is 99 tokens"),
        ('no later token leaks in "c" with edits=["off_middle"]', "expected a valid request (“off_middle” is"),
        ('no later token leaks in "c" with extra_padding="x"', "expected a valid request"),
        ('no later token leaks in ""', "expected a valid request (The sentence is empty"),
        ('not no later token leaks in "c"', "line 1: expected one of the forms of docs/checks.md"),
        ('not: not: no later token leaks in "c"', "expected one of the forms of docs/checks.md"),
        ('not: no later token leaks in "c" today', "expected the end of the line at ' today'"),
        ("no padding leaks in at most 101% of the sentences", "expected a share of at most 100% at 'at most 101%"),
        ('step 0 writes "a" with probability at least 1 in "c"', "expected a step, from 1 at '0 writes"),
        ('the translation of "a" was "b"', "expected “is”"),
    ],
)
def test_a_faulty_line_is_told_with_its_number(line, message):
    with pytest.raises(ValueError) as told:
        parse(line)
    assert message in str(told.value) and "\n" not in str(told.value)


def test_the_command_tells_which_hold(saved, tmp_path, capsys):
    path = tmp_path / "x.checks"
    said = [
        *stated(load(str(saved)), Request(TEXT, decoding=SHORT)),
        f'the translation of "{TEXT}" with max_total_tokens=6 is "Non."',
    ]
    path.write_text("\n".join(said[:-1]), encoding="utf-8")
    command = ["check", str(path), "--checkpoint", str(saved)]
    assert main(command) == 0
    assert capsys.readouterr().out.endswith(f"{len(said) - 1} of {len(said) - 1} hold on saved\n")
    path.write_text("\n".join(said), encoding="utf-8")
    assert main(command) == 1
    out = capsys.readouterr().out
    assert f"FAILS  line {len(said)}: the translation of" in out and f"{len(said) - 1} of {len(said)} hold" in out
    assert main([*command, "--json"]) == 1
    values = json.loads(capsys.readouterr().out)
    assert [row["holds"] for row in values["checks"]] == [True] * (len(said) - 1) + [False]
    assert [row["check"] for row in values["checks"]] == said


def test_shipped_checks_hold_on_their_checkpoint():
    found = parse((ROOT / "checkpoints/checks.txt").read_text(encoding="utf-8"))
    holds = {name: [check.measure(lab).holds for check in found] for name in ("en-fr", "en-fr-learned")
             for lab in [Lab(load(name))]}  # fmt: skip
    assert all(holds["en-fr"])
    assert not all(holds["en-fr-learned"])
    assert {check.kind.name for check in found} == set(KINDS)


CORPUS = ("The red fox takes a lamp.", "The old king paints a boat.", "A king sees a red lamp.")


def measured(lab, line: str, sentences=CORPUS):
    (check,) = parse(line)
    return check.measure(Lab(lab, sentences))


def test_a_check_over_a_corpus_has_share_and_interval(tokenizer):
    lab = tiny.checkpoint(tokenizer)
    found = measured(lab, "no padding leaks in every sentence")
    assert (found.holds, found.value, found.sentences) == (True, 1.0, 3)
    assert found.interval == pytest.approx((0.438, 1.0), abs=1e-3)
    single = [analyse(lab, Request(text)) for text in CORPUS]
    values = sorted(checks.metric_of(each, check_forms.Head(Site("encoder", 0), 0), "entropy") for each in single)
    line = f"head enc.1.1 has entropy at least {(values[0] + values[1]) / 2:.6f} in at least %s%% of the sentences"
    assert measured(lab, line % 66).holds and not measured(lab, line % 67).holds
    found = measured(lab, line % 66.6)
    assert found.description.startswith("2 of 3 sentences, 66.7% (95% interval ") and found.value == pytest.approx(2 / 3)
    assert "; the first that fails is sentence " in found.description


def test_sentences_without_the_token_do_not_count(tokenizer):
    lab = tiny.checkpoint(tokenizer)
    found = measured(lab, 'head enc.1.1 puts at least 0 of "red" on "red" in every sentence')
    assert (found.holds, found.sentences) == (True, 2)
    found = measured(lab, 'head enc.1.1 puts at least 0 of "owl" on "red" in every sentence')
    assert not found.holds and found.description.startswith("none of 3 sentences has the parts of this check; sentence 1: ")
    assert "give --data FILE" in measured(lab, "no padding leaks in every sentence", ()).description


def test_a_corpus_can_have_a_largest_share(tokenizer):
    lab = tiny.checkpoint(tokenizer)
    line = 'head enc.1.1 puts at least 0 of "red" on "red" in %s'
    assert not measured(lab, line % "no sentence").holds and measured(lab, line % "at most 100% of the sentences").holds
    impossible = line.replace("at least 0", "at least 2")
    assert (
        measured(lab, impossible % "no sentence").holds and measured(lab, impossible % "at most 0% of the sentences").holds
    )
    found = measured(lab, line % "at most 99% of the sentences")
    assert not found.holds and found.description.endswith("; the first that holds is sentence 1")


def test_seven_of_a_hundred_are_at_least_7_per_cent():
    assert check_forms.read("{request}", "at least 7% of the sentences")["request"].holds(7 / 100)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_negated_check_holds_where_the_check_fails(kind, tokenizer):
    lab = Lab(tiny.checkpoint(tokenizer), CORPUS)
    source = json.dumps(kind.example.partition('in "')[2].partition('"')[0])
    examples = {kind.example, kind.example.partition(f" in {source}")[0] + " in every sentence"}
    for example in examples if kind.name != "translation" else {kind.example}:
        plain, negated = parse(f"{example}\nnot: {example}")
        assert (plain.is_negated, negated.is_negated, negated.kind, negated.values) == (False, True, kind, plain.values)
        one, other = plain.measure(lab), negated.measure(lab)
        assert (one.check, other.check) == (example, f"not: {example}")
        if one.value is not None or kind.name in ("later", "padding", "translation"):
            assert one.holds is not other.holds
        else:  # the tiny checkpoint lacks a part
            assert (one.holds, other.holds) == (False, False) and one.description == other.description


def test_a_negated_check_finds_a_missing_mask(tokenizer):
    line = 'not: no later token leaks in "The red fox takes a lamp." with max_total_tokens=6'
    (with_mask,) = check(tiny.checkpoint(tokenizer), line)
    (without,) = check(tiny.checkpoint(tokenizer, causal=False), line)
    assert (with_mask.holds, without.holds) == (False, True)
    assert str(without).startswith(f"holds: {line} (measured: ") and str(with_mask).startswith("FAILS: not: no later")


@pytest.mark.parametrize("start", ["", "not: "])
@pytest.mark.parametrize(
    "form",
    [
        'head %s puts at least 0 of "red" on "red" in ',
        "head %s has entropy at least 0 in ",
        "head %s off changes the log-probability of target by at least 0 in ",
    ],
)
@pytest.mark.parametrize("where", ["every sentence", "no sentence", '"The red fox takes a lamp."'])
@pytest.mark.every(3)
def test_a_missing_head_is_named_with_the_heads_that_exist(tokenizer, start, form, where):
    lab = tiny.checkpoint(tokenizer)
    has = "this model has 2 layers of cross-attention with 2 heads each; name one of cross.1.1 to cross.2.2"
    for head in ("cross.3.1", "cross.2.3", "cross.9.mean"):
        found = measured(lab, start + form % head + where)
        assert (found.holds, found.description) == (False, f"there is no {head}: {has}")
    encoder = tiny.checkpoint(tokenizer, family="encoder-only", decoder_layers=0)
    found = measured(encoder, start + "head cross.1.1 has entropy at least 0 in " + where)
    message = "there is no cross.1.1: this model has no cross-attention; name a head of encoder self-attention (enc)"
    assert (found.holds, found.description) == (False, message)
    found = measured(encoder, f"{start}no later token leaks in {where}")
    assert (found.holds, found.description) == (False, "this model has no decoder, so there is no later token")


def test_checks_are_measured_in_python(tokenizer):
    lab = tiny.checkpoint(tokenizer)
    lines = ["no padding leaks in every sentence", "not: no padding leaks in at least 1% of the sentences"]
    for given in (lines, "# two\n" + "\n".join(lines)):
        found = check(lab, given, [*CORPUS, CORPUS[0]])
        assert [(each.check, each.holds, each.sentences) for each in found] == [(lines[0], True, 3), (lines[1], False, 3)]
    with pytest.raises(ValueError, match="the checks, line 1: expected one of the forms"):
        check(lab, "hello")
    with pytest.raises(ValueError, match=r"sentences is the text 'The fox.'; expected a list of texts"):
        check(lab, lines, "The fox.")


def test_a_head_off_has_the_effect_of_head_effects(tokenizer):
    lab = tiny.checkpoint(tokenizer)
    request = Request(TEXT, decoding=SHORT)
    (effect, *_) = head_effects(lab, request, kinds=("cross",))
    line = f'head cross.1.1 off changes the log-probability of target by %s in "{TEXT}" with max_total_tokens=6'
    found = measured(lab, line % f"{effect.change:.4f} within 0.001")
    assert found.holds and found.value == pytest.approx(effect.change, abs=1e-4)
    assert not measured(lab, line % f"at least {effect.change + 1:.4f}").holds
    assert "no prompt" in measured(lab, line.replace("of target", "of continuation") % "at least 0").description


def test_the_command_reads_a_corpus(saved, tmp_path, capsys, monkeypatch):
    path, data = tmp_path / "x.checks", tmp_path / "x.tsv"
    path.write_text("no padding leaks in every sentence\n", encoding="utf-8")
    negative = tmp_path / "negative.checks"
    negative.write_text("not: no padding leaks in every sentence\n", encoding="utf-8")
    data.write_text("".join(f"{text}\tx\n" for text in (*CORPUS, CORPUS[0])), encoding="utf-8")
    command = ["check", str(path), "--checkpoint", str(saved), "--json"]
    assert main([*command, "--data", str(data)]) == 0
    (row,) = json.loads(capsys.readouterr().out)["checks"]
    assert (row["value"], row["sentences"]) == (1.0, 3) and row["interval"][1] == 1.0
    assert main([*command, "--data", str(data), "--limit", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["checks"][0]["sentences"] == 2
    assert main(command) == 1
    assert "give --data FILE" in capsys.readouterr().out
    assert main(["check", str(negative), *command[2:], "--data", str(data)]) == 1
    (row,) = json.loads(capsys.readouterr().out)["checks"]
    assert (row["negated"], row["holds"], row["check"]) == (True, False, "not: no padding leaks in every sentence")
