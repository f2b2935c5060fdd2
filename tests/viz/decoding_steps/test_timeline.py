import numpy as np
import pytest

from model.config import PAD
from model.decoding.strategy import Decoding
from model.edits.intervention import Intervention
from model.inference.analyse import analyse
from model.inference.analysis import Analysis
from model.inference.request import PAD_WHEN_UNMASKED, Request
from model.io.numbers import three_digits
from model.readings.heads.head_maps import MIN_WEIGHT
from model.trace import Site
from tests.support import tiny
from tests.support.component_helpers import Mounted
from viz.decoding_steps.timeline import ROWS, events, payload
from viz.state import session

TEXT = "The red fox takes a lamp."
SHORT = Decoding(max_total_tokens=8)
UNCAUSAL, UNPADDED = Intervention(causal_mask=False), Intervention(padding_mask=False)


@pytest.fixture
def ask(tiny_checkpoint):
    """What a request leads to: the analysis and the payload of one of its views."""

    def asked(text: str = TEXT, layer: int = 1, head: int | None = None, theme_mode="light", **more):
        analysis = analyse(tiny_checkpoint, Request(text, **({"decoding": SHORT} | more)))
        return analysis, payload(analysis, tiny_checkpoint, layer, head, theme_mode)

    return asked


@pytest.fixture
def parted(ask) -> tuple[Analysis, dict]:
    """An answer, decoded again under an edit, that leaves the baseline's after its first step."""
    texts = (f"The {a} {b} {c} a lamp." for a in ("red", "old") for b in ("fox", "boat", "king") for c in ("sees", "takes"))
    for text in texts:
        for edit in (UNCAUSAL, UNPADDED):
            analysis, data = ask(text, mode="again", intervention=edit, extra_padding=4)
            if 1 < analysis.comparable_steps < len(analysis.trace.outputs):
                return analysis, data
    raise AssertionError("no sentence parts from its baseline; the made-up checkpoint must be changed")


def test_a_head_that_is_switched_off_is_named_as_such(ask):
    for edit in (Intervention().off(Site("cross", 1), 0), Intervention().off(Site("cross", 1)), Intervention().off("cross")):
        assert ask(layer=1, head=0, intervention=edit)[1]["above"].endswith("where cross 2.1 looks (switched off)")
        assert ask(layer=0, head=0, intervention=edit)[1]["above"].endswith(" looks") != (edit.edits[0].place.layer is None)
    one = Intervention().off(Site("cross", 1), 0)
    assert ask(layer=1, head=None, intervention=one)[1]["above"].endswith(" looks")  # the other head is on
    assert not Intervention().off(Site("cross", 1), mean=True).is_off(Site("cross", 1), 0)  # its mean is there


def close(one, two) -> None:
    np.testing.assert_allclose(np.array(one), two, rtol=0, atol=0.500001e-5)


@pytest.mark.parametrize("head", [None, 0, 1])
@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("more", [{}, {"extra_padding": 3}, {"target": "Lo varun roji prenda una lumel."}], ids=str)
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
    assert [token["w"] for token in data["source"]] == list(trace.source.word_numbers)
    written = zip(trace.outputs.labels, trace.outputs.word_numbers, strict=True)
    assert [(token["t"], token["w"]) for token in data["target"]] == list(written)
    assert data["start"] == "<s>"
    assert data["score"] == three_digits(trace.token_log_probs.sum())


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


def test_padding_and_rare_tokens_are_marked(tiny_checkpoint):
    words = {
        word: 9
        for word, _ in tiny_checkpoint.source_tokenizer.words_with_positions(tiny_checkpoint.source_tokenizer.encode(TEXT))
    }
    checkpoint = tiny.with_seen(tiny_checkpoint, words | {"fox": 3})
    analysis = analyse(checkpoint, Request(TEXT, intervention=UNPADDED, decoding=SHORT))
    source = payload(analysis, checkpoint, 0, None, "light")["source"]
    assert [token["pad"] for token in source] == [i == PAD for i in analysis.trace.source.ids]
    assert sum(token["pad"] for token in source) == PAD_WHEN_UNMASKED
    assert "".join(token["t"] for token in source if token.get("rare")) == "fox"
    assert {token["note"] for token in source if token.get("rare")} == {"Rare in training: fox (3 times)."}


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
    data, browser, heard = ask()[1], Mounted(monkeypatch), []
    monkeypatch.setattr(session, "change", lambda **fields: heard.append(*fields.items()))
    browser.events = events(data, *(lambda *values, name=name: heard.append((name, *values)) for name in ("why", "reason")))
    last = len(data["target"])
    for name, value in [("step", 1), ("step", last), ("step", 0), ("step", last + 1), *(("rows", rows) for rows in ROWS)]:
        browser.report(name, value)
    browser.report("rows", "Steps")
    assert heard == [("step", 0), ("step", last - 1), ("rows", "steps"), ("rows", "shifted"), ("rows", "training")]
    for pair in ({"kind": "cross"}, {"kind": "no"}, {"kind": "encoder", "query": 0, "key": None}):
        browser.report("why", {"query": 2, "key": 1} | pair)
    assert heard[5:] == [("why", "cross", 1, 0)]
    for token in (data["size"] - 1, data["size"]):
        browser.report("reason", {"step": 2, "token": token})
    assert heard[6:] == [("reason", 1, data["size"] - 1)]


@pytest.mark.parametrize("more", [{}, {"extra_padding": 2}, {"intervention": UNCAUSAL, "mode": "again"}], ids=str)
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
        assert why["asked"] == (max(row[words]) >= MIN_WEIGHT) and (why["asked"] or why["to"] is None)
