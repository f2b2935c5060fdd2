"""The ready experiments: what they say is what an analysis of their request finds."""

from __future__ import annotations

import dataclasses
import re

import pytest

from model.checkpoint import CheckpointError
from model.decoding.strategy import Decoding
from model.edits.intervention import BASELINE
from model.experiments import ready_questions
from model.experiments.ready_questions import DOG, EXPERIMENTS, GIRL
from model.inference.analyse import analyse
from model.inference.predictions import token_changes
from model.inference.request import Request
from model.readings.heads.alignment import head_peaks
from tests.support import tiny

SHORT = Decoding(limit=8)
ASKED = Request("The red fox takes a lamp.", decoding=SHORT)
RUN = {experiment.name: experiment.run for experiment in EXPERIMENTS}


@pytest.mark.parametrize("name", [name for name in RUN if name != "peek"])
@pytest.mark.parametrize(
    "changes", [{}, {"pad": 2, "mode": "again", "intervention": tiny.edited("off_enc.1", "causal-off")}], ids=str
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
    answer = RUN["order"](shipped, Request(DOG))
    dog, girl = (analyse(shipped, dataclasses.replace(answer.request, source=text)) for text in (DOG, GIRL))
    assert (answer.request.source, answer.counterpart.source) == (DOG, GIRL)
    assert dog.translation == girl.translation
    assert dog.baseline.translation != girl.baseline.translation
    assert f"both give “{dog.translation}”: the two log-probabilities differ by 0.00" in answer.text
    told = (
        f"With positions: “{dog.baseline.translation}” and, for “{GIRL}”, “{girl.baseline.translation}”; without positions"
    )
    assert told in answer.text
    assert dog.hypothesis.score == pytest.approx(girl.hypothesis.score, abs=5e-3)


BASELINES = {  # what counts as a right translation of an experiment's own sentence
    "peek": ("Mon chien a peur de mon chat.",),
    "padding": ("J'aime cette maison parce qu'elle est petite.", "J'aime cette maison car elle est petite."),
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
    assert (
        "layer 2 head 2 has the lowest alignment error rate (0 is perfect), 0.20 (95%: 0.15 to 0.25), at the" in answer.text
    )
    peaks = head_peaks(analyse(tiny_checkpoint, ASKED).full_pass, "reads")[-1]
    off = len(peaks.peaks) - peaks.on_diagonal
    assert f"{off} of these {len(peaks.peaks)} peaks lie off the diagonal" in answer.text


@pytest.fixture
def peers(tokenizer, tiny_checkpoint, monkeypatch):
    """A checkpoint with a causal mask and one without, which name each other and are found by their names."""
    masked = dataclasses.replace(tiny_checkpoint, name="masked", peer="peeker")
    peeker = dataclasses.replace(tiny.checkpoint(tokenizer, causal=False), name="peeker", peer="masked")
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
    assert f"On its own it writes: “{alone.translation[:120]}”." in answer.text


@pytest.mark.parametrize("name", [name for name in RUN if name != "peek"])
def test_without_a_causal_mask_the_peer_is_asked(peers, name):
    assert RUN[name](peers["peeker"], ASKED) == RUN[name](peers["masked"], dataclasses.replace(ASKED, checkpoint="masked"))


@pytest.mark.parametrize(("name", "asked"), [("peeker", name) for name in RUN] + [("masked", "peek")])
def test_without_a_peer_that_is_said_in_one_sentence(peers, name, asked):
    way = "without" if name == "masked" else "with"
    expected = f"^This question compares with .* trained {way} the causal mask. '{name}' names none: add .* “peer”.$"
    with pytest.raises(CheckpointError, match=expected):
        RUN[asked](dataclasses.replace(peers[name], peer=None), ASKED)
