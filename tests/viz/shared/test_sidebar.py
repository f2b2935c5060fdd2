"""What the sidebar tells of a checkpoint."""

from __future__ import annotations

import pytest

from viz.shared.sidebar import scored


@pytest.mark.parametrize(
    ("test", "told"),
    [
        (None, "Not scored on a test set."),
        ({"bleu": 51.49, "sentences": 2003, "beam": 1}, "51.5 BLEU on 2,003 test sentences."),
        ({"bleu": 52.52, "sentences": 2003, "beam": 4}, "52.5 BLEU on 2,003 test sentences, beam 4."),
        (
            {"bleu": 55.35, "sentences": 2003, "beam": 4, "references": "all"},
            "55.4 BLEU on 2,003 test sentences, beam 4, all references.",
        ),
        ({"accuracy": 0.3386, "sentences": 661, "words": {}}, "33.9% of the blanks right, on 661 test sentences."),
        ({"accuracy": 0.779, "sentences": 1000, "labels": {}}, "77.9% of the labels right, on 1,000 test sentences."),
        ({"bits_per_character": 1.934, "characters": 142_488}, "1.93 bits a character on 142,488 characters of test text."),
    ],
)
def test_a_score_is_told_in_its_own_unit(test, told):
    assert scored(test) == told
