"""The cards of models that fill in and that give labels: written from what was measured alone, either way it went."""

from __future__ import annotations

import pytest

from model.evaluation import reading_card
from tests.support import tiny

READS = {"family": "encoder-only", "decoder_layers": 0, "source_start": True, "segments": 2, "pooler": True}
ROW = {
    "accuracy": 0.31,
    "accuracy_interval": [0.29, 0.33],
    "log_loss": 4.2,
    "log_loss_interval": [4.1, 4.3],
    "resamples": 1000,
}
RIVAL = ROW | {"accuracy": 0.27, "log_loss": 4.6}


def better(right: float, nats: float, *, clear: bool) -> dict:
    wide = 0.01 if clear else 1.0
    return {
        "accuracy": right,
        "accuracy_interval": [right - wide, right + wide],
        "log_loss": nats,
        "log_loss_interval": [nats - wide, nats + wide],
    }


def test_what_was_measured_stands_beside_its_baseline():
    found = {
        "words": ROW | {"blanks": 900, "choices": [1800, 700], "neighbours": RIVAL, "gain": better(0.04, 0.4, clear=True)},
        "follows": ROW | {"pairs": 300, "overlap": RIVAL, "gain": better(-0.04, -0.4, clear=True)},
    }
    told = reading_card.scores(found)
    assert "| the model | 31.0% | 29.0% to 33.0% | 4.200 | 4.100 to 4.300 |" in told and "| 27.0% |" in told
    words, follows = told.split("### Does")
    assert "4.0 points more are right (+3.0 to +5.0); the log-loss is 0.400 nats lower (+0.390 to +0.410 saved)" in words
    assert "4.0 points fewer are right" in follows and "0.400 nats higher" in follows and "Chance: 50%, 0.693" in follows
    assert "no difference was shown" not in told and "takes the pairs" not in words and "take the pairs as indep" in follows
    alone = {name: None if name.endswith("interval") else value for name, value in ROW.items()}
    gain = {name: None if name.endswith("interval") else value for name, value in better(0.04, 0.4, clear=True).items()}
    told = reading_card.scores({"words": alone | {"blanks": 1, "choices": [18, 7], "neighbours": alone, "gain": gain}})
    assert told.count("no interval: one alone") == 4 and "+4.0 points" in told and "of one sentence alone" in told


@pytest.mark.parametrize(("init", "told"), [(None, "Trained from scratch"), ("bert-mini", "Fine-tuned from `bert-mini`.")])
def test_a_card_is_made_of_metrics_alone(tokenizer, init, told):
    labels = init is not None
    made = tiny.checkpoint(tokenizer, **READS, **({"classes": ("bad", "good")} if labels else {"follows": True}))
    steps = [
        {"step": 100 * n, "dev_loss": 9 - n, ("labels_right" if labels else "blanks_right"): n / 40} for n in range(1, 31)
    ]
    run = {
        "texts": 1,
        "sentences": 90,
        "steps": 3000,
        "minutes": 12,
        "warmup": 20,
        "learning_rate": 0.01,
        "schedule": "cosine",
    }
    run |= {
        "batch_tokens": 200,
        "epochs": 5,
        "label_smoothing": 0.0,
        "weight_decay": 0.0,
        "clip": 1.0,
        "seed": 1,
        "average": 5,
    }
    run |= {"masked": 0.15, "whole_words": False, "init": init, "data_sha256": {"train": "ab12"}}
    made.metrics.update({"training": run, "dev": steps[20] | {"sentences": 7, "tokens": 80}, "validations": steps})
    card = reading_card.card(made)
    assert told in card and "Trained on 1 text, 90 sentences" in card and "- SHA-256 of `train`: `ab12`" in card
    assert "| 2,100 (kept) |" in card and card.count("\n| ") == 10 and "| 3,000 |" in card
    assert "80 tokens.\n" in card and "the weights at 5 validations in a row" in card
    run["data_sha256"] |= {"train 2": "cd34", "dev": "cd34"}
    made.metrics["dev"] |= steps[0]
    card = reading_card.card(made)
    assert "80 tokens, which are also trained on" in card and "as they were at one validation; dev" in card
    assert ("15% of the tokens" in card) is not labels and f"{made.model.parameter_count:,} parameters" in card
