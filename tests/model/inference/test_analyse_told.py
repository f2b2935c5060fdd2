"""What an analysis tells beside its arrays: rare words, how the target came about, JSON."""

from __future__ import annotations

import json

import pytest

from model.decoding.strategy import Decoding
from model.inference import passes, size
from model.inference.analyse import analyse
from model.inference.request import Request, RequestError
from tests.support import tiny
from tests.support.analyse_helpers import SHORT, TARGET, TEXT, UNCAUSAL, assert_same_bits


def test_rare_words_are_told_with_their_number(tiny_checkpoint):
    words = {"the": 900, "fox": 5, "lamp": 4, "boat": 1}
    known = tiny.with_seen(tiny_checkpoint, words)
    found = analyse(known, Request("the lamp zq fox boat zq", target=TARGET, pad=3))
    assert [(word.text, word.count) for word in found.rare_words] == [("lamp", 4), ("zq", 0), ("boat", 1), ("zq", 0)]
    text = known.source_tokenizer.segments(found.trace.source.ids)
    assert "".join(text[i] for i in found.rare) == " lamp zq boat zq"
    assert "Rare in training: lamp (4 times), zq (never), boat (once)." in found.notes
    for quiet in (analyse(known, Request("the fox", target=TARGET)), analyse(tiny_checkpoint, Request("zq", target=TARGET))):
        assert quiet.rare == quiet.rare_words == () and not any("Rare" in note for note in quiet.notes)


def test_the_dictionary_is_json(tiny_checkpoint):
    found = analyse(tiny_checkpoint, Request(TEXT, target=TARGET))
    values = json.loads(json.dumps(found.to_dict()))
    assert values["source"] == TEXT
    assert values["translation"] == TARGET
    assert values["finished"] is True
    assert values["notes"] == list(found.notes)
    assert values["source_tokens"] == list(found.trace.source.labels)
    assert [t["token"] for t in values["tokens"]] == list(found.trace.outputs.labels)
    assert sum(t["log_prob"] for t in values["tokens"]) == pytest.approx(values["log_prob"], abs=1e-4)


@pytest.mark.parametrize(
    ("changes", "traces"),
    [({}, 1), ({"intervention": UNCAUSAL}, 2), ({"intervention": UNCAUSAL, "mode": "again"}, 3)],
    ids=["plain", "edited", "again"],
)
def test_too_large_an_analysis_is_refused_first(tiny_checkpoint, monkeypatch, changes, traces):
    request = Request(TEXT, decoding=SHORT, **changes)
    found = analyse(tiny_checkpoint, request)
    source, target = len(found.trace.source), len(found.trace.outputs)
    need = traces * size.trace_bytes(tiny_checkpoint.config, source, target)
    assert 0.8 * need < found.nbytes < 1.2 * need
    assert analyse(tiny_checkpoint, request, most=need).translation == found.translation
    monkeypatch.setattr(passes, "_trace", lambda *_: pytest.fail("a trace was made"))
    with pytest.raises(RequestError, match=rf"{source} source and {target} target tokens would take .*; expected at most"):
        analyse(tiny_checkpoint, request, most=need // traces - 1)


def test_analyses_leave_the_model_as_it_was(tiny_checkpoint):
    before = {k: v.clone() for k, v in tiny_checkpoint.model.state_dict().items()}
    request = Request(TEXT, decoding=SHORT, mode="again", intervention=UNCAUSAL)
    first, second = analyse(tiny_checkpoint, request), analyse(tiny_checkpoint, request)
    assert_same_bits(first.trace, second.trace)
    assert all(v.equal(before[k]) for k, v in tiny_checkpoint.model.state_dict().items())
    assert not tiny_checkpoint.model.training


# -- how the target came about -----------------------------------------------------------------------------------------

BEAM, SAMPLED = Decoding("beam", limit=8, width=4), Decoding("sample", limit=8, seed=7)


def how(checkpoint, decoding=SHORT, **more) -> str:
    return analyse(checkpoint, Request(TEXT, decoding=decoding, **more)).how


def test_how_names_the_strategy_or_the_given_target(tiny_checkpoint):
    assert how(tiny_checkpoint) == "greedy"
    assert how(tiny_checkpoint, BEAM) == "beam of 4"
    assert how(tiny_checkpoint, SAMPLED) == "sampled, seed 7"
    for decoding in (SHORT, BEAM, SAMPLED):
        assert how(tiny_checkpoint, decoding, target=TARGET) == "given target"


def test_how_names_the_rank_in_the_beam(tiny_checkpoint):
    tree = analyse(tiny_checkpoint, Request(TEXT, decoding=BEAM)).tree
    ranks = [how(tiny_checkpoint, BEAM, path=h.ids) for h in tree]
    assert ranks == ["beam of 4", "beam of 4, number 2", "beam of 4, number 3", "beam of 4, number 4"]
    assert len(tree.pruned) > 2
    for lost in tree.pruned:
        found = analyse(tiny_checkpoint, Request(TEXT, decoding=BEAM, path=lost.ids))
        assert found.how == "beam of 4, given up"
        assert found.notes[0] == "This path was given up: the beam went on without it."
    assert how(tiny_checkpoint, BEAM, path=(9, 9, 9)) == "beam of 4"  # no such path: the best


@pytest.mark.parametrize("decoding", [SHORT, BEAM, SAMPLED], ids=lambda d: d.strategy)
def test_how_tells_a_branch_from_the_original(tiny_checkpoint, decoding):
    own = analyse(tiny_checkpoint, Request(TEXT, decoding=decoding))
    taken = {h.ids[:3] for h in (*own.tree, *own.tree.pruned)}
    first = own.hypothesis.ids[:2]
    one, two = [(*first, i) for i in range(5, 40) if (*first, i) not in taken][:2]
    assert how(tiny_checkpoint, decoding, branches=(one,)) == f"{own.how}, branched off"
    assert how(tiny_checkpoint, decoding, branches=(one, two), path=one) == f"{own.how}, branched off"
    assert how(tiny_checkpoint, decoding, branches=(one, two), path=own.hypothesis.ids) == own.how
    assert how(tiny_checkpoint, decoding, branches=(one,), target=TARGET) == "given target"
