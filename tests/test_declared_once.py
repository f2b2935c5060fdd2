"""A strategy and a scheme of positions that are declared once here appear wherever they belong."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import torch

from model import checkpoint as checkpoints
from model.__main__ import main
from model.config import SCHEMES, Scheme
from model.decoding import search
from model.decoding.hypotheses import Tree
from model.decoding.strategy import STRATEGIES, Decoding, Strategy
from model.inference.analyse import analyse
from model.inference.request import Request
from model.network import positions
from model.readings.positions.position_numbers import scheme_numbers
from model.readings.stages.blueprint import blueprint
from model.workshop.commands.evaluate_pairs import decoding_settings
from model.workshop.evaluation import scoring, translation_card
from tests.support import tiny
from tests.support.viz_helpers import POSITIONS, TRANSLATE, Lab
from viz import cache
from viz.state.links import link, parse
from viz.state.view import View

TEXT = "The red fox sees a lamp."


@pytest.fixture
def shy(monkeypatch) -> Strategy:
    """Greedy decoding that stops after two tokens."""

    def two(model, source, decoding, edits, prefix, recorder) -> list[Tree]:
        return [Tree((path,)) for path in search.greedy(model, source, edits, prefix, 2 + len(prefix), recorder=recorder)]

    made = Strategy("shy", "Shy", "Shy: two tokens, and no more.", ("seed",), two, lambda d: f"shy, seed {d.seed}")
    monkeypatch.setitem(STRATEGIES, made.name, made)
    return made


def test_declared_strategy_decodes_and_is_an_option(shy, tiny_checkpoint, saved, capsys):
    asked = Decoding("shy", seed=7)
    found = analyse(tiny_checkpoint, Request(TEXT, decoding=asked))
    assert (len(found.trace.outputs), found.decoding_label) == (2, "shy, seed 7")
    (best,) = scoring.translate(tiny_checkpoint.model, tiny_checkpoint.source_tokenizer, [TEXT], decoding=asked)
    assert best.ids == found.hypothesis.ids
    words = ["translate", TEXT, "--checkpoint", str(saved), "--strategy", "shy", "--seed", "7", "--json"]
    assert main(words) == 0
    assert len(json.loads(capsys.readouterr().out)["tokens"]) == 2
    assert main([*words[:-3], "--top-k", "3"]) == 2
    assert "--top-k does not apply to the strategy shy; give --strategy sample" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("controls", "is_random", "has_width", "paths"),
    [((), False, False, 1), (("seed", "top_p"), True, False, 1), (("width", "temperature"), False, True, 4)],
    ids=["none", "random", "beam"],
)
def test_readers_ask_a_strategy_for_its_properties(shy, monkeypatch, controls, is_random, has_width, paths):
    monkeypatch.setitem(STRATEGIES, "shy", dataclasses.replace(shy, controls=controls))
    asked, view = Decoding("shy"), View(strategy="shy", seed=5, top_p=0.5)
    assert (asked.is_random, asked.has_width, asked.paths) == (is_random, has_width, paths)
    assert decoding_settings(asked) == {"strategy": "shy"} | {
        name: getattr(Decoding, name) for name in controls
    }  # it is no beam of 1
    card = translation_card._decoding(decoding_settings(asked))
    assert card.startswith("shy") and all(name.replace("_", "-") in card for name in controls)
    assert view.is_random == is_random
    long = Request("x" * (cache.LONG_TEXT // 4 + 1), decoding=asked)
    assert cache._is_long(long, "cpu") is has_width
    page = Lab(TRANSLATE, text=TEXT, show="decoding", decode="shy")
    buttons = {button.key for button in page.app_test.button}
    inputs = {each.key for each in (*page.app_test.text_input, *page.app_test.slider)}
    assert not page.faults and ("draw" in buttons) is is_random
    assert {name.removeprefix("field ") for name in inputs} & {field.name for field in dataclasses.fields(Decoding)} == set(
        controls
    )


class Ramp(positions.PositionScheme):
    """p / base in every dimension."""

    def encode(self, positions, width, base=positions.BASE, table=None):
        return (positions[..., None] / base).float().expand(*positions.shape, width)


@pytest.fixture
def ramp(monkeypatch) -> str:
    """Positions that add p / base in every dimension."""
    for known in (SCHEMES, positions.POSITION_SCHEMES):
        monkeypatch.setitem(known, "ramp", None)  # what was there before comes back
    scheme = Scheme("ramp", "PE(p) = p / base", embedding_effect="Adds a ramp to each vector.")
    positions.register(scheme, Ramp())
    return "ramp"


def test_declared_scheme_of_positions_is_used_everywhere(ramp, tokenizer, tmp_path, capsys):
    made = tiny.checkpoint(tokenizer, positions=ramp)
    plain = tiny.checkpoint(tokenizer, positions="learned", max_positions=64)
    assert not any("positional" in key for key in made.model.state_dict())
    ids, places = torch.tensor([[5, 6, 7]]), torch.arange(3)
    added = made.model.source_embedding(ids, places) - made.model.source_embedding(ids, places, torch.zeros(1, 1, 1))
    np.testing.assert_allclose(added[0, :, 0].numpy(), np.arange(3) / 10_000, atol=1e-6)
    checkpoints.save(made, tmp_path / "ramp")
    assert checkpoints.load(str(tmp_path / "ramp"), "cpu").config.positions == ramp
    (block, *_) = (b for b in blueprint(made, 4, 3) if b.kind == "positions")
    assert (block.name, block.sentence) == ("Ramp positions", "Adds a ramp to each vector.")
    assert plain.config.scheme.has_table and not made.config.scheme.has_table
    found = scheme_numbers(ramp, 8, 4, 10.0, 1)
    assert found.values[:, 0].tolist() == pytest.approx([n / 10 for n in range(8)])
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    assert f"{{{','.join(SCHEMES)}}}" in "".join(capsys.readouterr().out.split())
    view, faults = parse({"scheme": ramp})
    assert (view.scheme, faults, link(view)) == (ramp, (), {"scheme": ramp})
    page = Lab(POSITIONS, scheme=ramp, text=TEXT)
    assert not page.faults and any("PE(p) = p / base" in piece for piece in page.html)
    assert all(chart["figure"] for chart in page._mounted(".charts")["charts"])


def test_a_scheme_that_is_not_declared_is_refused_everywhere():
    assert set(SCHEMES) == set(positions.POSITION_SCHEMES)
    with pytest.raises(ValueError, match=f"^positions is 'ramp'; expected one of {', '.join(SCHEMES)}$"):
        tiny.config(positions="ramp")
    for ask in (positions.position_scheme, lambda name: scheme_numbers(name, 8, 4, 10.0, 1)):
        with pytest.raises(ValueError, match=f"^the scheme of positions is 'ramp'; expected one of {', '.join(SCHEMES)}"):
            ask("ramp")
    assert parse({"scheme": "ramp"})[0].scheme == ""  # as the checkpoint has it
