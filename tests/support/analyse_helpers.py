"""Sentences, edits and a comparison bit for bit: what the tests of analyse share."""

from __future__ import annotations

from model.decoding.strategy import Decoding
from model.edits.intervention import Intervention
from model.trace import ATTENTION_KINDS, Site

TEXT = "The red fox takes a lamp."
TARGET = "Lo varun roji prenda una lumel."
SHORT = Decoding(max_total_tokens=8)
UNCAUSAL, UNPADDED = Intervention(causal_mask=False), Intervention(padding_mask=False)
ALL_SITES = {Site(kind, layer) for kind in ATTENTION_KINDS for layer in range(2)}
LONG = "zq " * 300  # never seen in training: more tokens than the limit


def arrays(trace) -> dict:
    groups = {name: getattr(trace, name) for name in ("patterns", "scores", "masks", "head_masks")}
    return {(n, site): a for n, group in groups.items() for site, a in group.items()} | {"log_probs": trace.log_probs}


def assert_same_bits(one, two):
    assert (one.source, one.inputs, one.outputs) == (two.source, two.inputs, two.outputs)
    first, second = arrays(one), arrays(two)
    assert first.keys() == second.keys()
    for key, array in first.items():
        assert array.tobytes() == second[key].tobytes(), key
