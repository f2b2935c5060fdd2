"""Continue: how far a text is gone on with, its beginnings, the key-value cache under the steps and what it saves."""

import dataclasses

import pytest

from model import checkpoint as checkpoints
from model.config import END
from model.decoding.strategy import Decoding
from model.experiments.caching import cache_sizes
from model.inference.predictions import repeated_tail
from model.inference.request import Request
from model.io import numbers
from tests.support import tiny
from tests.support.viz_helpers import HEADS, Lab
from viz import cache
from viz.decoding_steps import decoding_controls
from viz.examples import prompts
from viz.kit import mount
from viz.state.view import DEFAULT_MORE, FIRST_PROMPT, FIRST_SENTENCE, View
from viz.translate import kv_cache

TEXT = "The red fox sees a lamp."
SIZES = {"family": "decoder-only", "encoder_layers": 0, "positions": "rotary"}


@pytest.fixture(scope="module", autouse=True)
def folder(tokenizer, tmp_path_factory):
    home = tmp_path_factory.mktemp("continue")
    made = tiny.checkpoint(tokenizer, **SIZES)
    checkpoints.save(dataclasses.replace(made, languages=("English", "English"), token_counts={}), home / "writer")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CHECKPOINTS", str(home))
        yield home


def opened(page: str | None = None, **link: str) -> Lab:
    return Lab(page, **({"checkpoint": "writer", "text": TEXT} | link))


def analysed(**asked):
    return cache.analyse(Request(TEXT, "writer", decoding=Decoding(**asked)), "auto")


def test_a_text_gets_the_requested_number_of_tokens():
    for more in (10, 20):
        lab, found = opened(more=str(more)), analysed(max_new_tokens=more)
        assert [each["t"] for each in lab.timeline["target"]] == list(found.trace.outputs.labels)
        new = len(found.trace.outputs) - found.prompt_length
        ended = found.trace.outputs.ids[-1] == END
        assert new <= more and (ended or new == more)
        told = f"the model ended after {new - 1}, with </s>" if ended else f"tokens: stopped after {new}"
        assert any(told in text for text in lab.sentences("lab-note")), lab.sentences("lab-note")
        assert found.stop_reason not in found.notes  # what was asked for warns nobody, on no page
    lab.pick("more pick", 40)
    assert lab.link["more"] == "40" and len(lab.timeline["target"]) == len(analysed(max_new_tokens=40).trace.outputs)


def test_a_text_that_repeats_itself_says_so_and_can_be_sampled():
    loops = {(1, 2, 1, 2): None, (3, 3, 3): None, (5, 1, 2, 1, 2, 1, 2): (2, 3), (4, *[3] * 6): (1, 6)}
    assert {ids: repeated_tail(ids) for ids in loops} == loops
    lab = Lab(checkpoint="gpt-mini", more="40")
    asked = Request(FIRST_PROMPT, "gpt-mini", decoding=Decoding(max_new_tokens=40))
    size, count = repeated_tail(cache.analyse(asked, "auto").trace.outputs.ids)
    assert any(f"{size} tokens {count} times" in text for text in lab.sentences("lab-note"))
    assert lab.click("sample instead").link["decode"] == "sample"


def test_the_lab_opens_with_a_prompt():
    lab = Lab(checkpoint="writer")
    assert (lab.box, lab.link["text"], lab.link["more"]) == (FIRST_PROMPT, FIRST_PROMPT, str(DEFAULT_MORE))
    assert prompts()[0].sentence == FIRST_PROMPT
    assert {name for name in lab.grouped if name.startswith("example ")} == {
        f"example {each.sentence}" for each in prompts()
    }
    assert Lab(HEADS, checkpoint="writer").box == FIRST_PROMPT
    assert Lab().box == FIRST_SENTENCE and "more" not in Lab(more="9").link


def test_a_refused_prompt_stays_in_the_box():
    lab, text = opened(), "lamp " * 300
    (fault,) = lab.type(text).faults
    assert fault.endswith("; expected at most 127: the text and what is added share a window of 128. Shorten it.")
    assert lab.box == text


def test_what_was_given_is_neither_counted_nor_drawn():
    found = analysed(strategy="sample", seed=4, temperature=View.temperature, top_p=View.top_p, max_new_tokens=DEFAULT_MORE)
    added = found.trace.token_log_probs[found.prompt_length :].sum()
    assert found.log_prob == pytest.approx(float(added), abs=1e-4) and added > found.trace.token_log_probs.sum()
    lab = opened(decode="sample", seed="4", show="decoding")
    assert lab.timeline["score"] == numbers.three_digits(found.log_prob) and "of the continuation" in lab.timeline["scored"]
    tree = lab._mounted("beam_tree")["nodes"]
    assert tree[found.prompt_length - 1]["sc"] == 0 and tree[-1]["sc"] == pytest.approx(found.log_prob, abs=1e-3)
    rows, before = (lab._mounted("candidates")[name] for name in ("rows", "before"))
    for step in range(len(rows)):
        same = all(row[4] == pytest.approx(p, abs=1e-6) for row, (p, _) in zip(rows[step], before[step], strict=True))
        assert same == (step < found.prompt_length)  # typed: the model's own probabilities; added: those of the draw


def test_a_sample_can_be_drawn_again(monkeypatch):
    heard, mounted = {}, mount.Component.mount

    def mount_and_note(self, key, data, events=None, **more):
        heard.update({(key, name): call for name, (_, call) in (events or {}).items()})
        mounted(self, key, data, events, **more)

    monkeypatch.setattr(mount.Component, "mount", mount_and_note)
    assert opened().timeline["draws"] is False
    lab = opened(decode="sample", seed="4")
    assert lab.timeline["draws"] is True and heard["translate.steps", "again"] is decoding_controls.draw_again
    again = opened(decode="sample", seed="4", show="decoding").click("draw")  # the button of the same
    drawn = analysed(strategy="sample", seed=5, temperature=View.temperature, top_p=View.top_p, max_new_tokens=DEFAULT_MORE)
    assert again.link["seed"] == "5" and [each["t"] for each in again.timeline["target"]] == list(drawn.trace.outputs.labels)
    assert again.timeline["trace"] != lab.timeline["trace"]
    rows, before = (lab._mounted("candidates")[name] for name in ("rows", "before"))
    for own, shares in zip(rows, before, strict=True):
        probabilities = [p for p, _ in shares]
        assert sum(probabilities) <= 1 + 1e-5 and probabilities == sorted(probabilities, reverse=True)
        for (_, _, _, _, drawn, reason), (_, tempered) in zip(own, shares, strict=True):
            assert drawn == 0 if reason else drawn >= tempered - 1e-6


def test_the_cache_is_that_of_the_shown_path():
    lab, found = opened(show="cache", more="10"), analysed(max_new_tokens=10)
    told, kept = lab._mounted("key_values"), cache_sizes(cache.checkpoint("writer", "auto"), found)
    assert told["trace"] == lab.timeline["trace"]
    assert told["each"] * len(told["reads"]) + told["source"] == kept.nbytes(len(found.trace.outputs))
    assert told["reads"] == list(found.trace.inputs.labels) and told["whole"] == list(kept.uncached)
    off = opened(show="cache", causal="off", mode="again")
    assert off._mounted("key_values") is None and kv_cache.NOTHING_KEPT in off.sentences("lab-note")
    both = Lab(show="cache", text="I love you.")
    assert both._mounted("key_values")["sources"] == len(both.timeline["source"])
