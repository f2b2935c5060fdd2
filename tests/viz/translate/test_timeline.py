from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest

from model.config import END, PAD
from model.decoding.strategy import Decoding
from model.edits.intervention import Intervention
from model.inference.analyse import analyse
from model.inference.analysis import Analysis
from model.inference.cautions import down
from model.inference.request import PAD_WHEN_UNMASKED, Request
from model.readings.step_links import CLEAR, WORTH, step_links
from model.trace import Site
from tests.support import tiny
from tests.support.component_helpers import Mounted
from viz.translate.timeline import ROWS, payload, timeline

TEXT = "The red fox takes a lamp."
SHORT = Decoding(limit=8)
UNCAUSAL, UNPADDED = Intervention(causal_mask=False), Intervention(padding_mask=False)


@pytest.fixture
def ask(tiny_checkpoint):
    """What a request leads to: the analysis and the payload of one of its views."""

    def asked(text: str = TEXT, layer: int = 1, head: int | None = None, step: int = 1, theme_mode="light", **more):
        analysis = analyse(tiny_checkpoint, Request(text, **({"decoding": SHORT} | more)))
        return analysis, payload(analysis, tiny_checkpoint, layer, head, step, theme_mode)

    return asked


@pytest.fixture
def parted(ask) -> tuple[Analysis, dict]:
    """An answer, decoded again under an edit, that leaves the baseline's after its first step."""
    texts = (f"The {a} {b} {c} a lamp." for a in ("red", "old") for b in ("fox", "boat", "king") for c in ("sees", "takes"))
    for text in texts:
        for edit in (UNCAUSAL, UNPADDED):
            analysis, data = ask(text, mode="again", intervention=edit, pad=4)
            if 1 < analysis.comparable < len(analysis.trace.outputs):
                return analysis, data
    raise AssertionError("no sentence parts from its baseline; the made-up checkpoint must be changed")


def close(one, two) -> None:
    np.testing.assert_allclose(np.array(one), two, rtol=0, atol=0.500001e-5)


@pytest.mark.parametrize("head", [None, 0, 1])
@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("more", [{}, {"pad": 3}, {"target": "Lo varun roji prenda una lumel."}], ids=str)
def test_rows_equal_the_trace(ask, layer, head, more):
    analysis, data = ask(layer=layer, head=head, **more)
    trace = analysis.trace
    close(data["cross"], trace.view(Site("cross", layer), head).values)
    close(data["decoder"], trace.view(Site("decoder", layer), head).values)
    for name, kind in (("crossAllowed", "cross"), ("allowed", "decoder")):
        assert data[name] == trace.view(Site(kind, layer), head).allowed.astype(int).tolist()
    close(data["probability"], trace.probabilities)
    np.testing.assert_array_equal(np.array(data["allowed"]) == 1, trace.masks[Site("decoder", layer)])
    assert [token["t"] for token in data["source"]] == list(trace.source.labels)
    assert [token["w"] for token in data["source"]] == list(trace.source.words)
    assert [(token["t"], token["w"]) for token in data["target"]] == list(
        zip(trace.outputs.labels, trace.outputs.words, strict=True)
    )
    assert data["start"] == "<s>"
    assert float(data["score"].replace("−", "-")) == pytest.approx(trace.token_log_probs.sum(), abs=0.00501)


def test_segments_give_the_translation_for_any_tokens(tokenizer):
    draws = random.Random(0)
    for _ in range(200):
        ids = [draws.randrange(tokenizer.size) for _ in range(draws.randrange(1, 12))]
        assert "".join(tokenizer.segments(ids)) == tokenizer.decode(ids)


@pytest.mark.parametrize("edit", [UNCAUSAL, UNPADDED])
def test_a_given_target_has_probabilities_before(ask, edit):
    analysis, data = ask(intervention=edit)
    assert len(data["before"]) == len(data["target"])
    close(data["before"], analysis.baseline.trace.probabilities)
    close(data["probability"], analysis.trace.probabilities)
    assert data["before"] != data["probability"]


def test_decoded_again_before_stops_where_the_tokens_part(parted):
    analysis, data = parted
    own, other = analysis.trace.outputs.ids, analysis.baseline.trace.outputs.ids
    same = len(data["before"])
    assert 0 < same < len(data["target"])
    assert own[:same] == other[:same]
    assert own[same] != other[same]
    close(data["before"], analysis.baseline.trace.probabilities[:same])


def test_a_trace_has_one_name_per_request(ask):
    names = [ask(layer=0, head=1, step=2, theme_mode="dark")[1]["trace"], ask()[1]["trace"]]
    assert len(set(names)) == 1
    changed = [{"text": "The old king."}, {"pad": 1}, {"intervention": UNCAUSAL}, {"target": "Lo roda."}]
    names += [ask(**more)[1]["trace"] for more in changed]
    assert len(set(names)) == 1 + len(changed)


def test_padding_and_rare_tokens_are_marked(tiny_checkpoint):
    words = {word: 9 for word, _ in tiny_checkpoint.source_tokenizer.spelled(tiny_checkpoint.source_tokenizer.encode(TEXT))}
    checkpoint = tiny.with_seen(tiny_checkpoint, words | {"fox": 3})
    analysis = analyse(checkpoint, Request(TEXT, intervention=UNPADDED, decoding=SHORT))
    source = payload(analysis, checkpoint, 0, None, 1, "light")["source"]
    assert [token["pad"] for token in source] == [i == PAD for i in analysis.trace.source.ids]
    assert sum(token["pad"] for token in source) == PAD_WHEN_UNMASKED
    assert "".join(token["t"] for token in source if token.get("rare")) == "fox"
    assert {token["note"] for token in source if token.get("rare")} == {"Rare in training: fox (3 times)."}


@pytest.mark.parametrize("more", [{}, {"pad": 3}, {"intervention": UNCAUSAL}, {"target": "Lo roda."}], ids=str)
def test_overlooked_and_unsure_tokens_are_marked(ask, more):
    analysis, data = ask(**more)
    trace = analysis.trace
    most = np.mean([trace.patterns[site].mean(0) for site in trace.sites("cross")], axis=0).max(0)
    words = analysis.trace.source.words
    for i, (token, source) in enumerate(zip(data["source"], trace.source.ids, strict=True)):
        best = max(most[j] for j in range(len(most)) if words[j] == words[i])
        looked_at = source in (PAD, END) or not any(map(str.isalnum, token["t"])) or best >= 0.25
        assert token.get("overlooked", False) != looked_at
        assert looked_at or f" {down(float(best))} at most" in token["note"]
    assert [token["unsure"] for token in data["target"]] == (trace.probabilities < 0.3).tolist()
    assert any(token.get("overlooked") for token in data["source"])


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</s><pad>&lt;"])
def test_what_is_typed_comes_through_as_text_alone(ask, text):
    _, data = ask(text, target=text)
    for side in ("source", "target"):
        *typed, end = [token["t"] for token in data[side]]
        assert end == "</s>"
        assert "".join(typed).replace("·", "") == text.replace(" ", "")
        assert "<pad>" not in typed
    assert "".join(data["segments"]) == text
    assert not any(token["pad"] for token in data["source"])


def test_what_is_taken_from_the_browser(ask, monkeypatch):
    data, browser, heard = ask(step=1)[1], Mounted(monkeypatch), []
    follow = {"step": 2, "rows": "shifted", "guess": False}
    timeline(
        data,
        follow,
        on_step=lambda step: heard.append(("step", step)),
        on_rows=lambda rows: heard.append(("rows", rows)),
        on_why=lambda *pair: heard.append(("why", pair)),
        on_reason=lambda *pair: heard.append(("reason", pair)),
    )
    assert browser.data == data | follow and browser.default == {"step": 2, "rows": "shifted"}
    last = len(data["target"])
    for name, value in [("step", 1), ("step", last), ("step", 0), ("step", last + 1), *(("rows", rows) for rows in ROWS)]:
        browser.report(name, value)
    browser.report("rows", "Steps")
    assert heard == [("step", 1), ("step", last), ("rows", "steps"), ("rows", "shifted"), ("rows", "training")]
    for pair in (
        {"kind": "cross", "query": 2, "key": 1},
        {"kind": "no", "query": 2, "key": 1},
        {"kind": "encoder", "query": 0},
    ):
        browser.report("why", pair)
    assert heard[5:] == [("why", ("cross", 2, 1))]
    for token in (data["size"] - 1, data["size"]):
        browser.report("reason", {"step": 2, "token": token})
    assert heard[6:] == [("reason", (2, data["size"] - 1))]


@pytest.mark.parametrize("more", [{}, {"pad": 2}, {"intervention": UNCAUSAL, "mode": "again"}], ids=str)
def test_why_names_the_largest_weight(ask, more):
    analysis, data = ask(**more)
    trace = analysis.trace
    mean = np.mean([trace.patterns[site].mean(0) for site in trace.sites("cross")], axis=0)
    words = [i for i, token in enumerate(data["source"]) if any(map(str.isalnum, token["t"])) and token["t"] != "</s>"]
    words = [i for i in words if not data["source"][i]["pad"]]
    assert len(data["why"]) == len(data["target"])
    for row, why in zip(mean, data["why"], strict=True):
        assert why["source"] == row.argmax() and why["weight"] == pytest.approx(row.max(), abs=1e-5)
        assert why["word"] in words and why["onWord"] == pytest.approx(max(row[words]), abs=1e-5)
        assert why["asked"] == (max(row[words]) >= WORTH) and (why["asked"] or why["to"] is None)


def test_a_word_is_linked_where_one_stands_out(ask):
    trace = ask("The red fox takes a lamp.")[0].trace
    at = [link.word for link in step_links(trace) if link.asked]
    words, size = trace.source.words, len(trace.source.ids)
    one, (two, three) = at[0], [j for j in range(size) if abs(j - at[0]) > 1 and words[j] != words[at[0]]][:2]

    def linked(**weights: float) -> int | None:
        row = np.zeros(size)
        row[[two, three, one]] = weights["two"], weights["three"], 0.2
        made = {site: np.tile(row, (1, size, 1)) if site.kind == "encoder" else p for site, p in trace.patterns.items()}
        links = step_links(dataclasses.replace(trace, patterns=made))
        (found,) = {link.to for link in links if link.asked and link.word == one}
        return found

    assert linked(two=0.5, three=0.3) == two
    assert linked(two=0.4, three=0.4 / CLEAR + 0.01) is None  # a near-tie
    assert linked(two=WORTH / 2, three=0.0) is None
