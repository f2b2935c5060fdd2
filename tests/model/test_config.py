"""Configurations and devices."""

from __future__ import annotations

import pytest
import torch

from model import device
from model.config import SCHEMES, ModelConfig, TrainConfig
from tests.support import tiny


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 16, "heads": 3}, "d_model is 16; expected a multiple of heads, which is 3"),
        ({"d_model": 0}, "d_model is 0; expected more than 0"),
        ({"heads": -2}, "heads is -2; expected more than 0"),
        ({"encoder_layers": 0}, "encoder_layers is 0"),
        ({"decoder_layers": 0}, "decoder_layers is 0"),
        ({"d_ff": 0}, "d_ff is 0"),
        ({"max_positions": 0}, "max_positions is 0"),
        ({"norm_eps": 0.0}, r"norm_eps is 0\.0; expected more than 0"),
        ({"norm_eps": float("nan")}, "norm_eps is nan; expected more than 0"),
        ({"d_model": 16.0}, r"d_model is 16\.0; expected a whole number"),
        ({"heads": True}, "heads is True; expected a whole number"),
        ({"dropout": 1.0}, r"dropout is 1\.0; expected at least 0 and less than 1"),
        ({"attention_dropout": -0.1}, r"attention_dropout is -0\.1"),
        ({"dropout": "much"}, "dropout is 'much'; expected a number"),
        ({"norm_first": 1}, "norm_first is 1; expected true or false"),
        ({"positions": "no-such-scheme"}, f"positions is 'no-such-scheme'; expected one of {', '.join(SCHEMES)}"),
        ({"activation": "tanh"}, "activation is 'tanh'; expected one of relu, gelu, swiglu"),
        ({"norm": "batchnorm"}, "norm is 'batchnorm'; expected one of layernorm, rmsnorm"),
        ({"positions": "rotary", "d_model": 6, "heads": 2}, "even head dimension; d_model / heads is 3"),
        ({"positions": "sinusoidal", "d_model": 9, "heads": 3}, "even d_model; it is 9"),
        ({"target_vocab": 41}, "source_vocab is 40, target_vocab 41"),
        ({"window": 0}, "window is 0; expected None or a whole number of at least 1"),
        ({"window": 2.5}, r"window is 2\.5; expected None"),
        ({"window": True}, "window is True; expected None"),
    ],
)
def test_model_config_names_field_value_and_expectation(changes, message):
    with pytest.raises(ValueError, match=message):
        tiny.config(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": 0}, "epochs is 0; expected more than 0"),
        ({"batch_tokens": -1}, "batch_tokens is -1"),
        ({"learning_rate": 0.0}, r"learning_rate is 0\.0"),
        ({"warmup": 0}, "warmup is 0"),
        ({"label_smoothing": 1.0}, r"label_smoothing is 1\.0; expected at least 0 and less than 1"),
        ({"schedule": "linear"}, "schedule is 'linear'; expected one of noam, cosine"),
        ({"precision": "float16"}, "precision is 'float16'; expected one of auto, float32, bfloat16"),
        ({"seed": 1.5}, r"seed is 1\.5; expected a whole number"),
        ({"save_minutes": 0}, "save_minutes is 0"),
    ],
)
def test_train_config_names_field_value_and_expectation(changes, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig(**changes)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"source_vocab": 40, "target_vocab": 40, "colour": 1}, "unknown field 'colour'; expected only .*d_model"),
        ({"source_vocab": 40}, "the field 'target_vocab' is missing"),
        ([40, 40], "expected an object with the fields of ModelConfig, found list"),
        (None, "found NoneType"),
        ({"source_vocab": "40", "target_vocab": 40}, "source_vocab is '40'; expected a whole number"),
    ],
)
def test_from_dict_refuses(values, message):
    with pytest.raises(ValueError, match=message):
        ModelConfig.from_dict(values)


def test_the_processor_is_always_there_and_last():
    names = device.available_devices()
    assert names[-1] == "cpu"
    assert len(set(names)) == len(names)
    assert device.choose("cpu") == torch.device("cpu")
    assert device.choose() == device.choose("auto") == torch.device(names[0])


@pytest.mark.parametrize(("cards", "named"), [(1, ()), (2, ("cuda:0", "cuda:1"))])
def test_each_graphics_card_can_be_chosen(monkeypatch, cards, named):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cards)
    assert device.choose("auto") == torch.device("cuda")
    assert device.available_devices()[:-1] == ("cuda", *named) + ("mps",) * torch.backends.mps.is_available()
    for number in range(cards):
        assert device.choose(f"cuda:{number}") == torch.device("cuda", number)
    with pytest.raises(ValueError, match=f"The device 'cuda:{cards}' is not available here; expected auto or one of cuda"):
        device.choose(f"cuda:{cards}")
    monkeypatch.setattr(device, "available_devices", lambda: ("cpu",))
    for name in ("cuda", "cuda:0", "tpu", ""):
        with pytest.raises(ValueError, match=f"The device '{name}' is not available here; expected auto or one of cpu"):
            device.choose(name)
