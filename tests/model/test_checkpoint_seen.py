"""What a checkpoint knows of its training pairs: kept with the weights, and refused where it makes no sense."""

from __future__ import annotations

import dataclasses
import json

import pytest

from model.checkpoint import CheckpointError, load, save
from model.text.seen import Seen

SEEN = {"lengths": {"source": [0, 0, 3, 1], "target": [0, 4]}, "words": {"fox": 2}}


def test_what_was_seen_is_kept_and_goes_with_its_weights(saved, tiny_checkpoint):
    assert load(str(saved)).seen is None
    save(dataclasses.replace(tiny_checkpoint, seen=Seen.from_dict(SEEN)), saved)
    assert load(str(saved)).seen.to_dict() == SEEN
    save(tiny_checkpoint, saved)
    assert not (saved / "seen.json").exists()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "'lengths': 'source' is no list of counts, one for each number of tokens from 0"),
        ({"lengths": {"source": [1], "target": "5"}}, "'lengths': 'target' is no list of counts"),
        (SEEN | {"lengths": {"source": [0, 4], "target": [4, 0]}}, "'lengths': 'target' is no list of counts"),
        (SEEN | {"lengths": {"source": [0, -1, 5], "target": [4]}}, "'lengths': 'source' is no list of counts"),
        (
            SEEN | {"lengths": {"source": [0, 5], "target": [4]}},
            "'lengths' has 5 source and 4 target sentences; expected as many of both",
        ),
        (SEEN | {"words": {"fox": "2"}}, "'words' is no object with a count for each word"),
        (SEEN | {"words": ["fox"]}, "'words' is no object with a count for each word"),
    ],
    ids=str,
)
def test_what_was_seen_makes_sense(saved, values, message):
    (saved / "seen.json").write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(CheckpointError, match=f"seen.json: {message}"):
        load(str(saved))
    (saved / "seen.json").write_text("{", encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"seen\.json is no valid JSON"):
        load(str(saved))
