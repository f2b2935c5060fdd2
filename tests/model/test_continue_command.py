"""python -m model continue: a language model goes on with a text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from model import checkpoint as checkpoints
from model.__main__ import main
from model.decoding.strategy import Decoding
from model.inference.analyse import analyse
from model.inference.request import Request
from tests.support import tiny

TEXT = "The red fox sees a lamp."


@pytest.fixture(scope="module")
def writer(tokenizer, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("continue") / "writer"
    checkpoints.save(tiny.checkpoint(tokenizer, family="decoder-only", encoder_layers=0), folder)
    return folder


def test_continue_prints_the_tokens_of_analyse(writer, capsys):
    asked = {"temperature": 0.8, "top_p": 0.9, "seed": 3}
    words = [word for name, value in asked.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    command = ["continue", TEXT, "--checkpoint", str(writer), "--more", "9", *words]
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    found = analyse(checkpoints.load(str(writer), "cpu"), Request(TEXT, decoding=Decoding("sample", more=9, **asked)))
    assert [each["token"] for each in told["tokens"]] == list(found.trace.outputs.labels[found.begun :])
    assert told["text"] == TEXT and TEXT + told["continuation"] == found.translation
    assert len(told["text_tokens"]) == found.begun and len(told["tokens"]) <= 9
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert out == found.translation + "\n"
    assert err == ("" if found.hypothesis.finished else found.stopped + "\n")
