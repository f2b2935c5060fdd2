"""Given tokens are read in one pass, as texts or as ids, up to 1,024 of them; nothing is decoded."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from model import Intervention, Request, Site, analyse, run
from model.config import END
from model.decoding import search
from model.decoding.strategy import Decoding
from model.export import schema
from model.inference import analyse as entry
from model.inference.request import RequestError
from tests.support import tiny

SOURCE, TARGET = "The red fox sees a lamp.", "Lo varun roji mira una lumel."
FAMILIES = [{}, {"family": "decoder-only", "encoder_layers": 0}, {"family": "encoder-only", "decoder_layers": 0}]


@pytest.fixture
def lab(tokenizer):
    return tiny.checkpoint(tokenizer)


@pytest.fixture
def writer(tokenizer):
    return tiny.checkpoint(tokenizer, **FAMILIES[1])


def assert_same(one, two) -> None:
    assert one.trace.outputs == two.trace.outputs and one.trace.source == two.trace.source
    for site, pattern in one.trace.patterns.items():
        np.testing.assert_array_equal(pattern, two.trace.patterns[site])
    assert one.log_prob == two.log_prob


def test_texts_and_their_ids_are_the_same(lab):
    ids = [*lab.source_tokenizer.encode(SOURCE), END]
    target_ids = np.array([*lab.target_tokenizer.encode(TARGET), END])
    expected = analyse(lab, Request(SOURCE, target=TARGET))
    assert_same(run(lab, SOURCE, target=TARGET), expected)
    assert_same(run(lab, ids=ids, target_ids=target_ids), expected)
    assert run(lab, ids=ids, target_ids=target_ids).request.source == SOURCE
    assert analyse(lab, Request(source_ids=ids)).translation == analyse(lab, Request(SOURCE)).translation


def test_nothing_is_decoded(lab, writer):
    with mock.patch.object(search, "_Steps", side_effect=AssertionError("it decodes")):
        run(lab, SOURCE, target=TARGET)
        run(writer, SOURCE)
        run(writer, SOURCE, target=TARGET)


def test_a_language_model_predicts_each_token_of_a_text(writer):
    ids = writer.target_tokenizer.encode(SOURCE)
    found = run(writer, SOURCE)
    assert found.trace.outputs.ids == (*ids, END) and found.prompt_length == 0
    assert run(writer, ids=ids).trace.outputs.ids == tuple(ids)
    continued = run(writer, SOURCE, target=TARGET)
    assert continued.prompt_length == len(ids) and continued.trace.outputs.ids[: len(ids)] == tuple(ids)


def test_edits_are_compared_with_the_same_tokens(lab):
    edit = Intervention().off(Site("cross", 1), head=1)
    found = run(lab, SOURCE, target=TARGET, intervention=edit)
    assert_same(found, analyse(lab, Request(SOURCE, target=TARGET, intervention=edit)))
    assert found.baseline.trace.outputs == found.trace.outputs


@pytest.mark.parametrize("family", FAMILIES, ids=["encoder-decoder", "decoder-only", "encoder-only"])
def test_a_text_of_1024_tokens_is_read(tokenizer, family):
    lab = tiny.checkpoint(tokenizer, **family)
    ids = [*(tokenizer.encode(SOURCE) * 200)[:1023], END]
    found = run(lab, ids=ids, target_ids=ids if not family else ())
    assert max(map(max, (pattern.shape for pattern in found.trace.patterns.values()))) == 1024
    with pytest.raises(RequestError, match=r"1,025 tokens.*at most 1,024"):
        run(lab, ids=[*ids, END], target_ids=ids if not family else ())


def test_learned_positions_end_earlier(tokenizer):
    lab = tiny.checkpoint(tokenizer, positions="learned", max_positions=200)
    with pytest.raises(RequestError, match=r"201 tokens.*at most 200"):
        run(lab, ids=[7] * 201, target_ids=[7])


def test_memory_is_checked_before(lab, monkeypatch):
    with pytest.raises(RequestError, match="would take"):
        run(lab, ids=[7] * 500, target_ids=[7] * 500, max_bytes=10**6)
    monkeypatch.setattr(entry, "available_memory", lambda: 10**6)
    with pytest.raises(RequestError, match="would take"):
        run(lab, ids=[7] * 500, target_ids=[7] * 500)


def test_a_long_prompt_is_continued_on_request(writer):
    ids = (writer.target_tokenizer.encode(SOURCE) * 40)[:300]
    found = analyse(
        writer, Request(source_ids=ids, max_tokens=512, decoding=Decoding(max_total_tokens=512, max_new_tokens=3))
    )
    assert found.trace.outputs.ids[:300] == tuple(ids) and len(found.trace.outputs) <= 303
    with pytest.raises(RequestError, match="300 tokens; expected at most 127"):
        analyse(writer, Request(source_ids=ids))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "No target is given; expected target= or target_ids="),
        ({"text": "A", "ids": [5], "target": "B"}, "A text and ids are given"),
        ({"text": "A", "target": "B", "target_ids": [5]}, "given as text and as ids"),
        ({"ids": [5, 10**6], "target": "B"}, "The source has the id 1000000; expected 0 to"),
        ({"ids": [5], "target_ids": [-1]}, "The target has the id -1; expected 0 to"),
        ({"target": "B"}, "The sentence is empty"),
        ({"text": "A", "target": " "}, "The target is empty"),
        ({"text": "A", "target": "B", "max_tokens": 1025}, "The limit is 1025 tokens; expected 1 to 1024"),
        ({"ids": [5], "target": "B", "second_sentence": "C"}, "Source ids and another sentence"),
    ],
)
def test_bad_input_is_one_sentence(lab, options, message):
    with pytest.raises(RequestError, match=message):
        run(lab, **options)


def test_no_text_is_refused_by_a_language_model(writer):
    with pytest.raises(RequestError, match="The sentence is empty"):
        run(writer)


def test_ids_survive_an_export(lab):
    request = Request("The", source_ids=(7, 8, END), target_ids=(9, END), max_tokens=300)
    assert schema.parse_request(schema.request_values(request)) == request
    assert "source_ids" not in schema.request_values(Request("The"))


def test_a_representation_has_the_chosen_fields_alone(lab):
    assert repr(Request("A", extra_padding=2)) == "Request(source='A', extra_padding=2)"
    assert repr(Decoding("beam", width=3)) == "Decoding(strategy='beam', width=3)"
    assert eval(repr(Intervention(causal_mask=False))) == Intervention(causal_mask=False)


def test_results_of_long_texts_print_short(lab):
    found = run(lab, ids=[7] * 300, target_ids=[9] * 300)
    results = (found, found.request, found.trace, found.trace.inputs, found.tree, found.hypothesis)
    assert all(len(repr(result)) < 1500 for result in (*results, found.trace.view(("cross", 0), 0)))


def test_a_long_continuation_ends_after_the_requested_tokens(writer):
    ids = (writer.target_tokenizer.encode(SOURCE) * 40)[:300]
    request = Request(source_ids=ids, max_tokens=512, decoding=Decoding(max_total_tokens=512, max_new_tokens=3))
    found = analyse(writer, request)
    assert found.hypothesis.is_finished or found.has_all_requested_tokens
    assert not any("limit of 303" in note for note in found.notes)
