"""One definition of the score: analyses, effects and sweeps sum over the same tokens in every family."""

from __future__ import annotations

import dataclasses
from unittest import mock

import numpy as np
import pytest
import torch

from model.decoding import search
from model.edits.intervention import Intervention
from model.experiments.effects import effects, head_effects, mask_effects
from model.experiments.sweep import sweep
from model.inference.analyse import analyse, run
from model.inference.request import Request, RequestError
from model.inference.source_reading import fill_mask_results
from model.readings.positions.sentence_positions import try_variants
from model.text.tokenizer import Tokenizer
from tests.support import tiny

TEXT = "The red fox takes a lamp."
READER = {"family": "encoder-only", "decoder_layers": 0, "source_start": True}
FAMILIES = {
    "translator": ({}, TEXT, "target"),
    "GPT": ({"family": "decoder-only", "encoder_layers": 0}, TEXT, "continuation"),
    "BERT with blanks": (READER, "The red ___ takes a ___.", "blanks"),
    "BERT without a blank": (READER, TEXT, "text"),
    "classifier": (None, TEXT, "label"),
}
CODES = ("off_{}.1", "off_{}.2", "window-2", "scaling-off")


@pytest.fixture(scope="module")
def blank_tokenizer():
    return Tokenizer.train(tiny.SENTENCES, 400, blanks=True)


@pytest.fixture(params=FAMILIES)
def scored(request, blank_tokenizer):
    """A model of a family, a text, and the name of the tokens that are scored."""
    changes, text, name = FAMILIES[request.param]
    if changes is None:
        return tiny.classifier(blank_tokenizer, dtype=torch.float64), text, name
    return tiny.checkpoint(blank_tokenizer, dtype=torch.float64, **changes), text, name


def edits_of(lab) -> list[Intervention]:
    stack = "enc" if "encoder" in lab.config.kinds else "dec"
    return [tiny.edited(code.format(stack)) for code in CODES]


def changes(lab, text: str, edits) -> list[float]:
    """The change of `log_prob` under each edit, each by an analysis of its own."""
    found = [analyse(lab, Request(text, intervention=edit)) for edit in edits]
    return [each.log_prob - each.baseline.log_prob for each in found]


def test_every_head_has_one_change_everywhere(scored):
    lab, text, name = scored
    heads, swept = head_effects(lab, Request(text)), sweep(lab, [text])
    single = [Intervention(edits=(each.edit,)) for each in heads]
    expected = changes(lab, text, single)
    assert [each.change for each in heads] == pytest.approx(expected, abs=1e-4, rel=1e-4)
    assert swept.change[0] == pytest.approx(expected, abs=1e-4, rel=1e-4)
    assert {each.scored_tokens for each in heads} == set(swept.scored_tokens) == {name}
    assert analyse(lab, Request(text)).scored_tokens == name
    assert max(map(abs, expected)) > 1e-3


def test_every_other_edit_has_one_change_everywhere(scored):
    lab, text, name = scored
    edits = edits_of(lab)
    found, expected = effects(lab, Request(text), edits), changes(lab, text, edits)
    assert [each.change for each in found] == pytest.approx(expected, abs=1e-4, rel=1e-4)
    assert sweep(lab, [text], edits).change[0] == pytest.approx(expected, abs=1e-4, rel=1e-4)
    assert {each.scored_tokens for each in (*found, *mask_effects(lab, Request(text)).values())} == {name}
    assert all(len(each.labels) == len(each.before) == len(each.after) for each in found)
    side = "source" if "encoder" in lab.config.kinds else "target"
    without = tiny.edited(f"{side}-positions_off")
    (variant,) = try_variants(lab, Request(text), analyse(lab, Request(text)), without.edits)
    assert variant.change == pytest.approx(changes(lab, text, [without])[0], abs=1e-4, rel=1e-4)


def test_the_prompt_of_a_language_model_is_not_scored(blank_tokenizer):
    lab = tiny.checkpoint(blank_tokenizer, **FAMILIES["GPT"][0])
    found = analyse(lab, Request(TEXT, target="Lo varun."))
    own = len(lab.target_tokenizer.encode("Lo varun.")) + 1
    assert found.prompt_length == len(found.trace.outputs) - own > 0
    (effect,) = effects(lab, Request(TEXT, target="Lo varun."), edits_of(lab)[:1])
    assert effect.labels == found.trace.outputs.labels[found.prompt_length :]
    for effect in mask_effects(lab, Request(TEXT, target="Lo varun.")).values():
        assert effect.labels == found.trace.outputs.labels[found.prompt_length :]
    assert sweep(lab, [(TEXT, "Lo varun.")], edits_of(lab)).tokens.tolist() == [own]
    values = found.to_dict()
    assert values["scored_tokens"] == "continuation" and values["log_prob"] == pytest.approx(found.log_prob, abs=1e-6)


def test_classifier_keeps_the_score_of_its_first_label(blank_tokenizer):
    lab = tiny.classifier(blank_tokenizer)
    plain = analyse(lab, Request(TEXT))
    (label,) = plain.trace.predicted_axis.ids
    turned = plain.trace.log_probs.copy()
    turned[0, label] = -9.0
    edited = dataclasses.replace(plain, trace=dataclasses.replace(plain.trace, log_probs=turned), baseline=plain)
    assert edited.trace.predicted_axis.ids != (label,)
    assert edited.log_prob == -9.0


READS = {"family": "encoder-only", "decoder_layers": 0, "source_start": True}
OFF = Intervention(scaling=False)
TEXTS = ("The red ___ sees a ___.", "The red fox takes a lamp.")


@pytest.fixture(scope="module")
def reader():
    return tiny.checkpoint(Tokenizer.train(tiny.SENTENCES, 400, blanks=True), **READS)


def edited(reader, text: str, edit: Intervention = OFF):
    return analyse(reader, Request(text, intervention=edit))


def test_padding_is_counted_nowhere(reader):
    for text in TEXTS:
        alone, padded = (analyse(reader, Request(text, extra_padding=pad)) for pad in (0, 3))
        assert padded.log_prob == pytest.approx(alone.log_prob, abs=1e-4)
        assert padded.trace.scored_rows == alone.trace.scored_rows


def test_the_change_follows_what_fills_a_blank(reader):
    now = edited(reader, TEXTS[0])
    told = fill_mask_results(now.baseline, reader)
    for each in told:
        place = each["place"] - 1
        token = now.baseline.trace.scored_axis.ids[place]
        assert now.probability_change.before[place] == pytest.approx(each["probability"], abs=1e-5)
        assert now.probability_change.after[place] == pytest.approx(float(np.exp(now.trace.log_probs[place, token])))
    assert len(told) == 2 and "<mask>" not in now.probability_change.labels


GIVEN = "Lo varun."


@pytest.fixture(scope="module")
def writer(blank_tokenizer):
    return tiny.checkpoint(blank_tokenizer, dtype=torch.float64, **FAMILIES["GPT"][0])


def test_each_score_sums_its_tokens(writer):
    request, (edit, *_) = Request(TEXT, target=GIVEN), edits_of(writer)
    prompt, ids = len(writer.target_tokenizer.encode(TEXT)), analyse(writer, request).trace.outputs
    places = {"target": slice(prompt, None), "continuation": slice(prompt, None), "all": slice(None), (2, 5): slice(2, 5)}
    (every,) = effects(writer, request, [edit], score="all")
    for score, own in places.items():
        (effect,) = effects(writer, request, [edit], score=score)
        assert effect.labels == ids.labels[own]
        assert effect.change == pytest.approx(float((every.after - every.before)[own].sum()), rel=1e-5, abs=1e-6)
        swept = sweep(writer, [(TEXT, GIVEN)], [edit], score=score)
        assert swept.change[0, 0] == pytest.approx(effect.change, abs=1e-5)
        heads = head_effects(writer, request, score=score)
        single = Intervention(edits=(heads[0].edit,))
        assert heads[0].change == pytest.approx(effects(writer, request, [single], score=score)[0].change, abs=1e-5)
        assert {effect.scored_tokens, *swept.scored_tokens, heads[0].scored_tokens} == {
            score if isinstance(score, str) else "tokens 2:5"
        }
        assert mask_effects(writer, request, score=score)["causal_mask"].labels == effect.labels


def test_a_given_text_is_never_decoded(writer):
    with mock.patch.object(search, "_Steps", side_effect=AssertionError("it decodes")):
        found = sweep(writer, [TEXT], score="all")
        sweep(writer, [(TEXT, GIVEN)], score="target")
    assert found.tokens.tolist() == [len(writer.target_tokenizer.encode(TEXT)) + 1]
    edit = found.edits[0]
    expected = run(writer, TEXT, intervention=edit)
    assert expected.scored_tokens == "all"
    assert found.change[0, 0] == pytest.approx(expected.log_prob - expected.baseline.log_prob, abs=1e-5)


def test_the_continuation_can_be_short(writer):
    found = sweep(writer, [TEXT], edits_of(writer), max_new_tokens=3)
    assert 1 <= found.tokens[0] <= 3


@pytest.mark.parametrize(
    ("family", "score", "message"),
    [
        ("GPT", "target", "No target is given; expected one, or score='continuation'"),
        ("GPT", "best", "The score is 'best'; expected 'target', 'continuation', 'all' or a span"),
        ("GPT", (3, 3), r"The span is \(3, 3\); expected 0 <= start < end <= "),
        ("GPT", (0, 999), r"The span is \(0, 999\)"),
        ("translator", "continuation", "This model has no prompt"),
        ("BERT without a blank", "all", "This model has no decoder. It is scored on the text"),
    ],
)
def test_a_score_that_the_model_lacks_is_one_sentence(blank_tokenizer, family, score, message):
    lab = tiny.checkpoint(blank_tokenizer, **FAMILIES[family][0])
    for measure in (lambda: head_effects(lab, Request(TEXT), score=score), lambda: sweep(lab, [TEXT], score=score)):
        with pytest.raises(RequestError, match=message):
            measure()
