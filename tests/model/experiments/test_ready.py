"""The ready experiments: what they say is what an analysis of their request finds."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from model.checkpoint import CheckpointError
from model.decoding.strategy import Decoding
from model.edits.intervention import BASELINE
from model.edits.kinds import Skip
from model.experiments import ready
from model.experiments.effects import effects, layer_skips
from model.experiments.ready import DOG, EXPERIMENTS, GIRL, PADS, turned_round
from model.inference.analyse import analyse
from model.inference.decisions import turns
from model.inference.request import Request
from model.readings.alignment import head_peaks
from model.text.aligned import ROWS
from tests.support import tiny

SHORT = Decoding(limit=8)
ASKED = Request("The red fox takes a lamp.", decoding=SHORT)
RUN = {experiment.name: experiment.run for experiment in EXPERIMENTS}


def test_every_experiment_has_a_name_and_a_question_of_its_own():
    assert len(RUN) == len({e.question for e in EXPERIMENTS}) == len(EXPERIMENTS) == 6
    assert all(e.question.endswith("?") for e in EXPERIMENTS)


@pytest.mark.parametrize("name", [name for name in RUN if name != "peek"])
@pytest.mark.parametrize(
    "changes", [{}, {"pad": 2, "mode": "again", "intervention": tiny.edited("off_enc.1", "causal-off")}], ids=str
)
def test_an_answer_names_the_translation_of_its_request(tiny_checkpoint, name, changes):
    """The visitor's own edits and padding do not reach the request of an experiment, except for what it says."""
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
        tied = [each.told(tiny_checkpoint.target_tokenizer.piece) for each in turns(found) if each.is_tie]
        assert answer.text.endswith(" ".join([f"{told}.", *(f"They part at {each}." for each in tied)]))


def test_without_positions_the_dog_and_the_girl_are_one_on_the_shipped_checkpoint(shipped):
    answer = RUN["order"](shipped, Request(DOG))
    dog, girl = (analyse(shipped, dataclasses.replace(answer.request, source=text)) for text in (DOG, GIRL))
    assert (answer.request.source, answer.also.source) == (DOG, GIRL)
    assert dog.translation == girl.translation
    assert dog.baseline.translation != girl.baseline.translation
    assert f"both give “{dog.translation}”: the two log-probabilities differ by 0.00" in answer.text
    told = (
        f"With positions: “{dog.baseline.translation}” and, for “{GIRL}”, “{girl.baseline.translation}”; without positions"
    )
    assert told in answer.text
    assert dog.hypothesis.score == pytest.approx(girl.hypothesis.score, abs=5e-3)


def test_any_sentence_is_turned_round_into_one_of_the_same_tokens(shipped):
    assert [turned_round(text) for text in (DOG, GIRL)] == [GIRL, DOG]
    assert turned_round("The red fox takes a lamp.") == "The lamp a takes fox red."
    tokens = [sorted(shipped.source_tokenizer.encode(text)) for text in (ASKED.source, turned_round(ASKED.source))]
    assert tokens[0] == tokens[1]
    assert (turned_round("Why?"), turned_round("Stop")) == ("Why?", "Stop")


BASELINES = {  # what counts as a right translation of an experiment's own sentence
    "peek": ("Mon chien a peur de mon chat.",),
    "padding": ("J'aime cette maison parce qu'elle est petite.", "J'aime cette maison car elle est petite."),
    "order": ("Le chien aime la fille.",),
    "scaling": ("Le chien n'a pas traversé la rue parce qu'il était trop timide.",),
    "align": ("Elle a acheté une voiture rouge.", "Elle acheta une voiture rouge."),
    "skip": ("Les enfants jouent dans le jardin.", "Les enfants sont en train de jouer dans le jardin."),
}


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_the_baseline_of_an_experiments_own_sentence_is_right(shipped, experiment):
    for strategy in ("greedy", "beam"):
        said = analyse(shipped, Request(experiment.sentence_in("English"), decoding=Decoding(strategy))).translation
        assert said in BASELINES[experiment.name]
    assert experiment.sentence_in("German") is None


def test_what_padding_gets_is_measured(tiny_checkpoint):
    answer = RUN["padding"](tiny_checkpoint, ASKED)
    trace = analyse(tiny_checkpoint, answer.request).trace
    real = len(trace.source) - PADS
    assert trace.source.labels[real:] == ("<pad>",) * PADS
    encoder = np.mean([p[:, :real, real:].sum(-1).mean() for s, p in trace.patterns.items() if s.kind == "encoder"])
    cross = np.mean([p[:, :, real:].sum(-1).mean() for s, p in trace.patterns.items() if s.kind == "cross"])
    assert f"padding gets {encoder:.0%} of the encoder's attention and {cross:.0%} of the decoder's" in answer.text
    assert min(encoder, cross) > 0.1


def test_saturation_without_scaling_is_measured(tiny_checkpoint):
    answer = RUN["scaling"](tiny_checkpoint, ASKED)
    found = analyse(tiny_checkpoint, answer.request)
    after, before = (np.mean([p.max(-1).mean() for p in t.patterns.values()]) for t in (found.trace, found.baseline.trace))
    assert after > before
    assert (
        f"Without the division by √8 the largest weight of a row is {after:.2f} on average, not {before:.2f}" in answer.text
    )


def test_without_a_measurement_the_head_that_pairs_the_most_words_is_told_as_what_it_is(tiny_checkpoint):
    answer = RUN["align"](tiny_checkpoint, ASKED)
    trace = analyse(tiny_checkpoint, ASKED).whole
    best = max((head for rows in ROWS for head in head_peaks(trace, rows)), key=lambda head: head.mutual)
    assert answer.request.intervention == tiny.edited(f"off_cross.{best.site.layer + 1}.{best.head + 1}")
    assert answer.text.startswith("It was not measured for this checkpoint. Of 4 cross-attention heads, ")
    assert f": {best.mutual} target words and a source word look at each other most." in answer.text
    assert all(f"{target} → {source or 'no word'}" in answer.text for target, source, _ in best.peaks[:16])


@pytest.mark.parametrize("diagonal", [0.5, 0.1])
def test_a_head_aligns_where_people_have_linked_words_as_it_does_and_better_than_the_diagonal(tiny_checkpoint, diagonal):
    """The head is the one of the lowest error rate, whatever it would cost to switch it off."""
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
    peaks = head_peaks(analyse(tiny_checkpoint, ASKED).whole, "reads")[-1]
    off = len(peaks.peaks) - peaks.on_diagonal
    assert f"{off} of these {len(peaks.peaks)} peaks lie off the diagonal" in answer.text


def test_without_cross_attention_nothing_aligns(tokenizer):
    alone = tiny.checkpoint(tokenizer, family="decoder-only", encoder_layers=0)
    with pytest.raises(ValueError, match=r"asked of cross-attention, and .* has none: choose a checkpoint that translates"):
        RUN["align"](alone, ASKED)


def test_the_layer_that_costs_the_least_is_skipped(tiny_checkpoint):
    answer = RUN["skip"](tiny_checkpoint, ASKED)
    skips = layer_skips(tiny_checkpoint)
    changes = dict(zip(skips, (e.change for e in effects(tiny_checkpoint, ASKED, list(skips.values()))), strict=True))
    best, worst = max(changes, key=changes.get), min(changes, key=changes.get)
    assert answer.request.intervention == skips[best]
    assert {type(edit) for edit in answer.request.intervention.edits} == {Skip}
    assert answer.text.startswith(f"Skipping {best} {'even helps' if changes[best] > 0 else 'costs the least'}: ")
    assert f"; {worst} costs the most, " in answer.text


@pytest.fixture
def peers(tokenizer, tiny_checkpoint, monkeypatch):
    """A checkpoint with a causal mask and one without, which name each other and are found by their names."""
    masked = dataclasses.replace(tiny_checkpoint, name="masked", peer="peeker")
    peeker = dataclasses.replace(tiny.checkpoint(tokenizer, causal=False), name="peeker", peer="masked")
    shelf = {"masked": masked, "peeker": peeker}
    monkeypatch.setattr(ready.checkpoints, "load", lambda name, device: shelf[name])
    return shelf


@pytest.mark.parametrize("name", ["masked", "peeker"])
def test_peeking_reads_the_answer_off_its_own_input(peers, name):
    """The one without the mask is asked for the translation of the other, and for its own, whichever is looked at."""
    masked, peeker = peers.values()
    answer = RUN["peek"](peers[name], dataclasses.replace(ASKED, intervention=tiny.edited("off_enc.1"), mode="again"))
    own = analyse(masked, ASKED)
    wrong = analyse(masked, dataclasses.replace(ASKED, source=ready.OTHER)).translation
    assert (answer.request.checkpoint, answer.request.target) == ("peeker", wrong)
    assert answer.request.intervention == BASELINE
    sides = [(lab, target) for target in (wrong, own.translation) for lab in (peeker, masked)]
    means = [analyse(lab, dataclasses.replace(ASKED, target=target)).trace.probabilities.mean() for lab, target in sides]
    alone = analyse(peeker, dataclasses.replace(answer.request, target=None))
    cheats = means[0] > max(means[1], ready.AS_LIKELY * means[2])
    assert answer.text.startswith(f"{'Yes' if cheats else 'Hardly, here'}: told that “{wrong}”, which says something else, ")
    assert ("off its own input" in answer.text) is bool(cheats)
    assert re.findall(r"\d+%", answer.text.replace(wrong, "")) == [f"{mean:.0%}" for mean in means]
    assert f"On its own it writes: “{alone.translation[:120]}”." in answer.text


@pytest.mark.parametrize("name", [name for name in RUN if name != "peek"])
def test_without_a_causal_mask_the_peer_is_asked(peers, name):
    assert RUN[name](peers["peeker"], ASKED) == RUN[name](peers["masked"], dataclasses.replace(ASKED, checkpoint="masked"))


@pytest.mark.parametrize(("name", "asked"), [("peeker", name) for name in RUN] + [("masked", "peek")])
def test_without_a_peer_that_is_said_in_one_sentence(peers, name, asked):
    way = "without" if name == "masked" else "with"
    expected = f"^This question compares with .* trained {way} the causal mask, and '{name}' names none: add .* “peer”.$"
    with pytest.raises(CheckpointError, match=expected):
        RUN[asked](dataclasses.replace(peers[name], peer=None), ASKED)


def test_a_peer_of_other_languages_is_refused(peers):
    peers["peeker"] = dataclasses.replace(peers["peeker"], languages=("German", "English"))
    expected = "^The peer of 'masked', 'peeker', translates German to English; expected English to Made-up.$"
    with pytest.raises(CheckpointError, match=expected):
        RUN["peek"](peers["masked"], ASKED)


def test_a_peer_with_the_same_decoder_is_refused(peers):
    peers["peeker"] = peers["masked"]
    with pytest.raises(CheckpointError, match="has the same decoder; expected a checkpoint of the same languages"):
        RUN["peek"](peers["masked"], ASKED)


def test_the_shipped_checkpoints_name_peers_that_fit():
    loaded = [ready.checkpoints.load(name) for name in ready.checkpoints.names()]
    named = [each for each in loaded if each.peer]
    assert {each.name for each in named} >= {"en-fr", "en-fr-learned", "en-fr-peek"}
    for checkpoint in named:
        assert ready.peer_of(checkpoint).config.causal != checkpoint.config.causal
