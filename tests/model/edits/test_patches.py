"""Activation patching: everything put in makes the other sentence, nothing the first, oneself nothing new."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from model.decoding import search
from model.decoding.strategy import Decoding
from model.edits.apply import BatchEdits, Donor
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import EditError
from model.inference.analyse import analyse
from model.inference.request import Request, RequestError
from model.inference.source_reading import align_positions
from model.network.context import Pass, teacher_forced_states
from model.trace import Probe, Site, Sublayer
from tests.support import tiny
from tests.support.floats import assert_close
from viz.state import links
from viz.state.view import View

MODELS = pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm_first": False},
        tiny.MODERN | {"final_norm": False},
        {"positions": "learned", "window": 3},
        {"causal": False, "activation": "swiglu"},
    ],
    ids=str,
)
ONE, TWO, TARGET = tiny.ids(1, 5, seed=3), tiny.ids(1, 5, seed=4), tiny.ids(1, 6, seed=5)
OTHER = Donor(tuple(TWO[0].tolist()), tuple(range(5)))
SELF = dataclasses.replace(OTHER, ids=tuple(ONE[0].tolist()))
EVERYTHING = (["patch_enc.0_all"], ["patch_enc.1_all"], ["patch_enc.2_all"], ["patch_dec.2_all"], ["patch_z_cross_all"])
PIECE_BY_PIECE = [f"patch_enc.0_{n + 1}" for n in range(5)]


def read(model, source, *codes: str, donor: Donor = OTHER, probe: Probe | None = None) -> torch.Tensor:
    return model.project(
        teacher_forced_states(model, source, TARGET, Pass(BatchEdits([tiny.edited(*codes)], donor=donor), probe))
    )


@MODELS
def test_full_patch_equals_the_other_sentence(changes):
    model = tiny.model(**changes)
    first, second = read(model, ONE), read(model, TWO)
    assert (first - second).abs().max() > 1e-3
    for codes in (*EVERYTHING, PIECE_BY_PIECE):
        torch.testing.assert_close(read(model, ONE, *codes), second, atol=1e-10, rtol=0, msg=str(codes))
        torch.testing.assert_close(read(model, ONE, *codes, donor=SELF), first, atol=1e-10, rtol=0, msg=str(codes))
    some = read(model, ONE, "patch_enc.1_2")
    assert min((some - first).abs().max(), (some - second).abs().max()) > 1e-4
    nobody = Donor(OTHER.ids, (None,) * 5)
    assert read(model, ONE, "patch_enc.1_all", donor=nobody).equal(first)


@MODELS
def test_full_patch_decodes_the_other_sentence(changes):
    model = tiny.lively(1, **changes)
    plain, (other,) = search.greedy(model, ONE, max_total_tokens=8), search.greedy(model, TWO, max_total_tokens=8)
    for codes in (*EVERYTHING, PIECE_BY_PIECE):
        (found,) = search.greedy(model, ONE, BatchEdits([tiny.edited(*codes)], donor=OTHER), max_total_tokens=8)
        assert found.ids == other.ids != plain[0].ids
        assert found.log_probs == pytest.approx(other.log_probs, abs=1e-5)
    rows = BatchEdits([BASELINE, tiny.edited("patch_dec.2_all")], donor=OTHER)
    trees = search.beam(model, ONE.repeat(2, 1), 3, edits=rows, max_total_tokens=8)
    alone = [search.beam(model, source, 3, max_total_tokens=8)[0] for source in (ONE, TWO)]
    assert [[path.ids for path in tree] for tree in trees] == [[path.ids for path in tree] for tree in alone]


def test_one_patch_by_hand():
    model = tiny.model()
    own, other, found = Probe("full"), Probe("full"), Probe("full")
    read(model, ONE, probe=own)
    read(model, TWO, probe=other)
    read(model, ONE, "patch_enc.1_3", "patch_z_dec.2.1_4", "patch_dec.1_2", probe=found)
    after = [probe.streams[Sublayer("encoder", 0, "ff")].after[0] for probe in (own, other, found)]
    expected = after[0].clone()
    expected[2] = after[1][2]
    torch.testing.assert_close(after[2], expected, atol=1e-12, rtol=0)
    assert found.streams[Sublayer("encoder", 1, "self")].before[0].equal(after[2])
    z = [probe.records[Site("decoder", 1)]["z"][0] for probe in (other, found)]
    torch.testing.assert_close(z[1][0, 3], z[0][0, 3], atol=1e-12, rtol=0)
    assert (z[1] - z[0]).abs().amax(-1)[0, 2] > 1e-4 < (z[1] - z[0]).abs().amax(-1)[1, 3]
    stream = [probe.streams[Sublayer("decoder", 0, "ff")].after[0] for probe in (other, found)]
    assert [n for n in range(6) if torch.allclose(stream[0][n], stream[1][n], atol=1e-12)] == [1]


@pytest.mark.parametrize(
    ("own", "theirs", "expected"),
    [
        ([5, 6, 7, 2], [5, 6, 7, 2], [0, 1, 2, 3]),
        ([5, 6, 7, 2], [5, 9, 7, 2], [0, 1, 2, 3]),
        ([5, 6, 7, 2], [5, 8, 9, 7, 2], [0, 2, 3, 4]),  # of two tokens in the place of one, the last
        ([5, 6, 7, 2], [5, 7, 2], [0, None, 1, 2]),
        ([5, 6, 2, 0, 0], [8, 5, 6, 2], [1, 2, 3, None, None]),
    ],
)
def test_positions_align_by_the_longest_common_part(own, theirs, expected):
    assert list(align_positions(own, theirs)) == expected


FIRST, SECOND, SHORT = "The red fox takes a lamp.", "The old lamp takes a fox.", Decoding(max_total_tokens=8)


def asked(*codes: str, donor: str = SECOND, **values) -> Request:
    return Request(FIRST, intervention=dataclasses.replace(tiny.edited(*codes), donor=donor), **values)


def test_analysis_patches_from_its_other_sentence(tiny_checkpoint):
    other = analyse(tiny_checkpoint, Request(SECOND, decoding=SHORT))
    assert len(other.trace.source) == len(analyse(tiny_checkpoint, Request(FIRST)).trace.source)
    found = analyse(tiny_checkpoint, asked("patch_enc.0_all", mode="again", extra_padding=2, decoding=SHORT))
    assert found.translation == other.translation != found.baseline.translation
    np.testing.assert_allclose(found.trace.log_probs, other.trace.log_probs, atol=1e-4)
    same = analyse(tiny_checkpoint, asked("patch_enc.1_2", "patch_z_cross.1.1_3", donor=FIRST))
    assert_close(same.trace.log_probs, same.baseline.trace.log_probs)
    assert not tiny.edited() and not Intervention(donor=SECOND)  # a sentence from which nothing is taken edits nothing


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: asked("patch_enc.1_2", donor=""), "needs another sentence to take from: name one"),
        (lambda: asked("patch_enc.3_2"), "names layer 3; this checkpoint has 2 there"),
        (lambda: asked("patch_z_cross.1.3_2"), "names head 3; this checkpoint has 2"),
        (lambda: asked("patch_enc.1_99"), "names token 99; expected at most"),
        (lambda: asked("patch_dec.1_1999"), "names token 1999; expected at most 1024"),
        (lambda: asked("patch_enc.1_2", donor="fox " * 200), "The other sentence has 2.. tokens, </s> included"),
        (lambda: asked("patch_enc.1_2", donor="x" * 30_000), "The other sentence has 30,000 characters"),
        (lambda: asked("patch_enc.1_2", donor="a\ud800"), "has an invalid character"),
        (lambda: asked("patch_dec.0_1"), "Both decoders read the same tokens"),
    ],
)
def test_what_cannot_be_patched_is_refused_in_a_sentence(tiny_checkpoint, make, message):
    with pytest.raises((EditError, RequestError), match=message):
        analyse(tiny_checkpoint, make())


def test_link_carries_any_other_sentence():
    for text in ("Ten owls — 100 % ~ sure?\n%7E%25", SECOND):
        made = dataclasses.replace(tiny.edited("patch_enc.1_2", "window-3"), donor=text)
        assert links.parse(links.link(View(intervention=made)))[0].intervention == made
