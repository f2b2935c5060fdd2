"""Training runs: steps, validations, snapshots and resumption."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from model import checkpoint as checkpoints
from model.config import PAD, TrainConfig
from model.network import masks
from model.network.context import shift_right
from model.network.transformer import EncoderDecoder
from model.workshop.training.loss_and_validation import learning_rate
from model.workshop.training.run import TrainingRun
from model.workshop.training.run_folder import RunFiles
from tests.support import tiny
from tests.support.training_helpers import BRIEF, SMALL, assert_equal, dev_loss, entries, make, state, weights


def test_a_run_learns_the_language(trained):
    log = entries(trained)
    losses = [e["dev_loss"] for e in log if "dev_loss" in e]
    assert min(losses) < 0.5 < math.log(320)  # from nothing, a token costs ln V nats
    assert log[-1]["step"] == 160
    assert max(e["bleu"] for e in log if "bleu" in e) > 60
    steps = [e for e in log if "tokens_per_second" in e]
    assert [e["step"] for e in steps] == [50, 100, 150]
    assert steps[-1]["loss"] < steps[0]["loss"] / 2


def test_weights_with_the_lowest_dev_loss_are_kept(trained):
    best = min((e for e in entries(trained) if "dev_loss" in e), key=lambda e: (e["dev_loss"], -e["step"]))
    loaded = checkpoints.load(str(trained / "checkpoint"))
    dev = loaded.metrics["dev"]
    assert (dev["step"], dev["dev_loss"], dev["bleu"]) == (best["step"], best["dev_loss"], best["bleu"])
    assert dev["distinct_sources"] == len(tiny.HELD_OUT)
    assert loaded.metrics["parameters"] == loaded.model.parameter_count
    assert loaded.metrics["training"]["pairs"] == len(tiny.PAIRS) - len(tiny.HELD_OUT)
    assert loaded.languages == ("English", "Made-up")
    corpus = [s for s, t in tiny.PAIRS if (s, t) not in tiny.HELD_OUT]
    assert sum(loaded.token_counts["source"]) == sum(len(loaded.source_tokenizer.encode(s)) + 1 for s in corpus)
    assert loaded.token_counts["source"][2] == len(corpus)
    lengths = [len(loaded.source_tokenizer.encode(s)) + 1 for s in corpus]
    assert loaded.corpus_stats.lengths["source"].max_length == max(lengths)
    assert {known.sentences for known in loaded.corpus_stats.lengths.values()} == {len(corpus)}
    assert loaded.corpus_stats.words["fox"] == sum(s.strip(".").split().count("fox") for s in corpus)


def test_interrupted_and_resumed_is_uninterrupted(tmp_path, pair_files):
    whole = make(tmp_path / "whole", pair_files)
    assert whole.train() is True
    assert whole.progress.step == whole.total >= 6
    for step in range(1, whole.total + 1):
        part = make(tmp_path / "parts", pair_files)
        assert part.progress.step == step - 1
        assert part.train(max_minutes=0) is False
    last = make(tmp_path / "parts", pair_files)
    assert last.train() is True
    assert last.progress.step == whole.total
    assert_equal(state(last), state(whole))
    assert weights(tmp_path / "parts") == weights(tmp_path / "whole")
    scored = [[e for e in entries(tmp_path / name) if "dev_loss" in e] for name in ("parts", "whole")]
    assert [[e["step"], e["dev_loss"]] for e in scored[0]] == [[e["step"], e["dev_loss"]] for e in scored[1]]


def test_run_out_of_time_keeps_a_checkpoint(tmp_path, pair_files):
    run = make(tmp_path, pair_files)
    assert run.train(max_minutes=0) is False
    loaded = checkpoints.load(str(tmp_path / "checkpoint"))
    assert_equal({k: v.half().float() for k, v in state(run).items()}, loaded.model.state_dict())
    assert loaded.metrics["dev"]["step"] == 1
    assert loaded.metrics["dev"]["dev_loss"] == pytest.approx(dev_loss(run, run.model.eval()), abs=1e-4)
    assert loaded.metrics["validations"] == [{k: v for k, v in loaded.metrics["dev"].items() if k != "distinct_sources"}]
    assert (run.progress.validations, run.progress.best, run.snapshots) == ([], {}, [])
    make(tmp_path, pair_files).train()
    assert checkpoints.load(str(tmp_path / "checkpoint")).metrics["dev"]["step"] > 1


@pytest.mark.parametrize("clip", [0.01, 1e9])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_steps_are_those_of_adam_written_out(tmp_path, pair_files, clip, smoothing):
    still = SMALL | {"dropout": 0.0, "attention_dropout": 0.0}
    run = make(tmp_path, pair_files, still, clip=clip, label_smoothing=smoothing, epochs=1)
    copy = EncoderDecoder(run.model_config)
    copy.load_state_dict(run.model.state_dict())
    adam = torch.optim.Adam(copy.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step, indices in enumerate(run.epochs.full_corpus.batches(300, run.config.seed, 0), 1):
        batch = run.epochs.full_corpus.batch(indices)
        made = run._step(indices)
        inputs = shift_right(batch.outputs)
        logits = copy(batch.source, inputs, masks.build(copy.config, batch.source, inputs))
        mean = F.cross_entropy(logits.flatten(0, 1), batch.outputs.flatten(), ignore_index=PAD, label_smoothing=smoothing)
        assert made.loss / made.tokens == pytest.approx(mean.item(), rel=1e-5)
        adam.param_groups[0]["lr"] = made.rate
        assert made.rate == learning_rate(run.config, step, run.total)
        adam.zero_grad()
        mean.backward()
        norm = torch.nn.utils.clip_grad_norm_(copy.parameters(), clip)
        assert made.norm == pytest.approx(float(norm), rel=1e-4)  # before it is cut
        adam.step()
    assert step >= 3
    for (name, ours), theirs in zip(run.model.named_parameters(), copy.parameters(), strict=True):
        if not name.endswith("key.bias"):  # whose gradient is zero but for rounding, which Adam makes large
            torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-5, msg=name)


def test_checkpoint_is_the_mean_of_the_last_snapshots(tmp_path, pair_files):
    seen: list[dict[str, torch.Tensor]] = []

    class Watched(TrainingRun):
        def validate(self):
            seen.append({k: v.clone() for k, v in self.model.state_dict().items()})
            return super().validate()

    files, config = RunFiles.single(*pair_files), TrainConfig(**(BRIEF | {"epochs": 4, "average": 3}))
    run = Watched(tmp_path, files, SMALL, config, torch.device("cpu"), ("English", "Made-up"))
    run.train()
    assert len(seen) >= 4
    for number, entry in enumerate(run.progress.validations):
        last = seen[max(0, number - 2) : number + 1]
        model = EncoderDecoder(run.model_config).eval()
        model.load_state_dict({k: sum(s[k] for s in last) / len(last) for k in last[0]})
        assert entry["dev_loss"] == pytest.approx(dev_loss(run, model), abs=1e-4)
        model.load_state_dict(last[-1])
        assert entry["dev_loss_unaveraged"] == pytest.approx(dev_loss(run, model), abs=1e-4)
    best = run.progress.validations.index(run.progress.best)
    kept = checkpoints.load(str(tmp_path / "checkpoint")).model.state_dict()
    for key, value in kept.items():
        mean = sum(s[key] for s in seen[max(0, best - 2) : best + 1]) / min(3, best + 1)
        torch.testing.assert_close(value, mean.half().float(), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(("keep", "kept"), [("best", 4), ("last", 6)])
def test_run_ends_early_without_improvement(tmp_path, pair_files, monkeypatch, keep, kept):
    losses = iter([3.0, 2.0, 2.5, 2.0, 2.1, 2.2, 1.0])
    monkeypatch.setattr(
        "model.workshop.training.loss_and_validation.Validator.loss", lambda self, model, precision: next(losses)
    )
    run = make(tmp_path, pair_files, validate_every=1, average=1, patience=2, epochs=9, keep=keep)
    assert run.train() is True
    assert [e["dev_loss"] for e in run.progress.validations] == [3.0, 2.0, 2.5, 2.0, 2.1, 2.2]  # equal counts as better
    assert run.progress.best["step"] == kept
    assert checkpoints.load(str(tmp_path / "checkpoint")).metrics["dev"]["step"] == kept
    again = make(tmp_path, pair_files, validate_every=1, average=1, patience=2, epochs=9, keep=keep)
    assert again.train() is True
    assert again.progress.step == 6


def test_the_last_epochs_see_only_first_targets(tmp_path):
    file = tmp_path / "several.tsv"
    rows = ["It's old.\tEs vechu.", "It's old.\tSta vechu.", "A lamp.\tUna lumel.", "It's old.\tEra vechu."]
    file.write_text("".join(row + "\n" for row in rows), encoding="utf-8")
    run = make(tmp_path / "run", (file, file), epochs=3, first_target_epochs=1, batch_tokens=40)
    texts = [
        run.material.target_tokenizer.decode(run.epochs.full_corpus.targets[i])
        for i in run.epochs.full_corpus.first_target_rows
    ]
    assert texts == ["Es vechu.", "Una lumel.", "Es vechu."]  # the last is of the typeset copy
    seen = [sorted(i for batch in run.epochs.batches(epoch) for i in batch) for epoch in range(3)]
    assert seen == [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [0, 2, 4]]
    assert run.total == sum(len(run.epochs.batches(epoch)) for epoch in range(3))
    assert len(run.dev.corpus) == 2  # dev loss is that of first targets alone
