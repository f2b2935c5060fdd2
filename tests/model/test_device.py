from __future__ import annotations

import pytest
import torch

from model import device


def test_the_processor_is_always_there_and_last():
    names = device.available()
    assert names[-1] == "cpu"
    assert len(set(names)) == len(names)
    assert device.choose("cpu") == torch.device("cpu")
    assert device.choose() == device.choose("auto") == torch.device(names[0])


@pytest.mark.parametrize(("cards", "named"), [(1, ()), (2, ("cuda:0", "cuda:1"))])
def test_each_graphics_card_can_be_chosen(monkeypatch, cards, named):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cards)
    assert device.choose("auto") == torch.device("cuda")
    assert device.available()[:-1] == ("cuda", *named) + ("mps",) * torch.backends.mps.is_available()
    for number in range(cards):
        assert device.choose(f"cuda:{number}") == torch.device("cuda", number)
    with pytest.raises(ValueError, match=f"The device 'cuda:{cards}' is not available here; expected auto or one of cuda"):
        device.choose(f"cuda:{cards}")


@pytest.mark.parametrize("name", ["cuda", "cuda:0", "tpu", ""])
def test_absent_device_is_refused(monkeypatch, name):
    monkeypatch.setattr(device, "available", lambda: ("cpu",))
    with pytest.raises(ValueError, match=f"The device '{name}' is not available here; expected auto or one of cpu"):
        device.choose(name)
