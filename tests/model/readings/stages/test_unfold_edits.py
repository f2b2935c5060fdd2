"""One head unfolded under edits: what an edit changes is flagged there, and all else still follows."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from model.decoding.strategy import Decoding
from model.inference.analysis import Analysis
from model.readings.stages.unfold import unfold
from model.trace import ATTENTION_KINDS, Site
from tests.support import unfold_helpers
from tests.support.unfold_helpers import CLOSE, TARGET, analyse_edited, everywhere, follow, last_row, recorded, some


@pytest.fixture(scope="module")
def make(tokenizer):
    """Checkpoints of the models by name."""
    return partial(unfold_helpers.make, tokenizer)


LONG = range(99)  # all queries
FLAGS = {  # the stage that an edit changes, and the sites, heads and queries where it does
    "scaling-off": {"scale": [(kind, layer, LONG, LONG) for kind in ATTENTION_KINDS for layer in (0, 1)]},
    "off_cross.2.1": {"mix": [("cross", 1, [0], LONG)]},
    "off_enc.1": {"mix": [("encoder", 0, LONG, LONG)]},
    "mean_dec.1.2": {"mix": [("decoder", 0, [1], LONG)]},
    "row_cross.1.1_2-uniform": {"softmax": [("cross", 0, [0], [1])]},
    "row_dec.2_4-2": {"softmax": [("decoder", 1, LONG, [3])]},
    "row_dec_1-1": {},  # the first row sees itself alone: it is written over by what it is
    "skip_enc.1.self": {"residual": [("encoder", 0, LONG, LONG)]},
    "skip_dec.1.self": {"residual": [("decoder", 0, LONG, LONG)]},
    "skip_dec.2.cross": {"residual": [("cross", 1, LONG, LONG)]},
    "skip_dec.2.ff": {"ff_residual": [("cross", 1, LONG, LONG)]},
    "skip_enc.2.ff": {"ff_residual": [("encoder", 1, LONG, LONG)]},
}
MASKED = {
    "block_dec.1_3-2": [("decoder", 0, LONG, [2])],
    "block_cross.1.2_2-all": [("cross", 0, [1], [1])],
    "block_enc_all-2": [("encoder", layer, LONG, LONG) for layer in (0, 1)],
    "block_dec_2-4": [],  # the causal mask hides it already
    "causal-off": [("decoder", layer, LONG, "all but the last") for layer in (0, 1)],
    "window-2": [("encoder", layer, LONG, LONG) for layer in (0, 1)]
    + [("decoder", layer, LONG, range(2, 99)) for layer in (0, 1)],
    "padding-off": [(kind, layer, LONG, LONG) for kind in ("encoder", "cross") for layer in (0, 1)],
}
POSITIONS = {  # how an edit of the source's positions changes the position of a token there
    "source-positions_off": lambda position: 0,
    "source-positions_shifted-5": lambda position: position + 5,
}
TARGETS = {"given": {"target": TARGET}, "again": {"target": None, "decoding": Decoding(limit=6)}}


def expected(analysis: Analysis, stages) -> set[tuple[str, str, int, int, int]]:
    last = len(analysis.full_pass.outputs) - 1
    return {
        (name, *site, h, t)
        for name, places in stages.items()
        for kind, layer, heads, queries in places
        for site in analysis.full_pass.patterns
        if site == (kind, layer)
        for h in range(2)
        for t in range(len(analysis.full_pass.queries(site)))
        if h in heads and (t < last if isinstance(queries, str) else t in queries)
    }


STAGES = FLAGS | {code: {"mask": places} for code, places in MASKED.items()}
MADE = [("pre-norm", "again"), ("post-norm, modern", "given")]  # by turns
CODES = [(code, *MADE[n % 2]) for n, code in enumerate([*STAGES, *POSITIONS])]


@pytest.mark.parametrize(("code", "name", "mode"), CODES)
def test_edit_marks_only_the_stage_that_it_changes(make, code, name, mode):
    checkpoint = make(name)
    analysis = analyse_edited(checkpoint, code, mode=mode, pad=2, **TARGETS[mode])
    records, whole, flagged = recorded(checkpoint, analysis), analysis.full_pass, set()
    for u in everywhere(checkpoint, analysis):
        flagged |= {(stage.name, *u.site, u.head, u.query) for stage in u.stages if stage.edited}
        found = u["softmax"].tables[0].values[:, 0]
        np.testing.assert_allclose(found, whole.patterns[u.site][u.head, u.query], atol=1e-6)
        np.testing.assert_array_equal(u["mask"].tables[0].allowed, whole.mask(u.site, u.head)[u.query])
        np.testing.assert_allclose(u["mix"].tables[0].foot, records[u.site]["z"][u.head, u.query], **CLOSE)
        np.testing.assert_allclose(last_row(u), records[u.site]["residual_out"][u.query], **CLOSE)
        if some(u):
            follow(checkpoint, u, scaling=code != "scaling-off", turn=POSITIONS.get(code, int))
    if code in STAGES:
        assert flagged == expected(analysis, STAGES[code])
        assert any(STAGES[code].values()) == bool(flagged)


def test_a_row_that_sees_nothing_mixes_nothing(make):
    checkpoint = make("pre-norm")
    u = unfold(checkpoint, analyse_edited(checkpoint, "block_cross.1.2_2-all"), Site("cross", 0), 1, 1)
    assert not any(u["mask"].tables[0].allowed)
    assert not u["softmax"].tables[0].values.any() and not u["mix"].tables[0].foot.any()
    assert not u["softmax"].edited and not u["mix"].edited
