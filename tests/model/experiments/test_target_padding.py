"""What follows a translation that others of its batch outlast."""

from __future__ import annotations

import numpy as np
import pytest

from model.config import PAD
from model.decoding.strategy import Decoding
from model.experiments.target_padding import target_padding
from model.inference.analyse import analyse
from model.inference.request import Request
from model.trace import Site
from tests.support import tiny

LONG = "The old king finds a blue boat and a red fox."


def found(checkpoint, *codes: str, **more):
    asked = {
        "target": "Lo.",
        "other_sentences": (LONG,),
        "decoding": Decoding(limit=12),
        "intervention": tiny.edited(*codes),
    }
    analysis = analyse(checkpoint, Request("The fox.", **(asked | more)))
    return analysis, target_padding(checkpoint, analysis)


@pytest.mark.parametrize("codes", [(), ("padding-off",), ("causal-off",), ("causal-off", "padding-off")], ids=str)
def test_pads_follow_the_batch_and_the_mask(tiny_checkpoint, codes):
    analysis, padded = found(tiny_checkpoint, *codes)
    real = len(analysis.trace.outputs)
    assert padded.pads == max(analysis.other_lengths) - real > 0
    assert padded.trace.outputs.ids == (*analysis.trace.outputs.ids, *[PAD] * padded.pads)
    mask = padded.trace.masks[Site("decoder", 0)]
    assert mask[real:, real:].any() == ("padding-off" in codes)
    assert mask[:real, real:].any() == (len(codes) == 2)
    assert not padded.before.masks[Site("decoder", 0)][:, real:].any()
    if len(codes) < 2:  # where real tokens see no pad, the pads change nothing that is theirs
        np.testing.assert_allclose(padded.trace.token_log_probs[:real], analysis.trace.token_log_probs, atol=1e-5)
        np.testing.assert_allclose(
            padded.trace.patterns[Site("decoder", 1)][:, :real, :real],
            analysis.trace.patterns[Site("decoder", 1)],
            atol=1e-5,
        )
    assert (abs(padded.change) < 1e-4) == ("causal-off" not in codes)


def test_there_is_none_where_no_pass_has_any(tiny_checkpoint):
    assert found(tiny_checkpoint, other_sentences=())[1] is None
    assert found(tiny_checkpoint, "padding-off", mode="again")[1] is None
    analysis, padded = found(tiny_checkpoint, other_sentences=("The fox.",), target=None)
    assert analysis.target_padding == 0
    assert padded is None
