"""Routes of a choice on seeded models of each family: numbers equal those of edits, and the search is bounded."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
import torch

from model.checkpoint import Checkpoint
from model.config import PAD
from model.decoding.strategy import Decoding
from model.edits.edit import Edit
from model.edits.intervention import Intervention
from model.edits.kinds import Place
from model.experiments import routes
from model.experiments.routes import (
    MAX_CELLS,
    MAX_LINKS,
    MIN_OF_STRONGEST,
    MIN_SHARE,
    MIN_WEIGHT,
    NEAR_TIE,
    Cell,
    Route,
    ZeroCells,
    find_route,
)
from model.inference.analyse import analyse
from model.inference.analysis import Analysis
from model.inference.request import Request
from model.text.tokenizer import Tokenizer
from tests.support import tiny

TEXT, LONGER = "The red fox takes a lamp.", "The old king paints a red boat and finds a lamp."
READER = {"family": "encoder-only", "decoder_layers": 0, "source_start": True, "tied_output": True}
FAMILIES = {  # text, row, and the changes of the model
    "encoder-decoder": (TEXT, 3, {}),
    "decoder-only": (TEXT, 10, {"family": "decoder-only", "encoder_layers": 0}),
    "blank": ("The red ___ takes a lamp.", 3, READER | {"output_transform": True, "output_bias": True}),
    "first": (TEXT, 0, {"pooling": "first"}),
    "mean": (TEXT, 0, {"pooling": "mean"}),
}


def zero(cell: Cell) -> ZeroCells:
    return ZeroCells(Place(cell.kind), cell.query, cell.key)


@dataclasses.dataclass(frozen=True)
class Case:
    """A route with its model and its request."""

    checkpoint: Checkpoint
    request: Request
    analysis: Analysis
    route: Route

    def difference(self, *edits: Edit) -> float:
        """Returns the difference of logits in the analysis of the same target under edits."""
        edited = dataclasses.replace(self.request, intervention=Intervention(edits=edits))
        trace, route = analyse(self.checkpoint, edited).trace, self.route
        return float(trace.logit(route.row, route.token)) - float(trace.logit(route.row, route.rival))

    def effect(self, edit: Edit) -> float:
        return self.difference(edit) - self.route.difference

    @property
    def tolerance(self) -> dict[str, float]:
        """The rounding of float32 logits, which analyses hold."""
        return {"rel": 1e-4, "abs": 1e-5 * float(np.abs(self.analysis.trace.logits[self.route.row]).max())}

    @property
    def first_rows(self) -> list[tuple[str, int]]:
        """Returns the rows that predict the token."""
        if self.checkpoint.config.pooling == "mean":
            return [("encoder", n) for n, token in enumerate(self.analysis.trace.source.ids) if token != PAD]
        kinds = self.analysis.trace.kinds
        return [(kind, self.route.row) for kind in kinds if kind != "encoder" or kinds == ("encoder",)]

    @property
    def second_rows(self) -> list[tuple[str, int]]:
        """Returns the rows of the positions that the first hop leads to."""
        kinds, rows = self.analysis.trace.kinds, []
        for cell in (link.cell for link in self.route.links if link.hop == 1 and not link.cell.is_own):
            reached = [kind for kind in kinds if kind != "encoder"] if cell.kind == "decoder" else ["encoder"]
            rows += [(kind, cell.key) for kind in reached]
        return [row for row in dict.fromkeys(rows) if row not in self.first_rows]

    def cells(self, rows: list[tuple[str, int]]) -> list[Cell]:
        trace = self.analysis.trace
        masks = {kind: trace.mask(trace.sites(kind)[0]) for kind in trace.kinds}
        ids = {kind: trace.axis(trace.sites(kind)[0].spec.key_side).ids for kind in trace.kinds}
        return [Cell(k, q, s) for k, q in rows for s in np.flatnonzero(masks[k][q]).tolist() if ids[k][s] != PAD]

    def split(self, cells: list[Cell]) -> tuple[list[Cell], list[Cell]]:
        """Returns the cells with the largest weights, which are cut, and those that are too light in every head."""
        trace = self.analysis.trace
        weights = {c: max(trace.patterns[s][:, c.query, c.key].max() for s in trace.sites(c.kind)) for c in cells}
        heavy = sorted((cell for cell in cells if weights[cell] >= MIN_WEIGHT), key=lambda cell: -weights[cell])
        return heavy[:MAX_CELLS], [cell for cell in cells if weights[cell] < MIN_WEIGHT]


@pytest.fixture(scope="module")
def build(tokenizer) -> Callable[..., Case]:
    """Returns the route of the top token against the second, in a model whose rows of attention are sharp."""
    masked = Tokenizer.train(tiny.SENTENCES, 320, blanks=True)

    def build(family: str, sharpness: float = 3, **fields) -> Case:
        text, row, changes = FAMILIES[family]
        make = tiny.classifier if "pooling" in changes else tiny.checkpoint
        checkpoint = make(masked if family == "blank" else tokenizer, seed=7, dtype=torch.float64, **changes)
        for name, parameter in checkpoint.model.named_parameters():
            if name.endswith("attention.query.weight"):
                parameter *= sharpness
        decoding = Decoding(max_new_tokens=3) if family == "decoder-only" else Decoding(max_total_tokens=8)
        request = Request(**({"source": text, "decoding": decoding} | fields))
        analysis = analyse(checkpoint, request)
        token, rival = np.argsort(-analysis.trace.log_probs[row])[:2].tolist()
        return Case(checkpoint, request, analysis, find_route(checkpoint, analysis, row, token, rival))

    return build


@pytest.fixture(scope="module", params=FAMILIES)
def case(request, build) -> Case:
    return build(request.param)


def test_effects_equal_the_analyses_of_their_edits(case):
    assert case.route.difference == pytest.approx(case.difference(), **case.tolerance)
    for link in case.route.links:
        assert link.effect == pytest.approx(case.effect(link.cell.cut()), **case.tolerance)
        assert link.zeroed == pytest.approx(case.effect(zero(link.cell)), **case.tolerance)


def test_zeroed_weight_moves_to_no_other_cell(case):
    cell = case.route.links[0].cell
    site = case.analysis.trace.sites(cell.kind)[0]  # no edit changes the input of the first layer
    edited = dataclasses.replace(case.request, intervention=Intervention(edits=(zero(cell),)))
    expected = case.analysis.trace.patterns[site].copy()
    expected[:, cell.query, cell.key] = 0
    np.testing.assert_allclose(analyse(case.checkpoint, edited).trace.patterns[site], expected, atol=1e-6)


def test_layers_and_head_equal_cuts_in_that_place(case):
    for link in case.route.links:
        cuts = [case.effect(link.cell.cut(layer)) for layer in range(len(link.layers))]
        assert link.layers == pytest.approx(cuts, **case.tolerance)
        site, head, effect = link.head
        assert site.layer == np.abs(cuts).argmax()
        heads = [case.effect(link.cell.cut(site.layer, n)) for n in range(case.checkpoint.config.heads)]
        assert head == np.abs(heads).argmax() and effect == pytest.approx(heads[head], **case.tolerance)


def test_both_shares_equal_joint_cuts(case):
    route, chosen = case.route, {link.cell for link in case.route.links}
    others = [cell for cell in case.cells([(cell.kind, cell.query) for cell in chosen]) if cell not in chosen]
    cut, kept = (case.difference(*(cell.cut() for cell in cells)) for cells in (chosen, others))
    assert (route.cut_difference, route.kept_difference) == pytest.approx((cut, kept), **case.tolerance)
    for share, value in ((route.completeness, route.difference - cut), (route.faithfulness, kept)):
        assert (share is None) == (abs(route.difference) < NEAR_TIE)
        assert share is None or share * route.difference == pytest.approx(value, **case.tolerance)


def test_links_are_the_strongest_cells_of_one_sign(case):
    links, difference, largest = case.route.links, abs(case.route.difference), 0.0
    for hop, rows in ((1, case.first_rows), (2, case.second_rows)):
        effects = {cell: case.effect(cell.cut()) for cell in case.split(case.cells(rows))[0]}
        largest = max([largest, *map(abs, effects.values())])
        strong = [c for c in effects if abs(effects[c]) >= max(MIN_SHARE * difference, MIN_OF_STRONGEST * largest)]
        strong = sorted(strong, key=lambda cell: -abs(effects[cell]))[: 2 * MAX_LINKS]
        zeroed = {cell: case.effect(zero(cell)) for cell in strong}
        agreeing = [c for c in strong if zeroed[c] * effects[c] > 0 and abs(zeroed[c]) >= MIN_SHARE * difference]
        assert [link.cell for link in links if link.hop == hop] == agreeing[:MAX_LINKS]


@pytest.mark.parametrize("family", FAMILIES)
def test_cells_with_small_weights_are_left_out_and_weak(build, family):
    case = build(family, sharpness=6)
    (near, light), (far, more) = (case.split(case.cells(rows)) for rows in (case.first_rows, case.second_rows))
    cells = case.cells(case.first_rows + case.second_rows)
    assert (case.route.tested, case.route.untested) == (len(near + far), len(cells) - len(near + far))
    others = set(near + far) - {link.cell for link in case.route.links}
    control = np.median([abs(case.effect(cell.cut())) for cell in others])
    assert case.route.control == pytest.approx(control, **case.tolerance)
    strongest = max(abs(link.effect) for link in case.route.links)
    assert max([abs(case.effect(cell.cut())) for cell in light + more], default=0) < 0.02 * strongest


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "decoder-only"])
def test_padding_changes_no_route(build, family):
    plain = build(family)
    more = {"extra_padding": 3} if family in ("first", "mean", "blank") else {"other_sentences": (LONGER,)}
    padded = build(family, **more)
    assert PAD in padded.analysis.trace.source.ids
    one, two = ({n: v for n, v in vars(each.route).items() if n != "links"} for each in (plain, padded))
    assert one == pytest.approx(two)
    assert [link.cell for link in plain.route.links] == [link.cell for link in padded.route.links]


def test_near_tie_has_no_shares(build):
    case = build("encoder-decoder")
    logits = case.analysis.trace.logits[case.route.row]
    order = np.argsort(-logits)
    closest = int(np.diff(-logits[order]).argmin())
    route = find_route(case.checkpoint, case.analysis, case.route.row, *order[closest : closest + 2].tolist())
    assert 0 < abs(route.difference) < NEAR_TIE and route.is_near_tie and not route.explains
    assert (route.completeness, route.faithfulness) == (None, None)


@pytest.mark.parametrize(
    ("row", "token", "rival", "message"),
    [
        (99, 5, 6, r"the (step|row) is 99; expected 0 to \d+"),
        (-1, 5, 6, r"the (step|row) is -1; expected 0 to \d+"),
        (0, 9999, 1, r"the token is 9999; expected an id below \d+"),
        (0, 1, -2, r"the rival is -2; expected an id below \d+"),
        (0, 2, 2, "the rival is the token itself; expected two different tokens"),
    ],
)
def test_impossible_choice_is_refused(case, row, token, rival, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        find_route(case.checkpoint, case.analysis, row, token, rival)


def test_longest_texts_have_a_bounded_search(build, monkeypatch):
    monkeypatch.setattr(routes, "MIN_WEIGHT", 0)
    text, shares = "a lamp old a red una " * 21 + "a", []
    case = build("encoder-decoder", source=text, target=text)
    trace = case.analysis.trace
    route = find_route(case.checkpoint, case.analysis, len(trace.outputs) - 1, 5, 6, shares.append)
    assert (len(trace.source), len(trace.outputs)) == (128, 128)
    assert MAX_CELLS < route.tested <= 2 * MAX_CELLS and route.untested >= 256 - MAX_CELLS
    assert shares == sorted(shares) and shares[-1] == 1
