"""What a class is asked is asked of the view: the answer is the model's own, and every number is that of its pass."""

import dataclasses
import json

import numpy as np
import pytest

from model.config import END
from model.decoding.sampling import EXCLUDED_IDS
from model.decoding.strategy import Decoding
from model.inference.analyse import analyse
from model.inference.predictions import is_near_tie
from model.inference.request import Request
from model.io.numbers import probability
from model.trace import Site
from tests.support import tiny
from viz.classroom.questions import GAP, MAX_OPTIONS, MIN_OPTIONS, NoQuestion, _pair, question
from viz.classroom.rooms.room import Room
from viz.state.view import View

TEXT = "The red fox takes a lamp."
SHORT = Decoding(max_total_tokens=8)
ODD = ["Né à l'été, qu'il dit.", "🦉🦉 \u2060 \t x", "lo ) lo ) lo", "L'étoile l'étoile"]


def asked(loaded, text: str = TEXT, **more):
    return analyse(loaded, Request(text, **({"decoding": SHORT} | more)))


def at(step: int, analysis, loaded):
    return question(View(step=step - 1), analysis, loaded, of_heads=False)


def taken(found) -> None:
    """A room takes the question as it is sent."""
    sent = json.loads(json.dumps(dataclasses.asdict(found)))
    room = Room("ABCDEF", "", "/", 0.0).asks(*(sent[name] for name in ("kind", "text", "options", "model")), 1.0)
    assert not {"answer", "model"} & set(room.describe()["question"])  # nobody is told before
    assert room.reveals(sent["answer"], 2.0).describe()["question"]["answer"] == found.answer


@pytest.mark.parametrize("target", [None, *ODD])
def test_the_answer_has_the_numbers_of_the_step(tiny_checkpoint, target):
    analysis = asked(tiny_checkpoint, target=target)
    tokenizer, ids = tiny_checkpoint.target_tokenizer, analysis.trace.predicted_axis.ids
    for step, token in enumerate(ids, 1):
        found = at(step, analysis, tiny_checkpoint)
        taken(found)
        assert MIN_OPTIONS <= len(found.options) <= MAX_OPTIONS and len(set(found.options)) == len(found.options)
        # the order tells nothing
        assert list(found.options) == sorted(found.options, key=lambda word: (word.casefold(), word))
        given = found.model[found.options.index(found.answer)]
        assert given == pytest.approx(np.exp(analysis.trace.log_probs[step - 1, token]), rel=1e-5)
        shown = "(the end)" if token == END else tokenizer.piece(token).removeprefix("·")
        assert found.answer.removeprefix("…") == (shown or "(a space)")
        assert probability(given) in found.gave
        said = "".join(tokenizer.segments(ids[: step - 1])).strip()
        assert found.before.strip() == said and found.gap == GAP and found.text == f"{found.asks} {found.before}{GAP}"
        assert found.asks == (f"What comes after “{said.split()[-1]}”?" if said else "What comes first?")


def test_sampled_tokens_and_near_ties_are_named(tiny_checkpoint):
    drawn = asked(tiny_checkpoint, decoding=Decoding("sample", max_total_tokens=4, seed=7))
    assert "was sampled" in at(1, drawn, tiny_checkpoint).note
    analysis = asked(tiny_checkpoint)
    for step, row in enumerate(analysis.trace.log_probs, 1):
        second, first = np.sort(np.exp(np.delete(row, EXCLUDED_IDS)))[-2:]
        assert ("A near-tie" in at(step, analysis, tiny_checkpoint).note) == is_near_tie(first, second)


def linked(analysis, weights):
    """The analysis with given weights [N] from the second token to the first, layer by layer."""
    patterns, rest = dict(analysis.trace.patterns), np.array(weights)
    for layer in range(2):
        made = np.zeros_like(patterns[Site("encoder", layer)])
        made[:, 0, 2] = 1  # the largest weight of every map: its title names it, so nobody is asked about it
        made[:, 1, 0], made[:, 1, 1] = rest[2 * layer : 2 * layer + 2], 1 - rest[2 * layer : 2 * layer + 2]
        patterns[Site("encoder", layer)] = made
    return dataclasses.replace(analysis, trace=dataclasses.replace(analysis.trace, patterns=patterns))


@pytest.mark.parametrize(
    ("weights", "answer", "options"),
    [
        ([0.1, 0.8, 0.3, 0.2], "encoder 1.2", ["encoder 1.1", "encoder 1.2", "encoder 2.1", "encoder 2.2"]),
        ([0.1, 0.8, 0.75, 0.2], "encoder 1.2", ["encoder 1.1", "encoder 1.2", "encoder 2.2"]),
        ([0.1, 0.2, 0.3, 0.9], "encoder 2.2", ["encoder 1.1", "encoder 1.2", "encoder 2.1", "encoder 2.2"]),
    ],
)
def test_the_best_head_is_the_answer(tiny_checkpoint, weights, answer, options):
    analysis = linked(asked(tiny_checkpoint), weights)
    view = View(kind="encoder", layer=int(answer[-3]) - 1, head=int(answer[-1]) - 1)
    found = question(view, analysis, tiny_checkpoint, of_heads=True)
    taken(found)
    assert (found.answer, list(found.options)) == (answer, options)
    assert max(found.model) == pytest.approx(max(weights)) == found.model[found.options.index(answer)]
    assert sum(is_near_tie(max(found.model), each) for each in found.model) == 1
    assert ("encoder 2.1 with 0.75" in found.note) == (weights[2] == 0.75)
    with pytest.raises(NoQuestion, match="Clear it first"):  # the list of heads for two tokens is on the screen
        question(dataclasses.replace(view, find=("encoder", 2, 1)), analysis, tiny_checkpoint, of_heads=True)


def test_a_given_text_is_not_asked_about(tokenizer):
    writes = tiny.checkpoint(tokenizer, family="decoder-only", encoder_layers=0)
    analysis = asked(writes, "The red fox")
    with pytest.raises(NoQuestion, match=f"from step {analysis.prompt_length + 1} on"):
        at(analysis.prompt_length, analysis, writes)
    found = at(analysis.prompt_length + 1, analysis, writes)
    assert found.before.startswith("The red fox") and found.about == ""
    reads = tiny.checkpoint(tokenizer, family="encoder-only", decoder_layers=0)
    with pytest.raises(NoQuestion, match="This sentence has no blank"):
        at(2, asked(reads), reads)


@pytest.mark.parametrize("average", ["none", "head", "layers"])
@pytest.mark.parametrize("combine", ("mean", "max"))
def test_the_pair_is_the_strongest_of_the_combined_map(tiny_checkpoint, combine, average):
    view = View(kind="cross", layer=1, head=1 if average == "head" else None, combine=combine, average=average)
    trace = asked(tiny_checkpoint, target="Lo varun roji prenda una lumel.").trace
    sites = trace.sites("cross") if average != "none" else [Site("cross", 1)]
    heads = [1] if average == "head" else [0, 1]
    weights = getattr(np, combine)(np.concatenate([trace.patterns[site][heads] for site in sites]), axis=0)  # [T,S]
    words = [[text.strip("·").isalpha() for text in trace.axis(side).labels] for side in ("target", "source")]
    pair = _pair(view, trace)
    links = np.where(np.outer(*words) & (weights < weights.max()), weights, -1.0)  # the title names the largest
    assert links[pair.query, pair.key] == links.max() > 0
