"""What an analysis tells beside its arrays: rare words, how the target came about, JSON."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import tiny
from analyse_helpers import SHORT, TARGET, TEXT, UNCAUSAL, UNPADDED, arrays, assert_same_bits

from model.config import END, PAD
from model.decoding.strategy import Decoding
from model.edits.intervention import BASELINE, Intervention
from model.inference.analyse import analyse, load, teacher_force
from model.inference.request import Request
from model.trace import Site


def test_rare_source_tokens_are_told(tiny_checkpoint):
    tokenizer = tiny_checkpoint.source_tokenizer
    counts = [1000] * tokenizer.size
    rare_id = tokenizer.encode("zq")[0]
    counts[rare_id] = 19
    known = dataclasses.replace(tiny_checkpoint, counts={"source": tuple(counts), "target": tuple(counts)})
    found = analyse(known, Request("zq fox z", target=TARGET, pad=3))
    assert found.rare == tuple(i for i, token in enumerate(found.trace.source.ids) if token == rare_id)
    assert found.notes == ("Unlike its training data: zq, z. Expect little of the translation there.",)
    assert analyse(known, Request("the fox", target=TARGET)).rare == ()
    unknown = dataclasses.replace(tiny_checkpoint, counts={})
    assert analyse(unknown, Request("zq fox", target=TARGET)).rare == ()


def test_many_rare_tokens_are_cut(tiny_checkpoint):
    none = dataclasses.replace(tiny_checkpoint, counts={"source": (0,) * tiny_checkpoint.source_tokenizer.size})
    found = analyse(none, Request("q z x j k v w y", target=TARGET))
    assert found.rare_words == ("q", "z", "x", "j", "k", "v", "w", "y", "</s>")
    assert found.notes[0] == "Unlike its training data: q, z, x, j, k, v and 3 more. Expect little of the translation there."


@pytest.mark.parametrize("word", ["🦊", "étoile", "שלום"])
def test_a_rare_word_is_named_whole_and_not_by_its_bytes(tiny_checkpoint, word):
    none = dataclasses.replace(tiny_checkpoint, counts={"source": (0,) * tiny_checkpoint.source_tokenizer.size})
    assert word in analyse(none, Request(f"a {word}", target=TARGET)).rare_words


def test_the_dictionary_is_json(tiny_checkpoint):
    found = analyse(tiny_checkpoint, Request(TEXT, target=TARGET))
    values = json.loads(json.dumps(found.to_dict()))
    assert values["source"] == TEXT
    assert values["translation"] == TARGET
    assert values["finished"] is True
    assert values["notes"] == []
    assert values["source_tokens"] == list(found.trace.source.labels)
    assert [t["token"] for t in values["tokens"]] == list(found.trace.outputs.labels)
    assert sum(t["log_prob"] for t in values["tokens"]) == pytest.approx(values["log_prob"], abs=1e-4)


def test_bytes_hold_the_baseline_and_the_steps(tiny_checkpoint):
    again = analyse(tiny_checkpoint, Request(TEXT, decoding=SHORT, mode="again", intervention=UNCAUSAL))
    parts = [again.trace, again.baseline.trace, *again.steps]
    totals = sum(trace.log_totals.nbytes for trace in parts)
    assert again.nbytes == totals + sum(a.nbytes for trace in parts for a in arrays(trace).values())


def test_a_window_and_two_vocabularies_are_respected(tokenizer):
    model = tiny.checkpoint(tokenizer, window=2, joint_vocab=False)
    trace = analyse(model, Request(TEXT, target=TARGET)).trace
    n = len(trace.source)
    near = np.abs(np.arange(n)[:, None] - np.arange(n)) < 2
    assert (trace.masks[Site("encoder", 0)] == near).all()
    assert (trace.patterns[Site("encoder", 1)][:, ~near] == 0).all()
    assert trace.masks[Site("cross", 0)].all()


def test_a_batch_of_edits_equals_single_passes(exact_checkpoint):
    tokenizer, edits = exact_checkpoint.source_tokenizer, [BASELINE, UNCAUSAL, UNPADDED, Intervention(False, False)]
    source, target = [*tokenizer.encode(TEXT), END, PAD, PAD], [*tokenizer.encode(TARGET), END]
    together = teacher_force(exact_checkpoint, source, target, edits)
    for trace, edit in zip(together, edits, strict=True):
        (alone,) = teacher_force(exact_checkpoint, source, target, [edit])
        for key, array in arrays(alone).items():
            np.testing.assert_allclose(arrays(trace)[key], array, atol=1e-6, err_msg=str(key))


def test_analyses_leave_the_model_as_it_was(tiny_checkpoint):
    before = {k: v.clone() for k, v in tiny_checkpoint.model.state_dict().items()}
    request = Request(TEXT, decoding=SHORT, mode="again", intervention=UNCAUSAL)
    first, second = analyse(tiny_checkpoint, request), analyse(tiny_checkpoint, request)
    assert_same_bits(first.trace, second.trace)
    assert all(v.equal(before[k]) for k, v in tiny_checkpoint.model.state_dict().items())
    assert not tiny_checkpoint.model.training


def test_load_refuses_an_absent_device(saved, monkeypatch):
    monkeypatch.setattr("model.device.available", lambda: ("cpu",))
    assert load(str(saved)).device.type == "cpu"
    with pytest.raises(ValueError, match="The device 'cuda' is not available here; expected auto or one of cpu"):
        load(str(saved), device="cuda")


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


@pytest.mark.parametrize("edit", [UNCAUSAL, UNPADDED])
def test_what_was_decoded_again_was_not_given(tiny_checkpoint, edit):
    found = analyse(tiny_checkpoint, Request(TEXT, target=TARGET, decoding=SHORT, mode="again", intervention=edit))
    assert found.translation != TARGET == found.baseline.translation
    assert (found.how, found.baseline.how) == ("greedy", "given target")


def test_how_tells_the_rank_in_the_beam_and_what_was_given_up(tiny_checkpoint):
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
def test_the_beginning_of_a_path_that_lived_was_not_given_up(tiny_checkpoint, decoding):
    best = analyse(tiny_checkpoint, Request(TEXT, decoding=decoding)).tree[0].ids
    found = analyse(tiny_checkpoint, Request(TEXT, decoding=decoding, path=best[:2]))
    assert "given up" not in " ".join((found.how, *found.notes))


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


def test_what_answered_is_named_whatever_the_request_says(tiny_checkpoint):
    analysis = analyse(tiny_checkpoint, Request("The fox.", checkpoint="another"))
    assert analysis.to_dict()["checkpoint"] == tiny_checkpoint.name
