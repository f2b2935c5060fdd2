"""Bad input of a visitor, a link or a damaged checkpoint: always one sentence, never a traceback."""

import pytest
import sentencex
from streamlit.testing.v1 import AppTest

from model.config import MAX_CHARACTERS, MAX_TOKENS
from tests.support.viz_helpers import TIMEOUT, Lab


def texts_with_markup() -> None:
    from types import SimpleNamespace

    import numpy as np

    from model.edits.intervention import BASELINE
    from model.experiments.effects import Effect
    from model.task import TRANSLATION
    from viz.kit import site_texts
    from viz.state.view import View
    from viz.translate import mask_charts

    typed = "<script>1</script>"
    effect = Effect(BASELINE, 4, (typed,), np.log([0.9]), np.log([0.1]))
    analysis = SimpleNamespace(task=TRANSLATION, score_label=TRANSLATION.score_label())
    for markup in (mask_charts.causal_text(effect, View(), True, analysis), mask_charts.padding_text(effect, View())):
        site_texts.write(f"<p>{markup}</p>")
    site_texts.fault(f"There is no {typed}.")
    site_texts.note(f"The link's step is {typed}.", warn=True)
    site_texts.label(typed)
    site_texts.write(f"<p>{site_texts.marked([typed, typed, 'owl'], (False, True, True), 'is')}</p>")


def test_every_kind_of_text_is_escaped():
    at = AppTest.from_function(texts_with_markup, default_timeout=TIMEOUT).run()
    assert not at.exception
    pieces = [element.proto.body for element in at.get("html")]
    shown = [piece.count("&lt;script&gt;1&lt;/script&gt;") for piece in pieces]
    assert [count for count in shown if count] == [1, 1, 1, 1, 1, 2]
    assert not any("<script" in piece for piece in pieces)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        (" \t ", "empty"),
        ("zq" * 20 + " owls" * MAX_TOKENS, "tokens, </s> included; expected at most 128"),
        ("“" * 250_000, "The sentence has 250,000 characters; expected at most 20,000. Shorten it."),
    ],
    ids=("empty", "blank", "long", "endless"),
)
def test_a_refused_sentence_stays_in_the_box(monkeypatch, text, said):
    seen, segment = [], sentencex.segment
    monkeypatch.setattr(sentencex, "segment", lambda language, text: seen.append(text) or segment(language, text))
    lab = Lab(causal="off").type(text)
    for _ in range(2):
        assert lab.box == text and len(lab.faults) == 1 and said in lab.faults[0]
        assert (lab.timeline, lab.maps) == (None, [])  # nothing of the sentence before is left
        lab.run()
    assert max(map(len, seen), default=0) <= MAX_CHARACTERS
    lab.type("Nine owls.")
    assert (lab.faults, len(lab.maps), lab.link) == ([], 1, {"text": "Nine owls.", "causal": "off"})


def test_nonsense_in_a_link_is_one_warning_each():
    bad = {"step": "-1", "layer": "abc", "head": "²", "pad": "99", "causal": "maybe", "show": "x", "device": "tpu"}
    bad |= {"checkpoint": "../../etc", "text": "x" * 10_000}
    lab = Lab(**bad, mode="again", utm="mail")
    assert lab.faults == []
    assert len(lab.warnings) == len(bad)
    for name in bad:
        assert sum(f"link's {name} " in sentence for sentence in lab.warnings) == 1
    assert len(lab.maps) == 1
    assert lab.link == {"mode": "again"}
    assert lab.pick("show", "mask").warnings == []


@pytest.mark.parametrize(
    ("key", "missing", "there", "named"), [("checkpoint", "nothere", "en-fr", "'nothere'"), ("device", "mps", "cpu", "mps")]
)
def test_a_missing_checkpoint_or_device_is_one_fault(monkeypatch, key, missing, there, named):
    monkeypatch.setattr("model.device.available_devices", lambda: ("cpu",))
    lab = Lab(**{key: missing})
    (fault,) = lab.faults
    assert named in fault and there in fault and fault[0].isupper() and fault.endswith(".")
    assert (lab.timeline, lab.maps) == (None, [])
    assert lab.choose(there, key).faults == [] and len(lab.maps) == 1


def test_too_many_branch_tokens_are_refused():
    branch = "~".join("-".join(str(first + n) for n in range(100)) for first in (300, 500))
    lab = Lab(text="Nine owls.", branch=branch, causal="off", mode="again", decode="beam", width="8")
    (fault,) = lab.faults
    assert "200 tokens of branches in a beam of 8 would take minutes" in fault
    assert (lab.box, lab.timeline) == ("Nine owls.", None)
    assert lab.click("without branches").faults == []
    assert "branch" not in lab.link and lab.timeline
