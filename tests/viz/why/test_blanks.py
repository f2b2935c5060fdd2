"""Why of a model that fills in."""

import dataclasses

import numpy as np
import pytest

from model import checkpoint as checkpoints
from model.inference.analyse import analyse
from model.inference.request import Request
from model.inference.source_reading import filled_ids
from model.text.tokenizer import Tokenizer
from tests.support import tiny
from tests.support.viz_helpers import HEADS, WHY, Lab, made_session, value
from viz.state import session as state

ONE, TWO = "The red ___ sees a ___.", "The ___ takes it."
READS = {"family": "encoder-only", "decoder_layers": 0, "source_start": True, "segments": 2, "pooler": True, "follows": True}
HELD = "the scales of the norms and the factors GELU(u) / u of the output layer"
BERT = READS | {"output_transform": True, "output_bias": True, "activation": "gelu", "embedding_norm": True}


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory):
    """A folder with a model that fills in, and two that translate, one of them smaller."""
    folder = tmp_path_factory.mktemp("why")
    tokenizer = Tokenizer.train(tiny.SENTENCES, 400, blanks=True)
    small = {"heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    for name, changes in (("bert", BERT), ("large", {"heads": 4}), ("small", small)):
        made = tiny.checkpoint(tokenizer, **changes)
        checkpoints.save(dataclasses.replace(made, languages=("Danish", "Danish"), token_counts={}), folder / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CHECKPOINTS", str(folder))
        yield folder


def opened(page=WHY, **link: str) -> Lab:
    return Lab(page, **({"checkpoint": "bert", "text": ONE, "second": TWO, "why": "sum"} | link))


def test_parts_of_a_blank_add_up(home):
    loaded = checkpoints.load(str(home / "bert"))
    trace = (found := analyse(loaded, Request(ONE, second_sentence=TWO))).trace
    lab = opened()
    shown, slider = lab.sum, lab.app_test.select_slider(key="what if step")
    blanks = shown["only"]
    assert [trace.source.labels[step - 1] for step in blanks] == ["<mask>"] * 3
    assert shown["step"] == blanks[0] == slider.value + 1
    assert [int(option.split()[0]) for option in slider.options] == blanks and "step" not in lab.link
    assert any(f"Blank 1 of 3, token {blanks[0]}<" in each for each in lab.html)
    aside = opened(step=str(blanks[1] + 1))
    (told,) = [each for each in aside.sentences("lab-note") if "is no blank" in each]
    assert f"Token {blanks[1] + 1} " in told and f"token {aside.link['step']}," in told
    assert not any("is no blank" in each for each in lab.sentences("lab-note"))
    slider.set_value(blanks[2] - 1)
    shown = lab.run().sum
    token = filled_ids(found, [blanks[2] - 1], loaded.source_tokenizer.mask)[blanks[2] - 1]
    logits = np.delete(trace.logits[blanks[2] - 1], [0, 1, 2, 3, token])
    assert shown["total"] == pytest.approx(trace.logit(blanks[2] - 1, token) - logits.max(), abs=2e-3)
    assert sum(row["value"] for row in shown["rows"]) + shown["rest"][1] == pytest.approx(shown["total"], abs=2e-4)
    assert abs(value(shown["remainder"])) < 1e-4 and shown["held"] == HELD
    assert len(lab.app_test.selectbox(key="rival").options) == 12
    (sentence,) = shown["tokens"]
    assert np.sum(shown["grids"][0]["values"]) == pytest.approx(sum(sentence["values"]), abs=1e-3)
    assert not lab.faults and not lab.warnings


def test_lecture_keys_go_from_blank_to_blank():
    for picture in "123":
        lab = opened(lecture="on", large=picture, step="4")
        large = lab.sum["large"]
        assert (large["before"], large["after"]) == ("The red ", " sees a ___. The ___ takes it.")
        assert large["picture"] == int(picture) and not lab.faults
        assert lab._mounted(".frame_component")["only"] == lab.sum["only"]
    assert lab._mounted(".frame_component")["what"] == "blank"
    assert opened(HEADS, lecture="on")._mounted(".frame_component")["only"] == []
    facts = opened(checkpoint="large", second="", lecture="on")._mounted(".frame_component")
    assert (facts["only"], facts["what"]) == ([], "step")


def test_slider_and_link_agree_on_a_new_checkpoint():
    text = "The red fox sees a lamp."
    lab = Lab(WHY, checkpoint="large", text=text, step="3", why="sum")
    for name in ("small", "bert", "large"):
        slider = lab.choose(name).app_test.select_slider(key="what if step")
        assert slider.value + 1 == lab.sum["step"] == int(lab.link["step"]) == lab.view.step + 1
        (told,) = slider.proto.raw_value
        assert slider.proto.set_value and told in slider.options and told.startswith(f"{slider.value + 1} ")
        rival = lab.app_test.selectbox(key="rival")
        assert rival.proto.set_value and rival.proto.raw_value in rival.options
    again = lab.run().app_test.select_slider(key="what if step")
    assert not again.proto.set_value and again.value + 1 == lab.sum["step"]


def test_a_dropped_layer_returns_with_its_checkpoint():
    link = {"checkpoint": "large", "text": "The red fox.", "second": "", "layer": "2", "head": "4", "step": "5"}
    lab = Lab(HEADS, **link)

    def at(name: str) -> tuple:
        view = lab.choose(name).view
        return view.layer, view.head

    assert [at("small"), at("bert"), at("large")] == [(0, None), (1, None), (1, 3)]
    assert at("small") == (0, None)
    with pytest.MonkeyPatch.context() as patch:
        session = made_session(patch, view=lab.view, link=lab.data.link, fitted=lab.data.fitted)
        state.change(head=0)
        state.change(checkpoint="large")
        assert (session.view.layer, session.view.head) == (1, 0)
        state.change(source="A lamp.")
        state.change(checkpoint="small")
        assert session.view.step is None  # the opening step of the new text
