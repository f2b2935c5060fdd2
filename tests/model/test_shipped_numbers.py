"""Displayed numbers of the published checkpoint equal an independent computation for fifty sentences."""

from __future__ import annotations

import json
import math
import random
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.peers import PlainTransformer
from model.config import START
from model.inference.analyse import analyse
from model.inference.request import Request
from model.network import masks
from model.network.context import Pass
from model.trace import ATTENTION_KINDS, Probe, Site
from model.workshop.evaluation.probes import read_probes
from tests.support.floats import assert_close

ROOT = Path(__file__).resolve().parents[2]
LISTED = read_probes(ROOT / "checkpoints" / "probes.txt")
MORE = """I bought three apples and a loaf of bread.|My sister works in a hospital.|Can you open the window, please?
The train leaves at seven.|He forgot his umbrella again.|There is no milk left in the fridge.|Why are you laughing?
We have never been to Italy.|This soup is too hot.|She plays the piano every evening.|I don't understand this word.
Our neighbours have a big dog.|It was snowing when we arrived.|Give me the blue pencil.|They built this bridge in 1902.
Who wrote this letter?|I'm looking for my keys.|The shop is closed on Sunday.|You should drink more water.
My father taught me how to swim.|What time is it?|The old man was sitting under a tree.|I would like a cup of tea.
He runs faster than his brother.|Don't touch that!|Are these your shoes?|The moon is very bright tonight.
I haven't slept well for a week.|Let's go home.|She asked me where I lived."""
SENTENCES = [source for _, source, _ in LISTED] + [s.strip() for line in MORE.splitlines() for s in line.split("|")]
pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor", "ignore:The PyTorch API of nested tensors")


@pytest.fixture(scope="module")
def found(shipped):
    return [analyse(shipped, Request(text)) for text in SENTENCES]


def test_outputs_are_those_of_torchs_transformer(shipped, found):
    peer = PlainTransformer(shipped.model).eval()
    for analysis in found:
        source, target = analysis.trace.source.ids, analysis.trace.outputs.ids
        with torch.inference_mode():
            logits = peer(torch.tensor([source]), torch.tensor([[START, *target[:-1]]]))[0]
        expected = logits.log_softmax(-1).numpy()
        assert_close(analysis.trace.log_probs, expected)
        np.testing.assert_allclose(np.exp(analysis.trace.log_probs), np.exp(expected), atol=1e-5)


def test_patterns_equal_those_computed_by_hand(shipped, found):
    draw = random.Random(7)
    heads = {Site(kind, n): draw.sample(range(8), 3) for kind in ATTENTION_KINDS for n in range(4)}
    for analysis in found:
        source, target = list(analysis.trace.source.ids), list(analysis.trace.outputs.ids)
        ids, inputs = torch.tensor([source]), torch.tensor([[START, *target[:-1]]])
        probe = Probe("full")
        with torch.inference_mode():
            shipped.model(ids, inputs, masks.build(shipped.config, ids, inputs), Pass(probe=probe))
        for site, chosen in heads.items():
            q, k = (probe.records[site][name][0].double().numpy() for name in "qk")
            for head in chosen:
                exponent = np.exp(q[head] @ k[head].T / math.sqrt(q.shape[-1]))
                if site.kind == "decoder":
                    exponent = np.tril(exponent)
                pattern = exponent / exponent.sum(-1, keepdims=True)
                assert_close(analysis.trace.view(site, head).values, pattern)


def test_commands_of_the_findings_name_their_checkpoint():
    stored = {path.parent.name: json.loads(path.read_text()) for path in (ROOT / "checkpoints").glob("*/findings.json")}
    assert stored
    for name, report in stored.items():
        assert {re.search("--checkpoint (.*?) --data", each["command"])[1] for each in report["findings"]} == {name}
