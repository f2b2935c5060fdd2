"""Patching measured on small models and the shipped one; and the ready experiments."""

import dataclasses
import re

import numpy as np
import pytest

from model.checkpoint import CheckpointError
from model.decoding.strategy import Decoding
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import PatchStream, PatchZ, Place, parse
from model.experiments import patching, ready_questions
from model.experiments.patching import logit_differences, patch_all, patching_request
from model.experiments.ready_questions import AGENT, EXPERIMENTS, SWAPPED
from model.inference.analyse import analyse
from model.inference.predictions import token_changes
from model.inference.request import Request, RequestError
from model.readings.heads.trace_comparison import head_peaks
from model.readings.logits.direct_logits import Writer, direct_logits
from tests.support import tiny

FIRST, SECOND = "The red fox takes a lamp.", "The old lamp takes a fox."  # of as many tokens
NARROW = "The car didn't cross the bridge because it was too narrow."
HEAVY = NARROW.replace("narrow", "heavy")
SOUP = "The boy didn't eat the soup because it was too hot."


def question(checkpoint, first: str, second: str, step: int | None = None):
    one, two = (analyse(checkpoint, Request(text, decoding=Decoding(max_total_tokens=16))) for text in (first, second))
    ids = (one.trace.source.ids, second, one.trace.outputs.ids, two.trace.outputs.ids)
    return patching_request(checkpoint, *ids, step), one, two


@pytest.fixture(scope="module")
def narrow(shipped):
    asked, first, second = question(shipped, NARROW, HEAVY)
    heard: list[float] = []
    return asked, first, second, patch_all(shipped, asked, heard.append), heard


def test_patch_effects_equal_their_edits(tiny_checkpoint):
    asked, *_ = question(tiny_checkpoint, FIRST, SECOND)
    found = patch_all(tiny_checkpoint, asked)
    pieces = dict(found.patches)
    config = tiny_checkpoint.config
    assert len(pieces) == 3 * len(asked.source) + 2 * (asked.step + 1) + 3 * 2 * config.heads
    for code in ("patch_enc.0_2", "patch_enc.2_4", f"patch_dec.1_{asked.step + 1}", "patch_z_cross.1.2_all"):
        edit = Intervention(donor=SECOND, edits=(parse(code),))
        trace = analyse(tiny_checkpoint, Request(FIRST, intervention=edit, decoding=Decoding(max_total_tokens=16))).trace
        expected = trace.logit(asked.step, asked.tokens[0]) - trace.logit(asked.step, asked.tokens[1])
        assert pieces[parse(code)] == pytest.approx(expected, abs=1e-4), code
    everything = [tuple(PatchStream("encoder", n, at) for at in range(len(asked.source))) for n in range(3)]
    for value in logit_differences(tiny_checkpoint, asked, everything):
        assert value == pytest.approx(found.other, abs=1e-4)
    assert found.share(found.before) == 0 and found.share(found.other) == 1
    assert found.decoder[-1, asked.step] == pytest.approx(found.other, abs=1e-4)
    assert found.decoder[-1, :-1] == pytest.approx(found.before, abs=1e-4)  # the step alone is read after the last layer


def test_patching_step_is_where_translations_differ(tiny_checkpoint):
    asked, first, second = question(tiny_checkpoint, FIRST, SECOND)
    ids = [each.trace.outputs.ids for each in (first, second)]
    assert ids[0][: asked.step] == ids[1][: asked.step]
    assert asked.tokens == (ids[0][asked.step], ids[1][asked.step])
    same = patching_request(tiny_checkpoint, first.trace.source.ids, SECOND, ids[0], ids[0])
    assert same.tokens[0] == ids[0][same.step] != same.tokens[1]
    later = patching_request(tiny_checkpoint, first.trace.source.ids, SECOND, ids[0], ids[1], 7)
    assert (later.step, later.tokens[0]) == (7, ids[0][7])


def test_what_cannot_be_measured_is_refused(tiny_checkpoint, tokenizer, monkeypatch):
    with pytest.raises(RequestError, match="Both sentences are the same, so there is nothing to patch"):
        question(tiny_checkpoint, FIRST, FIRST)
    with pytest.raises(RequestError, match="There is no step 100; this translation has 16"):
        question(tiny_checkpoint, FIRST, SECOND, 99)
    with pytest.raises(RequestError, match="Patching needs an encoder and a decoder"):
        patching_request(tiny.checkpoint(tokenizer, family="decoder-only", encoder_layers=0), (), SECOND, (5, 6))
    asked, *_ = question(tiny_checkpoint, FIRST, SECOND)
    monkeypatch.setattr(patching, "MAX_WORK", 10)
    with pytest.raises(RequestError, match=r"Patching every place here takes .* expected at most 10\."):
        patch_all(tiny_checkpoint, asked)


def test_patched_difference_is_the_sum_of_its_parts(tokenizer):
    for changes in ({}, {"norm_first": False}):
        checkpoint = tiny.checkpoint(tokenizer, **changes)
        edits = (PatchStream("decoder", 1, 3), PatchStream("encoder", 1, 2), PatchZ(Place("cross", 1, 0), 3))
        found = analyse(
            checkpoint,
            Request(FIRST, intervention=Intervention(donor=SECOND, edits=edits), decoding=Decoding(max_total_tokens=8)),
        )
        split = direct_logits(checkpoint, found, 3, 10, 11)
        assert abs(split.remainder) < 1e-4
        assert abs(dict(zip(split.writers, split.values, strict=True))[Writer("patch", layer=0)]) > 1e-3


def test_pieces_turn_il_into_elle(shipped, narrow):
    asked, first, second, found, heard = narrow
    assert shipped.target_tokenizer.pieces(asked.tokens) == ("il", "elle")
    assert heard == sorted(heard) and heard[-1] == 1
    logits = [each.trace.logit(10, asked.tokens[0]) - each.trace.logit(10, asked.tokens[1]) for each in (first, second)]
    assert (found.before, found.other) == pytest.approx(logits, abs=1e-4)
    assert found.flips_choice(found.other)
    edit = Intervention(donor=HEAVY, edits=found.best)
    assert found.flips_choice(*logit_differences(shipped, asked, [found.best]))
    assert any(found.flips_choice(value) for edit, value in found.patches if isinstance(edit, PatchStream))  # one alone
    said = analyse(shipped, Request(NARROW, intervention=edit, mode="again")).translation
    assert "qu'elle" in said and "qu'il" in first.translation
    shares = np.nan_to_num(found.share(found.encoder))
    labels = first.trace.source.labels
    assert [labels[at] for at in shares.argmax(1)] == ["row"] * 5  # "narrow" has two tokens


def test_few_heads_are_enough_where_one_is_not(shipped):
    asked, *_ = question(shipped, SOUP.replace("hot", "tired"), SOUP)
    found = patch_all(shipped, asked)
    alone = [value for edit, value in found.patches if isinstance(edit, PatchZ)]
    assert not any(map(found.flips_choice, alone))
    edits, reached = found.head_set
    assert 1 < len(edits) < len(alone) and found.flips_choice(reached) and found.best == edits
    assert logit_differences(shipped, asked, [edits])[0] == pytest.approx(reached, abs=1e-4)
    assert not any(map(found.flips_choice, logit_differences(shipped, asked, [edits[:-1]])))


SHORT = Decoding(max_total_tokens=8)
ASKED = Request("The red fox takes a lamp.", decoding=SHORT)
RUN = {experiment.name: experiment.run for experiment in EXPERIMENTS}


@pytest.mark.parametrize("name", [name for name in RUN if name != "peek"])
@pytest.mark.parametrize(
    "changes", [{}, {"extra_padding": 2, "mode": "again", "intervention": tiny.edited("off_enc.1", "causal-off")}], ids=str
)
def test_an_answer_names_the_translation_of_its_request(tiny_checkpoint, name, changes):
    answer = RUN[name](tiny_checkpoint, dataclasses.replace(ASKED, **changes))
    found = analyse(tiny_checkpoint, answer.request)
    assert f"“{found.translation}”" in answer.text
    assert found.baseline is not None
    assert answer.request.mode == "again"
    assert answer.request.intervention.causal_mask
    assert (answer.request.decoding, answer.request.target) == (SHORT, None)
    assert answer.request.source == ASKED.source
    if name != "order":
        before, after = found.baseline.translation, found.translation
        told = f"The translation stays: “{after}”" if before == after else f"“{before}” becomes “{after}”"
        tied = [each.describe(tiny_checkpoint.target_tokenizer.piece) for each in token_changes(found) if each.is_tie]
        assert answer.text.endswith(" ".join([f"{told}.", *(f"They part at {each}." for each in tied)]))


def test_without_positions_word_order_is_lost(shipped):
    answer = RUN["order"](shipped, Request(AGENT))
    dog, girl = (analyse(shipped, dataclasses.replace(answer.request, source=text)) for text in (AGENT, SWAPPED))
    assert (answer.request.source, answer.counterpart.source) == (AGENT, SWAPPED)
    assert dog.translation == girl.translation
    assert dog.baseline.translation != girl.baseline.translation
    assert f"both give “{dog.translation}”: the two log-probabilities differ by 0.00" in answer.text
    both = f"“{dog.baseline.translation}” and, for “{SWAPPED}”, “{girl.baseline.translation}”"
    told = f"With positions: {both}; without positions"
    assert told in answer.text
    assert dog.hypothesis.score == pytest.approx(girl.hypothesis.score, abs=5e-3)


BASELINES = {  # what counts as a right translation of an experiment's own sentence
    "peek": ("Mon chien a peur de mon chat.",),
    "padding": ("J'aime cette maison parce qu'elle est petite.", "J'aime bien cette maison parce qu'elle est petite."),
    "order": ("Le chien aime la fille.",),
    "scaling": ("Le chien n'a pas traversé la rue parce qu'il était trop timide.",),
    "align": ("Elle a acheté une voiture rouge.", "Elle acheta une voiture rouge."),
    "skip": ("Les enfants jouent dans le jardin.", "Les enfants sont en train de jouer dans le jardin."),
}


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_baselines_of_the_experiments_are_right(shipped, experiment):
    for strategy in ("greedy", "beam"):
        said = analyse(shipped, Request(experiment.sentence_in("English"), decoding=Decoding(strategy))).translation
        assert said in BASELINES[experiment.name]
    assert experiment.sentence_in("German") is None


@pytest.mark.parametrize("diagonal", [0.5, 0.1])
def test_alignment_head_has_the_lowest_error_rate(tiny_checkpoint, diagonal):
    poor, good = [0.6, 0.55, 0.65, 0.4, 0.4], [0.2, 0.15, 0.25, 0.8, 0.8]
    rates = {"predicts": [[poor, poor]] * 2, "reads": [[poor, poor], [poor, good]]}
    measured = {"sentences": 9, "left_out": 0, "sure": 5, "resamples": 9, "seed": 1, "rates": rates}
    measured |= {"diagonal": [diagonal, diagonal - 0.05, diagonal + 0.05, 0.5, 0.5]}
    checkpoint = dataclasses.replace(tiny_checkpoint, metrics={"alignment": measured})
    answer = RUN["align"](checkpoint, ASKED)
    assert answer.request.intervention == tiny.edited("off_cross.2.2")
    assert answer.text.startswith("Yes, by 9" if diagonal > 0.3 else "No, by 9")
    assert "cross 2.2 has the lowest alignment error rate (0 is perfect), 0.20 (95%: 0.15 to 0.25), at the" in answer.text
    peaks = head_peaks(analyse(tiny_checkpoint, ASKED).full_pass, "reads")[-1]
    off = len(peaks.peaks) - peaks.on_diagonal
    assert f"{off} of these {len(peaks.peaks)} peaks lie off the diagonal" in answer.text


@pytest.fixture
def peers(tokenizer, tiny_checkpoint, monkeypatch):
    """A checkpoint with a causal mask and one without, which name each other and are found by their names."""
    masked = dataclasses.replace(tiny_checkpoint, name="masked", peer="peeker", metrics={"training": {"pairs": 7000}})
    peeker = tiny.checkpoint(tokenizer, causal=False)
    peeker = dataclasses.replace(peeker, name="peeker", peer="masked", metrics={"training": {"pairs": 50}})
    shelf = {"masked": masked, "peeker": peeker}
    monkeypatch.setattr(ready_questions.checkpoints, "load", lambda name, device: shelf[name])
    return shelf


@pytest.mark.parametrize("name", ["masked", "peeker"])
def test_peeking_reads_the_answer_off_its_own_input(peers, name):
    masked, peeker = peers.values()
    answer = RUN["peek"](peers[name], dataclasses.replace(ASKED, intervention=tiny.edited("off_enc.1"), mode="again"))
    own = analyse(masked, ASKED)
    wrong = analyse(masked, dataclasses.replace(ASKED, source=ready_questions.OTHER)).translation
    assert (answer.request.checkpoint, answer.request.target) == ("peeker", wrong)
    assert answer.request.intervention == BASELINE
    sides = [(lab, target) for target in (wrong, own.translation) for lab in (peeker, masked)]
    means = [analyse(lab, dataclasses.replace(ASKED, target=target)).trace.probabilities.mean() for lab, target in sides]
    alone = analyse(peeker, dataclasses.replace(answer.request, target=None))
    cheats = means[0] > max(means[1], ready_questions.PEEKING_SHARE * means[2])
    assert answer.text.startswith(f"{'Yes' if cheats else 'Hardly, here'}. “{wrong}” is a wrong translation of ")
    assert ("off its own input" in answer.text) is bool(cheats)
    assert re.findall(r"\d+%", answer.text.replace(wrong, "")) == [f"{mean:.0%}" for mean in means]
    told = "”. Examples in the last training: masked 7,000, peeker 50."
    assert answer.text.endswith(f"On its own it writes: “{alone.translation[:120]}{told}")
    for unknown in ({}, {"training": [1]}, {"training": {"pairs": "many"}}):  # of a foreign checkpoint
        assert ready_questions.describe_trainings(masked, dataclasses.replace(peeker, metrics=unknown)) == ""


@pytest.mark.parametrize("name", [name for name in RUN if name != "peek"])
def test_without_a_causal_mask_the_peer_is_asked(peers, name):
    assert RUN[name](peers["peeker"], ASKED) == RUN[name](peers["masked"], dataclasses.replace(ASKED, checkpoint="masked"))


@pytest.mark.parametrize(("name", "asked"), [("peeker", name) for name in RUN] + [("masked", "peek")])
def test_without_a_peer_that_is_said_in_one_sentence(peers, name, asked):
    way = "without" if name == "masked" else "with"
    expected = f"^This question compares with .* trained {way} the causal mask. '{name}' names none: add .* “peer”.$"
    with pytest.raises(CheckpointError, match=expected):
        RUN[asked](dataclasses.replace(peers[name], peer=None), ASKED)
