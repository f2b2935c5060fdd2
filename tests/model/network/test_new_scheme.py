"""One class and one entry are all that a new scheme of positions needs: every path computes it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from model.edits.apply import BatchEdits
from model.edits.intervention import BASELINE
from model.network import masks
from model.network.context import Cache, Pass
from model.readings.positions.position_numbers import scheme_numbers
from model.readings.stages.blueprint import blueprint
from model.trace import Probe, Site
from tests.support import scheme_helpers, tiny

CLOSE = {"rtol": 1e-9, "atol": 1e-11}


@pytest.fixture
def scheme():
    with scheme_helpers.registered() as name:
        yield name


def assert_by_hand(probe: Probe, row: int = 0, moved: dict[str, np.ndarray] | None = None) -> int:
    """Compares every pattern of a row with one from its queries and keys; `moved` are edited positions of a stack."""
    for site, record in probe.records.items():
        q, k, pattern, mask = (record[name][row].detach().numpy() for name in ("q", "k", "pattern", "mask"))
        at = (moved or {}).get(site.kind, np.arange(k.shape[1]))
        rows, columns = at[len(at) - q.shape[1] :], at
        if not site.spec.is_self:  # two sentences have no distance
            rows, columns = np.zeros(q.shape[1]), np.zeros(k.shape[1])
        np.testing.assert_allclose(pattern, scheme_helpers.pattern_by_hand(q, k, mask, rows, columns), **CLOSE)
    return len(probe.records)


def test_training_forward_has_the_bias(scheme):
    model, probe = tiny.model(positions=scheme).train(), Probe("full")
    source, target = tiny.padded([6, 4], 6), tiny.target_ids(2, 5)
    logits = model(source, target, masks.build(model.config, source, target), Pass(probe=probe))
    logits.sum().backward()
    assert assert_by_hand(probe) == assert_by_hand(probe, 1) == 6
    record = probe.records[Site("decoder", 1)]
    plain = scheme_helpers.pattern_by_hand(*(record[n][0].detach().numpy() for n in ("q", "k", "mask")), *np.zeros((2, 5)))
    assert np.abs(plain - record["pattern"][0].detach().numpy()).max() > 0.02


def test_keys_in_the_cache_keep_their_positions(scheme):
    """Positions are edited in one row of two; the rows are then exchanged."""
    model, target = tiny.lively(positions=scheme), tiny.target_ids(2, 6)
    rows = [tiny.edited("target-positions_shuffled-3"), BASELINE]
    memory, seen = torch.zeros(2, 3, 16, dtype=torch.float64), torch.ones(2, 1, 1, 3, dtype=torch.bool)
    cache = Cache()
    for start in range(6):
        probe, edits = Probe("full"), BatchEdits(rows)
        mask = masks.decoder_mask(model.config, target[:, : start + 1], queries=1)
        at = Pass(edits, probe, cache, start)
        with torch.inference_mode():
            model.decode(target[:, start : start + 1], memory, mask, seen, at)
        for row, edit in enumerate(rows):
            at_all = BatchEdits([edit]).positions("target", target[:1, : start + 1])[0].flatten().numpy()
            assert_by_hand(probe, row, {"decoder": at_all})
        if start == 2:
            cache.select(torch.tensor([1, 0]))
            target, rows = target[[1, 0]], rows[::-1]


def test_the_scheme_is_described_and_measured(scheme, tokenizer):
    made = tiny.checkpoint(tokenizer, positions=scheme)
    said = [block.sentence for block in blueprint(made, 4, 3) if block.kind == "attention"]
    assert sum("Each score loses its distance." in each for each in said) == 4
    found = scheme_numbers(scheme, 8, 4, 10.0, 3)
    distances = np.abs(np.arange(8)[:, None] - np.arange(8))
    np.testing.assert_allclose(found.similarity, 2 - distances / 2, atol=1e-6)
    assert found.worst < 1e-6 and found.spread < 1e-6
