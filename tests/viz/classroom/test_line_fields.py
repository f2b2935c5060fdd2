"""Fields in the lines of a talk: each is a number of the stop's own view, and one that the view lacks is refused."""

import dataclasses

import numpy as np
import pytest

from model.io import numbers
from model.trace import Site
from viz import page_context, pages
from viz.classroom import line_fields
from viz.classroom.line_fields import fill, warning
from viz.state.links import parse
from viz.state.view import View

SENTENCE = "The dog didn't eat the apple because it was too hard."
VIEW = View(source=SENTENCE, step=10, layer=2, head=3, kind="cross")


def filled(page: str, view: View, line: str) -> str:
    found = fill(pages.find(page), view, line)
    assert found.faults == ()
    return found.text


@pytest.fixture(scope="module")
def trace():
    return page_context.build(VIEW).analysis.trace


def test_a_probability_is_that_of_the_step(trace):
    context = page_context.build(VIEW)
    for token in np.argsort(-trace.log_probs[10])[:3].tolist():
        piece = context.loaded.target_tokenizer.piece(token).lstrip("·")
        wanted = numbers.probability(float(np.exp(trace.log_probs[10, token])))
        assert filled("translate", VIEW, f"{{probability of {piece}}}") == wanted
    assert (
        filled("translate", VIEW, "{token}, {translation}") == f"{trace.outputs.labels[10]}, {context.analysis.translation}"
    )


def test_weights_are_those_of_the_shown_head(trace):
    weights = trace.patterns[Site("cross", 2)][3]
    wanted = numbers.probability(float(weights[10, 6]))
    assert filled("translate", VIEW, "{weight of apple}") == wanted
    assert filled("heads", VIEW, "{weight of elle on apple}") == wanted
    mean = np.mean([trace.patterns[site][:, 10, 6] for site in trace.sites("cross")])
    assert filled("translate", VIEW, "{mean weight of 7 apple}") == numbers.probability(float(mean))


def test_before_and_after_are_those_of_the_edit():
    view, faults = parse({"text": SENTENCE, "step": "11", "mode": "again", "edits": "block_cross_11-12", "kind": "cross"})
    assert not faults
    analysis = page_context.build(view).analysis
    before, after = analysis.probability_change.before[10], analysis.probability_change.after[10]
    line = "{probability before of elle} {probability after of elle} {token before} {token}"
    wanted = [numbers.probability(float(each)) for each in (before, after)]
    assert filled("what-if", view, line).split() == [*wanted, "elle", "il"]


def test_cuts_and_their_sum_are_those_of_the_route():
    view = dataclasses.replace(VIEW, head=None)
    assert filled("why", view, "{difference} logits, {effect of qu' on hard}") == "2.55 logits, −6.59"


@pytest.mark.parametrize(
    "field", ["", "nonsense", "probability of zebra", "probability", "weight of rain", "token before", "a of b on c"]
)
def test_a_field_that_the_view_lacks_is_one_sentence(field):
    found = fill(pages.find("translate"), VIEW, f"before {{{field}}} after")
    assert found.text == "before … after"
    (fault,) = found.faults
    assert fault.endswith(".") and "\n" not in fault


def test_a_repeated_token_needs_its_position():
    view = dataclasses.replace(VIEW, source="The girl likes the dog and the cat.", step=1, kind="encoder", token=0)
    found = fill(pages.find("heads"), view, "{weight of likes on the}")
    assert "position" in found.faults[0]
    weights = page_context.build(view).analysis.trace.patterns[Site("encoder", 2)][3]
    assert filled("heads", view, "{weight of likes on 4 the}") == numbers.probability(float(weights[2, 3]))


def test_braces_come_in_pairs():
    for line in ("{weight of house on sister and {token}.", "token}", "{token"):
        assert line_fields.UNPAIRED in fill(pages.find("translate"), VIEW, line).faults


def test_a_step_has_its_own_numbers_alone():
    view = dataclasses.replace(VIEW, step=0)
    assert "no number" in fill(pages.find("translate"), view, "{probability of elle}").faults[0]
    follows = dataclasses.replace(VIEW, step=11)  # it reads “elle”, and writes another token
    trace = page_context.build(follows).analysis.trace
    assert trace.outputs.labels[10] == "elle"
    found = fill(pages.find("translate"), follows, "{probability of elle}")
    read = numbers.probability(float(np.exp(trace.log_probs[11, trace.outputs.ids[10]])))
    assert "no number" in "".join(found.faults) or found.text == read


def test_a_step_beyond_the_text_is_its_last_one():
    view = dataclasses.replace(VIEW, step=90)
    assert fill(pages.find("translate"), view, "{token}").text == "</s>"


def test_a_view_that_cannot_be_built_leaves_the_line():
    found = fill(pages.find("translate"), dataclasses.replace(VIEW, checkpoint="nothere"), "{token} comes.")
    assert found.text == "… comes." and len(found.faults) == 1


def test_typed_decimals_give_a_warning():
    assert "0.93 stays as typed" in warning("elle has 0.93")
    for line in ("elle has {probability of elle}", "cross 3.4 looks at it", "What may row 4 see?", "No number."):
        assert warning(line) == ""


def test_a_line_without_fields_costs_nothing(monkeypatch):
    monkeypatch.setattr(line_fields.page_context, "build", lambda view: pytest.fail("computed"))
    assert fill(pages.find("heads"), VIEW, "Look at the fox.").text == "Look at the fox."
