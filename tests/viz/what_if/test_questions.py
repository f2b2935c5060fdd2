"""What if: the ready experiments, the leak test, and what the baseline is."""

from model.experiments.ready_questions import EXPERIMENTS, PADS
from model.inference.request import Request
from tests.support import tiny
from tests.support.viz_helpers import WHAT_IF, Lab
from viz import computations

SENTENCE = "The dog bites the man."


def what_if(**link: str) -> Lab:
    return Lab(WHAT_IF, **({"text": SENTENCE} | link))


def leaks(lab: Lab) -> list[str]:
    return [text for kind in ("lab-note", "lab-note warn") for text in lab.sentences(kind) if "eak: " in text]


def test_the_leak_test_finds_leaks_without_either_mask():
    lab = what_if(edits="causal-off")
    assert leaks(lab) == []
    lab.switch("leak test", True)
    report = computations.leak_test(Request(SENTENCE, intervention=tiny.edited("causal-off")), "auto")
    (warned,) = [text for text in lab.warnings if text.startswith("Leak:")]
    assert len(leaks(lab)) == 2
    layer, j, i = min(report.leaks)
    assert f"Leak: {len(report.leaks)} times" in warned
    assert f"“{report.labels[j]}” (position {j + 1}) moves “{report.labels[i]}” (position {i + 1})" in warned
    assert f"at decoder layer {layer + 1}" in warned
    (table,) = [text for text in lab.html if "<table>" in text]
    assert table.count('class="bad"') == len({(j, i) for _, j, i in report.leaks})
    lab.click("edit causal-off")
    assert [text[:8] for text in leaks(lab)] == ["No leak:", "No leak:"]
    assert not any('class="bad"' in text for text in lab.html)
    assert lab.link == {"text": SENTENCE}
    lab = what_if(edits="padding-off").switch("leak test", True)
    report = computations.leak_test(Request(SENTENCE, intervention=tiny.edited("padding-off")), "auto")
    (warned,) = [text for text in lab.warnings if text.startswith("Leak:")]
    stack, layer, _ = report.padding_leaks[0]
    places = len({(name, i) for name, _, i in report.padding_leaks})
    assert f"padding moves {places} real positions, first at {stack} layer {layer + 1}" in warned


def test_a_question_shows_its_request_and_answer():
    lab = what_if().click("try padding")
    (known,) = [e for e in EXPERIMENTS if e.name == "padding"]
    expected = computations.answer("padding", Request(known.sentence_in("English")), "auto").text
    said = f"This question uses the sentence “{known.sentence_in('English')}”; yours comes back afterwards."
    assert lab.answers() == [f"{known.question} {expected} {said}"]
    shown = {"padmask": "off", "pad": str(PADS), "mode": "again"}
    assert lab.link == {"text": known.sentence_in("English"), "own": SENTENCE, "try": "padding", **shown}
    there = what_if(**lab.link)
    typed = said.replace("yours comes", "the sentence that was typed comes")  # whoever has typed it
    assert there.answers() == [f"{known.question} {expected} {typed}"]
    plain = what_if(**{name: value for name, value in lab.link.items() if name != "own"})
    assert plain.answers() == [f"{known.question} {expected}"] and "back to own" not in plain.buttons
    lab.click("edit padding-off")
    assert lab.answers() == []
    assert lab.link == {"text": known.sentence_in("English"), "own": SENTENCE, "pad": str(PADS), "mode": "again"}
    assert {f"try {e.name}" for e in EXPERIMENTS} <= set(lab.buttons)


def test_each_question_gives_the_own_sentence_back():
    lab = what_if(edits="off_cross.3.5", pad="2")
    made = lab.link
    for name in ("padding", "scaling"):  # the second is not asked of what the first has left
        (known,) = [e for e in EXPERIMENTS if e.name == name]
        lab.click(f"try {name}")
        assert lab.box == known.sentence_in("English")
        answer = computations.answer(name, Request(known.sentence_in("English")), "auto").text
        assert answer in lab.answers()[0]
    asked = lab.link
    assert lab.click("back to own").link == made
    assert "back to own" not in lab.buttons
    (first,) = [e for e in EXPERIMENTS if e.name == "padding"]
    assert lab.click("undo").click("undo").link["text"] == first.sentence_in("English")
    assert lab.click("back to own").link == made  # also from the first of the two, to which undo leads
    lab.click("try padding").click("try scaling").click("back to own")
    _, title, *_ = lab.grouped["undo"]  # in a row without a single edit it says what it takes back
    assert title.startswith(f"Brings back the sentence “{known.sentence_in('English')[:30]}")
    assert lab.click("undo").link == asked
    lab.click("ask own")
    (said,) = lab.answers()
    assert computations.answer("scaling", Request(SENTENCE, pad=2), "auto").text in said
    assert (lab.box, lab.link["edits"], lab.link["pad"]) == (SENTENCE, "scaling-off", "2")
    assert lab.click("try align").click("back to own").link == made


def test_a_typed_text_survives_a_question():
    typed, (known,) = "My brother sold his old car.", [e for e in EXPERIMENTS if e.name == "padding"]
    lab = what_if(text=typed, **{"try": "order"})
    assert lab.box == typed and lab.link == {"text": typed, "try": "order"}  # asked of what was typed
    lab.click("try padding").click("try scaling")
    assert (lab.link["own"], lab.box != typed) == (typed, True)
    again = what_if(**lab.link)  # a link, or a page that is loaded anew, knows nothing else
    assert again.grouped["ask own"][0] == f"Ask it of the sentence that was typed, “{typed}”"
    assert again.grouped["back to own"][0] == "Back to the sentence that was typed"
    again.click("try padding")
    assert (again.link["own"], again.box) == (typed, known.sentence_in("English"))
    assert again.click("back to own").link == {"text": typed}
    assert lab.click("ask own").link["text"] == typed and "own" not in lab.link
    assert lab.click("try padding").link["own"] == typed
    assert lab.click("back to own").link == {"text": typed, "try": "order"}
