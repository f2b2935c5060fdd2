"""The ready talks: each stop shows what its line says, on the shipped checkpoint."""

from __future__ import annotations

import re

import numpy as np
import pytest

from model.edits.intervention import BASELINE
from model.trace import Site
from viz import cache, pages, readings
from viz.compare import distance
from viz.compare.pair import pair
from viz.inside.parts import PARTS
from viz.talks import known

STOPS = [(name, number) for name in known.READY for number in range(1, len(known.ready()[name].stops) + 1)]


class Seen:
    """What stands at a stop."""

    def __init__(self, name: str, number: int) -> None:
        self.stop = known.ready()[name].at(number)
        self.view = self.stop.view
        self.data = cache.page_data(self.view)
        self.analysis = self.data.analysis
        self.said, self.base = self.analysis.translation, (self.analysis.baseline or self.analysis).translation

    def rank(self, *tokens: str) -> list[float]:
        """The probabilities of the likeliest tokens of the step, which are these."""
        row = np.exp(self.analysis.trace.log_probs[self.view.step - 1])
        best = np.argsort(-row)[: len(tokens)]
        assert [self.data.loaded.target_tokenizer.piece(int(token)).strip("·▁ ") for token in best] == list(tokens)
        return row[best].tolist()

    def tokens(self, *labels: str) -> list[int]:
        """The ids of tokens, the likeliest of each label at the step."""
        order = np.argsort(-self.analysis.trace.log_probs[self.view.step - 1]).tolist()
        piece = self.data.loaded.target_tokenizer.piece
        return [next(each for each in order if piece(each) == f"·{label}") for label in labels]

    def weights(self, kind: str, query: int) -> np.ndarray:
        """A row of the view's head, from 1."""
        return self.analysis.whole.patterns[Site(kind, self.view.layer - 1)][self.view.head - 1, query - 1]

    def source(self, token: str) -> int:
        return list(self.analysis.trace.source.labels).index(token)

    def most_on(self, token: str) -> float:
        row = self.weights("cross", self.view.step)
        assert row.argmax() == self.source(token)
        return float(row.max())


def near(line: str) -> list[tuple[float, float]]:
    """The decimals in a line, each with the tolerance of its last digit."""
    found = re.findall(r"([+−]?)(\d+\.(\d+))", line)
    return [(-float(n) if sign == "−" else float(n), 10.0 ** -len(digits)) for sign, n, digits in found]


def writes(*tokens):
    return lambda seen: seen.rank(*tokens)


def sees_one_word(seen):
    seen.rank("il")
    assert seen.most_on("it") > 0.95


def puts_most_on_dog(seen):
    it, dog, trace = seen.source("it"), seen.source("dog"), seen.analysis.whole
    found = {(site.layer + 1, head + 1): p[head, it, dog] for site in trace.sites("encoder")
             for p in [trace.patterns[site]] for head in range(len(p))}  # fmt: skip
    assert max(found, key=found.get) == (seen.view.layer, seen.view.head)
    assert seen.view.find == ("encoder", it + 1, dog + 1)
    because = seen.weights("encoder", seen.source("because") + 1)
    assert because[dog] == trace.patterns[Site("encoder", seen.view.layer - 1)][seen.view.head - 1, :, dog].max()
    return [found[seen.view.layer, seen.view.head], because[dog]]


def stage(name):
    def check(seen):
        view = seen.view
        at = view.token if view.kind == "encoder" else view.step
        place = Site(view.kind, view.layer - 1), view.head - 1, at - 1
        found = readings.unfold(seen.data.request, view.device, *place)
        assert found.stages[view.stage - 1].name == name
        row = seen.weights(view.kind, at)
        if name == "softmax":
            assert row.sum() == pytest.approx(1, abs=1e-5)
        if name in ("mask", "softmax") and view.kind == "decoder":
            assert (row[:at] > 0).all() and (row[at:] == 0).all()
        if name == "mask":
            assert f"{len(row) - at} of {len(row)}" in seen.stop.line
        shown = found.stages[view.stage - 1].tables[0].totals if name == "products" else row
        if name in ("products", "softmax") and view.kind == "encoder":
            best = np.argsort(-shown)[:2].tolist()
            assert best == [seen.source("dog"), seen.source("street")]
            return shown[best].tolist()
        return []

    return check


def rises_without_the_head(seen):
    head, before = seen.view.edits.parts()[0][0], known.ready()["20-minutes"].at(7).view
    assert seen.said == seen.base and " qu'il " in seen.said and head == f"off_enc.{before.layer}.{before.head}"
    step = seen.view.step - 1
    return [each.trace.probabilities[step] for each in (seen.analysis.baseline, seen.analysis)]


def adds_up(seen):
    il, elle = seen.tokens("il", "elle")
    found = readings.direct_logits(seen.data.request, seen.view.device, seen.view.step - 1, il, elle)
    assert abs(found.remainder) < 1e-3
    return [found.difference]


def word_becomes_wide(seen):
    other = pair(seen.view, seen.data)
    assert other.second.request.source == seen.view.source.replace("shy", "wide")
    furthest = distance.most(distance.grids(other))
    assert (furthest.site, furthest.head) == (Site(seen.view.kind, seen.view.layer - 1), seen.view.head - 1)
    step, (il,), (elle,) = seen.view.step - 1, seen.tokens("il"), seen.tokens("elle")
    assert [side.analysis.trace.outputs.ids[step] for side in (other.first, other.second)] == [il, elle]
    return [side.analysis.trace.probabilities[step] for side in (other.first, other.second)]


def changes_places(seen):
    swapped = "The girl likes the dog."
    assert (seen.base, seen.said) == ("Le chien aime la fille.", "La fille aime le chien.")
    assert all(each.removesuffix(".") in seen.stop.line for each in (seen.base, seen.said))
    assert cache.page_data(type(seen.view)(**{**vars(seen.view), "source": swapped})).analysis.translation == seen.said


def one_of_three_masks(seen):
    trace = seen.analysis.whole
    cut = [kind for kind in trace.kinds if not np.all(trace.view(Site(kind, seen.view.layer - 1), None).allowed)]
    assert cut == ["decoder"] and seen.view.show == "mask"


def costs_probability(seen):
    assert not seen.view.causal_mask and seen.view.mode == "given" and seen.said == seen.base
    return [float(each.trace.token_log_probs.sum()) for each in (seen.analysis.baseline, seen.analysis)]


def stays_without_the_mask(seen):
    assert not seen.view.causal_mask and seen.view.mode == "again" and seen.said == seen.base


def ends_at_once(seen):
    assert seen.said.strip() == "" and not seen.data.loaded.config.causal
    return [seen.analysis.trace.probabilities[0]]


def is_given(seen):
    assert seen.view.target == "Le chat noir dort sur la vieille chaise." and not seen.data.loaded.config.causal
    return seen.rank("noir")


def three_pads(seen):
    trace = seen.analysis.whole
    assert list(trace.source.labels[-3:]) == ["<pad>"] * 3
    assert all((trace.patterns[site][..., -3:] == 0).all() for site in trace.sites("encoder"))


def stays_without_the_padding_mask(seen):
    three = seen.analysis.trace.source.labels[-3:]
    assert not seen.view.padding_mask and seen.said == seen.base and list(three) == ["<pad>"] * 3


def elle_becomes_il(seen):
    assert " qu'elle " in seen.base and seen.said == seen.base.replace("elle", "il").replace("petite", "petit")
    assert seen.analysis.trace.source.labels[5] == "it"
    step = seen.view.step - 1
    return np.exp(
        [seen.analysis.baseline.trace.token_log_probs[step], seen.analysis.baseline_token_log_probs[step]]
    ).tolist()


def falls_into_two(seen):
    assert seen.analysis.trace.source.labels[2:4] == ("didn", "'t")


def lourde_is_two(seen):
    assert seen.analysis.trace.outputs.labels[13:15] == ("lour", "de")


def four_by_eight(seen):
    config = seen.data.loaded.config
    assert (config.encoder_layers, config.heads) == (4, 8)


def looks_at(token, english, mean=""):
    def check(seen):
        seen.rank(token)
        one = known.ready()["tokens-to-translation"].at(8).view
        assert (seen.view.kind, seen.view.layer, seen.view.head) == (one.kind, one.layer, one.head)
        rows = np.concatenate(
            [p[:, seen.view.step - 1] for site, p in seen.analysis.whole.patterns.items() if site.kind == "cross"]
        )
        average = rows.mean(0)
        assert not mean or average.argmax() == seen.source(mean)
        return [seen.most_on(english), *([average.max()] if mean else [])]

    return check


def voiture_appears(seen):
    lens = readings.lens(seen.data.request, seen.view.device)
    ranks = lens.rank[:, seen.view.step - 1]
    assert ranks[0] > 1 and ranks[-1] == 1 and seen.analysis.trace.outputs.labels[seen.view.step - 1] == "voiture"


def beam_prefers_the_less_likely_word(seen):
    sides, step = pair(seen.view, seen.data), seen.view.step - 1
    both = [side.analysis for side in (sides.first, sides.second)]
    assert [each.trace.outputs.labels[step] for each in both] == ["il", "elle"]
    assert both[0].hypothesis.score > both[1].hypothesis.score
    return [each.trace.probabilities[step] for each in both]


MEASURED = {  # what a line claims, measured on its view; the other lines ask
    ("20-minutes", 1): writes("il", "elle"),
    ("20-minutes", 2): writes("il", "elle"),
    ("20-minutes", 3): sees_one_word,
    ("20-minutes", 4): puts_most_on_dog,
    ("20-minutes", 5): stage("qkv"),
    ("20-minutes", 6): stage("products"),
    ("20-minutes", 7): stage("softmax"),
    ("20-minutes", 8): rises_without_the_head,
    ("20-minutes", 9): adds_up,
    ("20-minutes", 10): word_becomes_wide,
    ("20-minutes", 11): writes("elle", "il"),
    ("20-minutes", 12): changes_places,
    ("masks", 1): one_of_three_masks,
    ("masks", 3): stage("mask"),
    ("masks", 4): stage("softmax"),
    ("masks", 5): costs_probability,
    ("masks", 6): stays_without_the_mask,
    ("masks", 7): ends_at_once,
    ("masks", 8): is_given,
    ("masks", 9): three_pads,
    ("masks", 10): stays_without_the_padding_mask,
    ("masks", 11): elle_becomes_il,
    ("tokens-to-translation", 1): falls_into_two,
    ("tokens-to-translation", 2): lourde_is_two,
    ("tokens-to-translation", 5): changes_places,
    ("tokens-to-translation", 6): four_by_eight,
    ("tokens-to-translation", 8): looks_at("une", "car", mean="a"),
    ("tokens-to-translation", 9): looks_at("voiture", "car"),
    ("tokens-to-translation", 10): looks_at("rouge", "red"),
    ("tokens-to-translation", 11): voiture_appears,
    ("tokens-to-translation", 12): beam_prefers_the_less_likely_word,
}
HIDDEN = [("20-minutes", 1)]  # the class guesses: the numbers are not named


@pytest.mark.parametrize(("name", "number"), STOPS)
def test_a_stop_shows_what_its_line_says(name, number):
    seen = Seen(name, number)
    assert seen.stop.faults == () and seen.data.faults == () and seen.stop.line
    assert seen.view.within(len(seen.analysis.trace.predicted)) == seen.view
    assert seen.stop.place in pages.PAGES and seen.view.part in PARTS
    assert (seen.view.intervention == BASELINE) == (seen.analysis.baseline is None)
    found = MEASURED.get((name, number), lambda seen: None)(seen) or []
    if (name, number) not in HIDDEN:
        named = near(seen.stop.line)
        assert len(named) == len(found), (named, found)
        for (value, digit), measured in zip(named, found, strict=True):
            assert measured == pytest.approx(value, abs=digit)


def test_each_goes_over_several_pages_in_about_twelve_stops():
    for talk in known.ready().values():
        assert 10 <= len(talk.stops) <= 12
        assert len({stop.page for stop in talk.stops}) >= 3
    shown = {stop.page for talk in known.ready().values() for stop in talk.stops}
    assert shown >= {"translate", "heads", "inside", "positions", "what-if", "why", "compare"}
