"""What the picture of the architecture is given, what is taken from it, and the part of the page that shows it."""

import pytest

from model.inference.analyse import analyse
from model.inference.request import Request
from model.readings.stages.blueprint import blueprint as plan
from tests.support import tiny
from tests.support.component_helpers import Mounted
from tests.support.viz_helpers import INSIDE, Lab
from viz import cache
from viz.inside.model_map import MAP, payload, shares
from viz.offline import html_export
from viz.state import navigation, session
from viz.state.view import View

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
    checkpoint, _, data = drawn(View(layer=layer))
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
