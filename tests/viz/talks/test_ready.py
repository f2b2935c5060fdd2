"""The ready talks: each stop shows what its line says, on the shipped checkpoint."""

from __future__ import annotations

import numpy as np
import pytest

from model.edits.intervention import BASELINE
from model.trace import Site
from viz import cache, pages, readings
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

    def weights(self, kind: str, query: int) -> np.ndarray:
        """A row of the view's head, from 1."""
        return self.analysis.whole.patterns[Site(kind, self.view.layer - 1)][self.view.head - 1, query - 1]

    def source(self, token: str) -> int:
        return list(self.analysis.trace.source.labels).index(token)

    def most_on(self, token: str) -> float:
        row = self.weights("cross", self.view.step)
        assert row.argmax() == self.source(token)
        return float(row.max())


def il_before_elle(seen):
    il, elle = seen.rank("il", "elle")
    assert (round(il, 2), round(elle, 2)) == (0.58, 0.29)


def of_all_heads_the_one(seen):
    it, dog, trace = seen.source("it"), seen.source("dog"), seen.analysis.whole
    found = {(site.layer + 1, head + 1): p[head, it, dog] for site in trace.sites("encoder")
             for p in [trace.patterns[site]] for head in range(len(p))}  # fmt: skip
    assert max(found, key=found.get) == (3, 2) == (seen.view.layer, seen.view.head)
    assert seen.view.find == ("encoder", it + 1, dog + 1)


def stage(name):
    def check(seen):
        view = seen.view
        at = view.token if view.kind == "encoder" else view.step
        place = Site(view.kind, view.layer - 1), view.head - 1, at - 1
        found = readings.unfold(seen.data.request, view.device, *place)
        assert found.stages[view.stage - 1].name == name
        if name == "products":
            assert found.stages[view.stage - 1].tables[0].totals.argmax() == seen.source("dog")
        if name == "softmax" and view.kind == "encoder":
            assert seen.weights("encoder", view.token).argmax() == seen.source("dog")
        if name == "softmax":
            row = seen.weights(view.kind, at)
            assert row.sum() == pytest.approx(1, abs=1e-5)
            assert view.kind == "encoder" or (row[at:] == 0).all()

    return check


def same_without_the_head(seen):
    assert seen.said == seen.base and " qu'il " in seen.said and seen.view.edits.parts()[0][0] == "off_enc.3.2"


def word_becomes_wide(seen):
    other = pair(seen.view, seen.data)
    assert other.second.request.source == seen.view.source.replace("shy", "wide")


def elle_is_the_car(seen):
    assert seen.rank("elle")[0] > 0.5


def who_likes_whom(seen):
    swapped = "The girl likes the dog."
    assert seen.said != seen.base
    assert cache.page_data(type(seen.view)(**{**vars(seen.view), "source": swapped})).analysis.translation == seen.said


def one_of_three_masks(seen):
    trace = seen.analysis.whole
    cut = [kind for kind in trace.kinds if not np.all(trace.view(Site(kind, seen.view.layer - 1), None).allowed)]
    assert cut == ["decoder"] and seen.view.show == "mask"


def sees_the_future(seen):
    assert not seen.view.causal_mask and seen.said == seen.base


def writes_nothing(seen):
    assert seen.said.strip() == "" and seen.view.checkpoint == "en-fr-peek"


def is_given(seen):
    assert seen.view.target == "Le chat noir dort sur la vieille chaise."


def three_pads(seen):
    assert list(seen.analysis.trace.source.labels[-3:]) == ["<pad>"] * 3


def elle_becomes_il(seen):
    assert " qu'elle " in seen.base and seen.said == seen.base.replace("elle", "il").replace("petite", "petit")
    assert seen.analysis.trace.source.labels[5] == "it"


def falls_into_two(seen):
    assert seen.analysis.trace.source.labels[2:4] == ("didn", "'t")


def lourde_is_two(seen):
    assert seen.analysis.trace.outputs.labels[13:15] == ("lour", "de")


def four_by_eight(seen):
    config = seen.data.loaded.config
    assert (config.encoder_layers, config.heads) == (4, 8)


def writes(token):
    return lambda seen: seen.rank(token)


def looks_at(token, english, least=0.95):
    def check(seen):
        seen.rank(token)
        assert seen.most_on(english) > least

    return check


def beam_finds_more(seen):
    assert " qu'il " in seen.said
    assert " qu'elle " in cache.page_data(type(seen.view)(source=seen.view.source)).analysis.translation


MEASURED = {  # what a line claims, measured on its view; the other lines ask
    ("20-minutes", 2): il_before_elle,
    ("20-minutes", 3): looks_at("il", "it", 0.99),
    ("20-minutes", 4): of_all_heads_the_one,
    ("20-minutes", 5): stage("qkv"),
    ("20-minutes", 6): stage("products"),
    ("20-minutes", 7): stage("softmax"),
    ("20-minutes", 8): same_without_the_head,
    ("20-minutes", 10): word_becomes_wide,
    ("20-minutes", 11): elle_is_the_car,
    ("20-minutes", 12): who_likes_whom,
    ("masks", 1): one_of_three_masks,
    ("masks", 3): stage("mask"),
    ("masks", 4): stage("softmax"),
    ("masks", 5): sees_the_future,
    ("masks", 6): sees_the_future,
    ("masks", 7): writes_nothing,
    ("masks", 8): is_given,
    ("masks", 9): three_pads,
    ("masks", 11): elle_becomes_il,
    ("tokens-to-translation", 1): falls_into_two,
    ("tokens-to-translation", 2): lourde_is_two,
    ("tokens-to-translation", 5): who_likes_whom,
    ("tokens-to-translation", 6): four_by_eight,
    ("tokens-to-translation", 8): looks_at("une", "car"),
    ("tokens-to-translation", 9): looks_at("voiture", "car"),
    ("tokens-to-translation", 10): looks_at("rouge", "red"),
    ("tokens-to-translation", 12): beam_finds_more,
}


@pytest.mark.parametrize(("name", "number"), STOPS)
def test_a_stop_shows_what_its_line_says(name, number):
    seen = Seen(name, number)
    assert seen.stop.faults == () and seen.data.faults == () and seen.stop.line
    assert seen.view.within(len(seen.analysis.trace.predicted)) == seen.view
    assert seen.stop.place in pages.PAGES and seen.view.part in PARTS
    assert (seen.view.intervention == BASELINE) == (seen.analysis.baseline is None)
    MEASURED.get((name, number), lambda seen: None)(seen)


def test_each_goes_over_several_pages_in_about_twelve_stops():
    for talk in known.ready().values():
        assert 10 <= len(talk.stops) <= 12
        assert len({stop.page for stop in talk.stops}) >= 3
    shown = {stop.page for talk in known.ready().values() for stop in talk.stops}
    assert shown >= {"translate", "heads", "inside", "positions", "what-if", "why", "compare"}
