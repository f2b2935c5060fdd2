"""What the model card of a shipped checkpoint says was measured is what its metrics.json holds."""

from __future__ import annotations

import json

import pytest

from model.evaluation import card, reading_card, text_card, translation_card
from model.folders import CONFIG, SHIPPED

SCORES = {"encoder-decoder": translation_card.section, "decoder-only": text_card.scores, "encoder-only": reading_card.scores}
NAMES = sorted(path.parent.name for path in SHIPPED.glob(f"*/{CONFIG}"))


@pytest.mark.parametrize("name", NAMES)
def test_the_scores_of_the_card_are_those_that_were_recorded(name):
    folder = SHIPPED / name
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    told = (folder / "README.md").read_text(encoding="utf-8")
    family = json.loads((folder / CONFIG).read_text(encoding="utf-8"))["model"].get("family", "encoder-decoder")
    if "test" in metrics:
        found = metrics if family == "encoder-decoder" else metrics["test"]
        assert SCORES[family](found).strip() in told
    if "warnings" in metrics:
        assert card.table(metrics["warnings"]) in told and card.signs_table(metrics["warnings"]) in told
    count = metrics["parameters"]
    assert " parameters" not in told or any(f"{form} parameters" in told for form in (f"{count:,}", f"{count / 1e6:.1f} M"))


def test_every_family_has_a_checkpoint_with_scores():
    configs = [json.loads((SHIPPED / name / CONFIG).read_text(encoding="utf-8"))["model"] for name in NAMES]
    assert {config.get("family", "encoder-decoder") for config in configs} == set(SCORES)
