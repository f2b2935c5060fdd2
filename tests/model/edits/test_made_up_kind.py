"""A kind of edit is declared in one place: one that is made up is found wherever edits are. The page is asked in
tests/viz/what_if."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from model.edits.edit import HOOKS, Edit
from model.edits.intervention import BASELINE
from model.edits.kinds import KINDS, EditError, HeadsEdit, Place, parse
from model.inference.analyse import analyse
from model.inference.request import Request
from model.trace import Probe, Site
from tests.support import tiny
from tests.support.edit_helpers import EXAMPLES, Noise, answers, declared, forms_by_code
from viz.state import links
from viz.state.view import View


@pytest.fixture(autouse=True)
def noise():
    with declared():
        yield
    with pytest.raises(EditError, match="is no edit"):
        parse("noise_enc")


def test_it_is_read_told_and_kept_among_others():
    made = tiny.edited("noise_enc.1.2", "off_cross.1", "noise_cross")
    assert Noise(Place("encoder", 0, 1)) in made.edits
    assert dict(made.codes_and_texts())["noise_cross"] == "cross-attention, all layers: halved"
    assert made.without_edit("noise_cross") == tiny.edited("off_cross.1", "noise_enc.1.2")
    assert links.parse({"edits": "noise_enc.1.2~off_cross.1"})[0].intervention == tiny.edited("off_cross.1", "noise_enc.1.2")
    assert links.link(View(intervention=made))["edits"] == "noise_cross~noise_enc.1.2~off_cross.1"


def test_it_works_in_a_forward_pass_at_its_heads_alone(tiny_checkpoint):
    model, source, target = tiny.model(), tiny.ids(3, 5), tiny.target_ids(3, 4)
    before, after = Probe("full"), Probe("full")
    tiny.logits(model, source, target, probe=before)
    tiny.logits(model, source, target, BASELINE, tiny.edited("noise_enc.1.2"), tiny.edited("off_dec.2"), probe=after)
    z, halved = (probe.records[Site("encoder", 0)]["z"] for probe in (before, after))
    torch.testing.assert_close(halved[1, 1], z[1, 1] / 2, atol=1e-12, rtol=0)
    halved[1, 1] = z[1, 1]
    torch.testing.assert_close(halved, z, atol=1e-12, rtol=0)
    found = analyse(tiny_checkpoint, Request("The red fox takes a lamp.", intervention=tiny.edited("noise_cross")))
    assert np.abs(found.trace.log_probs - found.baseline.trace.log_probs).max() > 1e-3


@pytest.mark.parametrize("code", [*EXAMPLES, *Noise.EXAMPLES])
def test_every_example_can_be_asked_for_in_words(code):
    assert answers(forms_by_code()[code], code)


def test_what_is_not_a_kind_is_refused():
    class Idle(HeadsEdit):
        name, pattern, EXAMPLES = "idle", "idle", ("idle",)

    class Again(Noise):
        name = "again"

    class Nameless(Noise):
        name, EXAMPLES = "nameless", ()

    for cls, message in (
        (Noise, "there are two kinds of edit 'noise'; expected different names"),
        (Idle, f"the kind of edit 'idle' changes nothing; expected at least one of {', '.join(HOOKS)}"),
        (Again, "the kind of edit 'again' has the example 'noise_enc.1.2', which is read as Noise"),
        (Nameless, "the kind of edit 'nameless' has the example '', which is read as None"),
    ):
        before = list(KINDS)
        with pytest.raises(ValueError, match=message), declared(cls):
            raise AssertionError
        assert list(KINDS) == before
    assert all(getattr(Edit, hook).__doc__ for hook in HOOKS)
