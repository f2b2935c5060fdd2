"""The picture of the architecture and one head unfolded: their payloads and events."""

import itertools
import json
import re
from functools import partial

import numpy as np
import pytest

from model.inference.analyse import analyse
from model.inference.request import Request
from model.io.numbers import probability, three_digits
from model.readings.stages import stage_values
from model.readings.stages.blueprint import blueprint as plan
from model.trace import ATTENTION_KINDS
from tests.support import tiny, unfold_helpers
from tests.support.component_helpers import Mounted, floats
from tests.support.unfold_helpers import MODELS, unfolded_payload
from tests.support.viz_helpers import INSIDE, Lab
from viz import cache
from viz.inside.model_map import MAP, payload, shares
from viz.inside.stages import STAGES
from viz.offline import html_export
from viz.state import navigation, session
from viz.state.view import View


@pytest.fixture(scope="module")
def make(tokenizer):
    """Checkpoints of the models by name."""
    return partial(unfold_helpers.make, tokenizer)


@pytest.mark.parametrize(("name", "kind"), zip(MODELS, itertools.cycle(ATTENTION_KINDS)))
def test_every_number_and_every_line_arrives_as_it_is(make, name, kind):
    u, data = unfolded_payload(make(name), kind=kind)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert [stage["name"] for stage in data["stages"]] == [stage.name for stage in u.stages]
    for stage, sent in zip(u.stages, data["stages"], strict=True):
        assert sent["edited"] is stage.edited is False
        assert [(s["name"], s["letters"], tuple(s["numbers"])) for s in sent["shapes"]] == [
            (shape.name, shape.letters, shape.numbers) for shape in stage.shapes
        ]
        for table, got in zip(stage.tables, sent["tables"], strict=True):
            assert (got["rows"], got["columns"]) == (list(table.rows), table.values.shape[1])
            np.testing.assert_array_equal(floats(got["values"]).reshape(len(got["rows"]), -1), table.values)
            for key in ("totals", "foot"):
                expected = getattr(table, key)
                assert (got[key] is None) == (expected is None)
                if expected is not None:
                    np.testing.assert_array_equal(floats(got[key]), expected)
            names = ("name", "unit", "kind", "marked", "totalName", "footName")
            marked = u.key if got["bars"] else table.marked
            mine = (table.name, table.unit, table.kind, marked, table.total_name, table.foot_name)
            assert tuple(got[key] for key in names) == mine
            assert got["allowed"] == (None if table.allowed is None else [int(cell) for cell in table.allowed])
        assert sent["code"] == [vars(each) for code in stage.code for each in stage_values.source_lines(code)]


def test_the_stream_goes_on_to_the_next_site(make):
    checkpoint, way = make("pre-norm"), []
    following = {"kind": "decoder", "layer": 1}
    while following:
        way.append((following["kind"], following["layer"]))
        following = unfolded_payload(checkpoint, kind=following["kind"], layer=following["layer"] - 1)[1]["next"]
    assert way == [("decoder", 1), ("cross", 1), ("decoder", 2), ("cross", 2)]
    assert unfolded_payload(checkpoint, kind="encoder")[1]["next"] == {"kind": "encoder", "layer": 2, "name": "encoder"}
    assert unfolded_payload(checkpoint, kind="encoder", layer=1)[1]["next"] is None


def test_events_of_things_that_do_not_exist_are_ignored(make, monkeypatch):
    checkpoint, browser, changes = make("pre-norm"), Mounted(monkeypatch), []
    monkeypatch.setattr(session, "change", lambda **fields: changes.append(fields))
    analysis = analyse(checkpoint, Request("The red fox sleeps."))
    context = html_export.make_context(checkpoint, analysis, View(kind="decoder", layer=0, head=1, step=2))
    unfolded = STAGES.result(context)
    stages, queries = len(unfolded.stages), len(analysis.trace.outputs)
    STAGES.component.mount("stages", {}, STAGES.events(context, unfolded))
    reported = [("stage", 3), ("stage", 0), ("stage", stages + 1), ("query", queries), ("query", queries + 1)]
    reported += [(name, pressed) for name in ("next", "apart") for pressed in (True, None, False)]
    for name, value in reported:
        browser.report(name, value)
    following = {"kind": "cross", "layer": 0, "stage": 0}
    assert changes == [{"stage": 2}, {"step": queries - 1, "key": None}, following, {"part": "writers", "key": None}]


MARKUP = re.compile(r"[<>*`\n]|  ")


@pytest.mark.parametrize("name", MODELS)
def test_every_stage_has_title_formula_and_sentence(make, name):
    for kind in ATTENTION_KINDS:
        u, data = unfolded_payload(
            make(name), *(("block_enc_3-all", "scaling-off") if name == "as in 2017" else ()), kind=kind
        )
        for stage in data["stages"]:
            left = re.sub(r"[_^]\{[^{}_^]+\}", "", stage["formula"].replace("x^{2}", "x2"))
            assert left and not re.search(r"[{}_^<>]", left), stage["formula"]
            assert stage["title"] and not MARKUP.search(stage["title"]) and stage["sentence"].endswith(".")
            assert re.search(r"\d", stage["sentence"]) or stage["edited"]
            assert not MARKUP.search(re.sub("“[^”]*”", "…", stage["sentence"]))
        said = {stage["name"]: stage["sentence"] for stage in data["stages"]}
        dots, weights = u["products"].tables[0].values.astype(float).sum(-1), u["softmax"].tables[0].values[:, 0]
        row = int((weights if weights.any() else dots).argmax())
        assert f"= {three_digits(dots[row])}, " in said["products"] and f"“{u.keys[row]}”" in said["products"]
        assert probability(weights.max()) in said["softmax"] or not weights.any()
        if division := re.search(r"exp\((.+)\) / ([^ ]+),", said["softmax"]):
            score, total = (float(part.replace("−", "-").replace(",", "")) for part in division.groups())
            assert np.exp(score) / total == pytest.approx(weights[row], rel=0.02, abs=0.01)


TEXT = "The red fox takes a lamp."


@pytest.fixture
def drawn(tokenizer):
    """A checkpoint, its plan on a sentence, and what the browser is given of it."""

    def made(view: View = View(kind="cross", layer=1, step=2), mode="light", rotary=False, **changes):  # noqa: B008
        checkpoint = tiny.checkpoint(tokenizer, **({"encoder_layers": 3} | changes))
        trace = analyse(checkpoint, Request(TEXT)).trace
        blocks = plan(checkpoint, len(trace.source), len(trace.inputs or ()))
        return checkpoint, blocks, payload(blocks, trace, view, mode, rotary)

    return made


def test_every_block_of_the_picture_is_one_of_the_plan(drawn):
    _, blocks, data = drawn()
    planned = {block.key: block for block in blocks}
    shown = {block["key"]: block for block in data["blocks"]}
    assert len(shown) == len(data["blocks"])
    assert set(shown) == {key for key, block in planned.items() if block.layer in (None, 1)}
    for key, block in shown.items():
        assert block["name"] == planned[key].name
        assert block["parameters"] == planned[key].parameters
        assert block["shapes"][-1][2] == ", ".join(map(str, planned[key].shapes[-1].numbers))


@pytest.mark.parametrize("layer", [0, 1, 2, 8])
def test_closed_layers_have_their_parameters(drawn, layer):
    checkpoint, _, data = drawn(View(layer=layer, step=0))
    assert data["open"] == {"encoder": min(layer + 1, 3), "decoder": min(layer + 1, 2)}
    assert data["total"] == checkpoint.model.parameter_count
    for column, layers in (("encoder", checkpoint.model.encoder), ("decoder", checkpoint.model.decoder)):
        assert data["layers"][column] == [sum(p.numel() for p in module.parameters()) for module in layers]


JUDGES = {"family": "encoder-only", "decoder_layers": 0, "source_start": True, "output_transform": True}
JUDGES |= {"segments": 2, "pooler": True, "follows": True, "classes": ("no", "yes")}


@pytest.mark.parametrize(
    "changes", [{}, {"positions": "learned"}, {"joint_vocab": False, "tied_output": False}, JUDGES], ids=str
)
def test_the_shares_add_up(drawn, changes):
    checkpoint, blocks, _ = drawn(**changes)
    assert sum(count for _, _, count in shares(blocks)) == checkpoint.model.parameter_count


def test_the_pair_of_the_step_is_the_traces(drawn):
    checkpoint, _, data = drawn(View(step=1))
    trace = analyse(checkpoint, Request(TEXT)).trace
    assert (data["inputs"], data["outputs"]) == (list(trace.inputs.labels), list(trace.outputs.labels))
    assert data["inputs"][1:] == data["outputs"][:-1]
    assert data["step"] == 1 and data["probability"] == pytest.approx(trace.probabilities[1], abs=1e-5)
    assert drawn(View(step=500))[2]["step"] == len(trace.outputs) - 1


def test_a_link_opens_its_site(monkeypatch, tokenizer):
    checkpoint = tiny.checkpoint(tokenizer)
    context = html_export.make_context(checkpoint, analyse(checkpoint, Request(TEXT)), View())
    opened, browser = [], Mounted(monkeypatch)
    monkeypatch.setattr(session, "change", lambda **fields: opened.append(fields))
    monkeypatch.setattr(navigation, "go_to", opened.append)
    MAP.component.mount("map", {}, MAP.events(context, MAP.result(context)))
    for to, key in (
        ("heads", "decoder.1.cross_attention"),
        ("stages", "decoder.1.feed_forward"),
        ("stages", "encoder.1.feed_forward"),
        ("positions", "source_embedding.positional"),
        ("heads", "decoder.1.feed_forward"),  # no such link
        ("heads", "no block"),
    ):
        browser.report("open", {"to": to, "key": key})
    assert opened[:2] == [{"kind": "cross", "layer": 1}, "heads"]
    assert opened[2:4] == [{"part": "stages", "kind": kind, "layer": 1} for kind in ("cross", "encoder")]
    assert opened[4:] == [{}, "positions"]


def test_the_map_shows_the_chosen_checkpoint():
    page = Lab(INSIDE, part="map", text="The dog sleeps.", step="2", kind="cross", layer="2")
    data = page._mounted(".blueprint")
    model = cache.checkpoint("en-fr", "auto").model
    assert data["total"] == model.parameter_count
    assert (data["kind"], data["open"], data["step"]) == ("cross", {"encoder": 2, "decoder": 2}, 1)
    assert data["source"][-1] == "</s>" and data["inputs"][0] == "<s>"
    peek = Lab(INSIDE, part="map", text="The dog sleeps.", checkpoint="en-fr-peek")
    names = [block["name"] for block in peek._mounted(".blueprint")["blocks"] if block["site"] == "decoder"]
    assert names == ["Self-attention"]
