"""Requests, their refusals and their targets; and requests of two sentences."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import torch

from model import checkpoint as checkpoints
from model import trace
from model.__main__ import main
from model.config import END, PAD, START
from model.decoding.search import greedy
from model.decoding.strategy import Decoding
from model.edits.intervention import Intervention
from model.inference.analyse import analyse, next_sentence_probabilities, swap_sentences
from model.inference.request import MAX_PAD, Request, RequestError
from model.inference.source_reading import source_ids
from model.inference.targets import append_word
from model.text.tokenizer import Tokenizer
from tests.support import tiny


def test_requests_are_keys():
    one, two = Request("The fox."), Request("The fox.")
    assert one == two
    assert hash(one) == hash(two)
    different = [
        Request("The fox"),
        Request("The fox.", checkpoint="other"),
        Request("The fox.", target="Lo varun."),
        Request("The fox.", prefix="Lo"),
        Request("The fox.", other_sentences=("A lamp.",)),
        Request("The fox.", branches=((5, 6),)),
        Request("The fox.", path=(5,)),
        Request("The fox.", second_sentence="A lamp."),
        Request("The fox.", extra_padding=1),
        Request("The fox.", mode="again"),
        Request("The fox.", source_ids=(5, 2)),
        Request("The fox.", target_ids=(5, 2)),
        Request("The fox.", max_tokens=256),
        Request("The fox.", decoding=Decoding(max_total_tokens=5)),
        Request("The fox.", intervention=Intervention(causal_mask=False)),
    ]
    assert len({one, *different}) == 1 + len(different) == 1 + len(dataclasses.fields(Request))
    with pytest.raises(dataclasses.FrozenInstanceError, match="source"):
        one.source = "x"


@pytest.mark.parametrize("blank", ["", " ", "\n\t  ", "\u00a0"])
def test_an_empty_box_is_told(blank):
    with pytest.raises(RequestError, match=r"^The sentence is empty: type one.$"):
        Request(blank)
    with pytest.raises(RequestError, match=r"^The target is empty: give a translation, or leave it to the model.$"):
        Request("The fox.", target=blank)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"mode": "both"}, "^The mode is 'both'; expected 'given' or 'again'.$"),
        ({"extra_padding": -1}, f"^The padding is -1 tokens; expected 0 to {MAX_PAD}.$"),
        ({"extra_padding": MAX_PAD + 1}, f"^The padding is {MAX_PAD + 1} tokens; expected 0 to {MAX_PAD}.$"),
        ({"target": "Lo.", "prefix": "Lo"}, "^Both a target and a prefix are given; expected one of the two.$"),
        ({"source": "half a \ud83e"}, r"^The text has U\+D83E in it, which is no character; expected valid Unicode.$"),
        ({"target": "\udcff"}, r"U\+DCFF"),
        ({"prefix": "\udcff"}, r"U\+DCFF"),
    ],
)
def test_impossible_request_is_refused(values, message):
    with pytest.raises(RequestError, match=message):
        Request(**({"source": "The fox."} | values))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_total_tokens": 0}, "The limit is 0 target tokens; expected 1 to 1024."),
        ({"max_total_tokens": 1025}, "The limit is 1025 target tokens; expected 1 to 1024."),
        ({"width": 0}, "The beam's width is 0; expected 1 to 64."),
        ({"width": 5000}, "The beam's width is 5000; expected 1 to 64."),
        ({"alpha": -0.1}, "The length penalty's alpha is -0.1; expected 0 to 5."),
        ({"alpha": float("nan")}, "The length penalty's alpha is nan; expected 0 to 5."),
    ],
)
def test_decoding_out_of_range_is_told(values, message):
    with pytest.raises(RequestError, match=f"^{message}$"):
        Decoding("beam", **values)


TEXTS = ("The old fox sees a lamp.", "A boat.", "The red king takes a fox.")
SHORT = Decoding(max_total_tokens=10)
BEAM = Decoding("beam", max_total_tokens=8, width=3)


def test_batch_pads_and_translates_each_sentence(exact_checkpoint):
    alone = [analyse(exact_checkpoint, Request(text, decoding=SHORT)) for text in TEXTS]
    for number, text in enumerate(TEXTS):
        others = tuple(t for t in TEXTS if t != text)
        found = analyse(exact_checkpoint, Request(text, other_sentences=others, decoding=SHORT))
        assert found.hypothesis.ids == alone[number].hypothesis.ids
        assert found.other_translations == tuple(alone[TEXTS.index(t)].translation for t in others)
        longest = max(len(a.trace.source) for a in alone)
        assert found.trace.source.ids.count(PAD) == longest - len(alone[number].trace.source)


@pytest.mark.parametrize("decoding", [SHORT, BEAM, Decoding("sample", max_total_tokens=8, seed=4)], ids=lambda d: d.strategy)
def test_a_branch_joins_the_tree_and_is_what_is_shown(exact_checkpoint, decoding):
    plain = analyse(exact_checkpoint, Request(TEXTS[0], decoding=decoding))
    other = next(i for i in range(3, 300) if i != plain.hypothesis.ids[1])
    branch = (plain.hypothesis.ids[0], other)
    found = analyse(exact_checkpoint, Request(TEXTS[0], decoding=decoding, branches=(branch,)))
    assert found.hypothesis.ids[:2] == branch
    assert found.tree.hypotheses[: len(plain.tree)] == pytest.approx(plain.tree.hypotheses)
    assert len(found.tree) > len(plain.tree)
    back = analyse(exact_checkpoint, dataclasses.replace(found.request, path=plain.hypothesis.ids))
    assert back.hypothesis.ids == plain.hypothesis.ids
    if decoding is SHORT:
        source = torch.tensor([plain.trace.source.ids])
        assert found.hypothesis.ids == greedy(exact_checkpoint.model, source, prefix=branch, max_total_tokens=10)[0].ids


@pytest.mark.parametrize(
    ("branch", "message"),
    [
        ((PAD,), "A branch has the token 0; expected 2 to"),
        ((99_999,), "A branch has the token 99999; expected 2 to"),
        ((5,) * 10, "A branch has 10 tokens; expected fewer than the limit of 10. Remove it."),
        ((END, 5), "A branch continues after </s>; expected </s> only at its end."),
    ],
)
def test_a_branch_that_cannot_be_is_told(exact_checkpoint, branch, message):
    with pytest.raises(RequestError, match=f"^{message}"):
        analyse(exact_checkpoint, Request(TEXTS[0], decoding=SHORT, branches=(branch,)))


def test_a_typed_word_is_forced_piece_by_piece(tokenizer):
    target = tiny.PAIRS[0][1]
    path = tuple(tokenizer.encode(target.rstrip(".")))
    for word in ("nefa", "zq", " l'étoile "):
        found = append_word(tokenizer, path, word)
        assert found[: len(path)] == path
        assert tokenizer.decode(found) == f"{target.rstrip('.')} {word.strip()}"
    assert tokenizer.decode(append_word(tokenizer, (), "Lo")) == "Lo"
    elided = tuple(tokenizer.encode("Es l'"))
    assert tokenizer.decode(append_word(tokenizer, elided, "étoile")) == "Es l'étoile"
    with pytest.raises(RequestError, match=r"^The word is empty: type one\.$"):
        append_word(tokenizer, path, "  ")
    with pytest.raises(RequestError, match=r"^There is no room for"):
        append_word(tokenizer, (5,) * 127, "nefa")


ONE, TWO = "The red fox ___ a lamp.", "The old ___ takes it."
BOTH = Request(ONE, second_sentence=TWO)


@pytest.fixture(scope="module")
def lab():
    tokenizer = Tokenizer.train(tiny.SENTENCES, 400, blanks=True)
    reads = {"family": "encoder-only", "decoder_layers": 0, "source_start": True, "segments": 2, "pooler": True}
    made = tiny.checkpoint(tokenizer, dtype=torch.float64, **reads, follows=True)
    return dataclasses.replace(made, languages=("Danish", "Danish"), token_counts={})


def test_two_sentences_are_read_in_one_input(lab):
    first, second = source_ids(lab, ONE), source_ids(lab, TWO)
    ids = source_ids(lab, ONE, TWO)
    assert ids == [*first, *second[1:]] and ids[0] == START
    assert ids.count(END) == ids.count(lab.source_tokenizer.mask) == 2
    axis = analyse(lab, BOTH).trace.source
    assert axis.ids == tuple(ids) and axis.sentence_numbers == (0,) * len(first) + (1,) * (len(second) - 1)
    assert analyse(lab, Request(ONE)).trace.source.sentence_numbers == ()
    assert trace.END == END


def test_segments_matter_for_two_sentences_only(lab):
    both = analyse(lab, BOTH)
    segments = lab.model.source_embedding.segments.weight
    kept = segments.clone()
    try:
        with torch.no_grad():
            segments.copy_(kept.flip(0))
        swapped = analyse(lab, BOTH)
        assert abs(swapped.next_sentence_probability - both.next_sentence_probability) > 1e-6 and not np.allclose(
            swapped.trace.log_probs, both.trace.log_probs
        )
        with torch.no_grad():
            segments.copy_(torch.stack([kept[0], kept[1] + 9]))
        alone = analyse(lab, Request(ONE))
    finally:
        with torch.no_grad():
            segments.copy_(kept)
    assert np.array_equal(alone.trace.log_probs, analyse(lab, Request(ONE)).trace.log_probs)
    assert alone.next_sentence_probability is None and alone.swapped_probability is None


def test_follows_is_the_head_and_turned_its_reverse(lab):
    found, back = analyse(lab, BOTH), analyse(lab, Request(TWO, second_sentence=ONE))
    assert found.swapped_probability == pytest.approx(
        back.next_sentence_probability, abs=1e-12
    ) and back.swapped_probability == pytest.approx(found.next_sentence_probability, abs=1e-12)
    assert abs(found.next_sentence_probability - back.next_sentence_probability) > 1e-6
    ids = list(found.trace.source.ids)
    assert swap_sentences(swap_sentences(ids)) == ids and next_sentence_probabilities(lab, ids)[0] == pytest.approx(
        found.next_sentence_probability, abs=1e-12
    )
    assert next_sentence_probabilities(lab, [*ids, PAD, PAD])[0] == pytest.approx(found.next_sentence_probability, abs=1e-12)


def test_padding_of_two_sentences_changes_nothing(lab):
    plain, padded = analyse(lab, BOTH), analyse(lab, dataclasses.replace(BOTH, extra_padding=3))
    real = len(plain.trace.source)
    assert padded.next_sentence_probability == pytest.approx(plain.next_sentence_probability, abs=1e-12)
    assert np.allclose(padded.trace.log_probs[:real], plain.trace.log_probs, atol=1e-6)
    edited = analyse(lab, dataclasses.replace(BOTH, intervention=tiny.edited("off_enc.1")))
    assert (
        edited.baseline.next_sentence_probability == pytest.approx(plain.next_sentence_probability, abs=1e-12)
        and abs(edited.next_sentence_probability - plain.next_sentence_probability) > 1e-9
    )
    given = analyse(lab, dataclasses.replace(BOTH, intervention=tiny.edited("patch_enc.1_all")))
    assert given.trace.source.ids == plain.trace.source.ids  # the other first sentence stands before the same second one


def test_the_command_line_tells_both(lab, tmp_path, monkeypatch, capsys):
    checkpoints.save(dataclasses.replace(lab, model=lab.model.float()), tmp_path / "two")
    lab.model.double()
    monkeypatch.setenv("CHECKPOINTS", str(tmp_path))
    assert main(["translate", ONE, "--second-sentence", TWO, "--checkpoint", "two"]) == 0
    one, two, told = capsys.readouterr().out.splitlines()
    assert one.startswith("The red fox") and two.startswith("The old")
    assert told.startswith("the second sentence follows the first: 0.")
    assert main(["translate", ONE, "--second-sentence", TWO, "--checkpoint", "two", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["second_sentence"] == TWO and 0 < found["follows"] < 1 and found["turned"] != found["follows"]
    assert found["filled"].splitlines() == [one, two] and "translation" not in found
    assert [found["source_tokens"][each["place"] - 1] for each in found["blanks"]] == ["<mask>"] * len(found["blanks"])
    assert all(each["word"] in found["filled"] and 0 < each["probability"] < 1 for each in found["blanks"])
    assert main(["translate", ONE, "--second-sentence", TWO]) == 2
    assert "reads one sentence" in capsys.readouterr().err
