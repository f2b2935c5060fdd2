from __future__ import annotations

import dataclasses

import pytest

from model.intervention import BASELINE, Intervention


def test_the_empty_intervention_is_the_baseline():
    assert Intervention() == BASELINE
    assert not BASELINE
    assert BASELINE.describe() == "no edits"


@pytest.mark.parametrize("name", [f.name for f in dataclasses.fields(Intervention)])
def test_every_single_edit_counts_and_is_described(name):
    edit = Intervention(**{name: not getattr(BASELINE, name)})
    assert edit
    assert edit != BASELINE
    assert edit.describe().endswith("mask off")


def test_all_edits_are_described_in_order():
    assert Intervention(False, False).describe() == "causal mask off, source padding mask off"


def test_edits_are_frozen_and_hashable():
    assert len({Intervention(), BASELINE, Intervention(causal_mask=False)}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="causal_mask"):
        BASELINE.causal_mask = False
