"""Small tasks make right pairs, own pairs are checked, and a small model learns to copy."""

from __future__ import annotations

import json
import random
from datetime import date

import numpy as np
import pytest
import torch

from model import Request, analyse, load
from model.__main__ import main
from model.workshop.small.small_tasks import FORMATS, MONTHS, TASKS, read_pairs
from model.workshop.small.small_training import SmallConfig, SmallTraining, tokenizer


def test_pairs_are_right():
    right = {
        "copy": lambda source: source,
        "reverse": lambda source: source[::-1],
        "sort": lambda source: "".join(sorted(source)),
        "add": lambda source: f"{sum(map(int, source.split('+'))):04}",
    }
    for name, task in TASKS.items():
        draw = random.Random(3)
        pairs = [task.make(draw) for _ in range(200)]
        assert len({source for source, _ in pairs}) > 150
        if name in right:
            assert all(target == right[name](source) for source, target in pairs)
        else:
            for source, target in pairs:
                day = date.fromisoformat(target)
                assert str(day.year) in source and str(day.day) in source
                assert (
                    MONTHS[day.month - 1][:3] in source or f"{day.day}.{day.month}." in source or f"/{day.month}/" in source
                )
    assert len(FORMATS) == 5


def test_a_character_is_a_token():
    for text in ("12121212", "svvnrukc", "855+581", "5 february 1969", "é"):
        assert len(tokenizer().encode(text)) == len(text.encode())
        assert tokenizer().decode(tokenizer().encode(text)) == text


def test_own_pairs_are_read():
    lines = [f"{n}\t{n + 1}" for n in range(30)]
    assert read_pairs("\n".join([*lines, "", *lines]))[0] == ("0", "1")
    assert ("a b", "c") in read_pairs("\n".join([*lines, "a b = c"]))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("one\n", "Line 1 has no pair; expected two texts with a tab, or “ = ”, between them."),
        ("a\tb\n", "There is 1 different pair; expected 20 to 2,000."),
        ("a\tb\n" * 30, "There is 1 different pair; expected 20 to 2,000."),
        ("a\t" + "b" * 41, "Line 1 has a text of 41 bytes; expected at most 40."),
        ("", "There are 0 different pairs; expected 20 to 2,000."),
        ("\n".join(f"{n}\tx" for n in range(2001)), "There are 2,001 different pairs; expected 20 to 2,000."),
        ("<b>\t", "Line 1 has no pair; expected two texts with a tab, or “ = ”, between them."),
    ],
)
def test_wrong_own_pairs_are_one_sentence(text, fault):
    with pytest.raises(ValueError, match="^" + fault.replace(".", r"\.") + "$"):
        read_pairs(text)


@pytest.mark.parametrize(("field", "value"), [("task", "divide"), ("layers", 3), ("heads", 3), ("d_model", 48)])
def test_an_unknown_size_or_task_is_named(field, value):
    with pytest.raises(ValueError, match=f"{value!r}; expected one of"):
        SmallConfig(**{field: value})


@pytest.mark.long
def test_a_small_model_learns_to_copy_and_goes_on():
    training = SmallTraining(SmallConfig("copy"))
    first = [*training.run(max_steps=20)]
    assert first[-1].is_done and first[-1].step == 20 and first[-1].accuracy < 0.2
    last = [*training.run(max_seconds=600, max_steps=420)][-1]
    assert last.step > 20 and last.accuracy > 0.8 and last.loss < 0.2
    assert not training._avoided & {source for source, _ in training._new_pairs()}
    analysis = analyse(training.checkpoint("copied"), Request("hello"))
    assert analysis.translation == training.answers(["hello"])[0]


def test_the_same_seed_gives_the_same_model():
    losses = [[report.loss for report in SmallTraining(SmallConfig(seed=seed)).run(max_steps=3)] for seed in (1, 1, 2)]
    assert losses[0] == losses[1] != losses[2]


def test_without_positions_the_order_is_invisible():
    training = SmallTraining(SmallConfig("reverse", positions=False))
    written = training.answers(["abcd", "dcba"])
    assert written[0] == written[1]


def test_without_the_causal_mask_it_sees_what_it_must_predict():
    config = SmallConfig("copy", causal=False)
    assert not config.model.causal and config.model.positions == "sinusoidal"


def test_without_cross_attention_the_source_is_invisible():
    training = SmallTraining(SmallConfig("copy", cross_attention=False))
    for _ in training.run(max_steps=3):
        pass
    small = training.checkpoint("small")
    one, other = (analyse(small, Request(source, target="abc")).trace.log_probs for source in ("abcd", "xyz"))
    np.testing.assert_array_equal(one, other)


def test_without_scaling_the_queries_have_the_factor(tmp_path):
    training, plain = (SmallTraining(SmallConfig("copy", scaling=scaling)) for scaling in (False, True))
    queries = [each.model.encoder[0].self_attention.query.weight for each in (training, plain)]
    torch.testing.assert_close(queries[0], 4 * queries[1])  # sqrt(d_k) of 16 dimensions a head
    for _ in training.run(max_steps=3):
        pass
    training.save(tmp_path / "small")
    small, resumed = load(str(tmp_path / "small")), SmallTraining(SmallConfig("copy", scaling=False))
    resumed.restore(tmp_path / "small")
    for model in (small.model, resumed.model):
        torch.testing.assert_close(model.encoder[0].self_attention.query.weight, queries_of(training), rtol=2e-3, atol=1e-3)
    assert small.config == plain.config.model  # a model like every other


def queries_of(training):
    return training.model.encoder[0].self_attention.query.weight


def test_a_loss_that_is_no_number_is_one_sentence(monkeypatch):
    training = SmallTraining(SmallConfig("copy"))
    monkeypatch.setattr(training, "_one_step", lambda: (float("nan"), 1))
    monkeypatch.setattr("model.workshop.small.small_training.REPORT_SECONDS", 0)
    with pytest.raises(ValueError, match="train again with another seed or size"):
        next(training.run())


def test_the_command_writes_a_checkpoint(tmp_path, capsys):
    lines = "\n".join(f"{n:03}\t{n:03}"[::-1] if n % 2 else f"{n:03}\t{n:03}" for n in range(100, 140))
    (tmp_path / "pairs.txt").write_text(lines, encoding="utf-8")
    out = tmp_path / "own"
    command = ["train-small", "--pairs", str(tmp_path / "pairs.txt"), "--out", str(out), "--seconds", "1", "--json"]
    assert main([*command, "--no-positions", "--d-model", "16"]) == 0
    reports = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert reports[-1]["is_done"] and {"step", "seconds", "loss", "accuracy"} < reports[-1].keys()
    own = load(str(out))
    assert own.config.positions == "none" and own.config.d_model == 16
    assert main(command) == 2  # the folder exists
    assert "is there already" in capsys.readouterr().err
