"""The page What if: edits, both translations, the ranking, the other page, and the lecture."""

import numpy as np
import pytest

from model.inference.predictions import changed_words, kl_divergence, largest_shifts
from model.inference.request import Request
from model.io.numbers import signed, three_digits
from model.trace import Site
from tests.support import tiny
from tests.support.component_helpers import cells_of
from tests.support.edit_helpers import NAMED, ONE_EACH
from tests.support.viz_helpers import TRANSLATE, WHAT_IF, Lab
from viz import cache, computations
from viz.kit.site_texts import begin
from viz.what_if.edit_controls import NAMES

SENTENCE = "The dog bites the man."
EDITS = (*ONE_EACH[1:], NAMED, "off_cross.3.5")


def what_if(**link: str) -> Lab:
    """A visitor who looks at all that is there."""
    return Lab(WHAT_IF, **({"text": SENTENCE} | link)).look()


def analysed(*codes: str, **more):
    return cache.analyse(Request(SENTENCE, intervention=tiny.edited(*codes), **more), "auto")


def effects():
    """Every head, the one that matters most first."""
    return sorted(measured(Request(SENTENCE)), key=lambda e: -abs(e.change))


def measured(request: Request):
    every = (computations.result(request, "auto", computations.HEAD_EFFECTS(kind), lambda share: None) for kind in NAMES)
    return [effect for effects in every for effect in effects]


def known(request: Request) -> list[str]:
    """The kinds of heads that are measured."""
    return [kind for kind in NAMES if computations.result.known(request, "auto", computations.HEAD_EFFECTS(kind), None)]


def test_the_page_opens_whole_and_nothing_is_edited():
    lab = Lab(WHAT_IF)
    assert (lab.faults, lab.warnings, lab.link, lab.edits) == ([], [], {}, {})
    assert place_of(lab) == "enc"
    assert "matters most" in lab.effect
    assert lab.sentences("lab-translation") == [cache.analyse(Request(lab.box), "auto").translation]
    assert all(lab.grouped[key][-1] for key in ("undo", "redo", "clear"))
    before, after, difference = lab.maps
    np.testing.assert_array_equal(cells_of(before), cells_of(after))
    assert not np.nan_to_num(cells_of(difference)).any()
    assert len(changes(lab)["labels"]) == len(cache.analyse(Request(lab.box), "auto").trace.outputs)


def choose_kind(lab: Lab, kind: str) -> Lab:
    board = next(c.proto for c in lab.app_test.get("bidi_component") if c.proto.component_name.endswith(".switchboard"))
    return lab.report(board, "kind", kind)


def changes(lab: Lab) -> dict:
    return lab._mounted(".change_list")


def test_edits_of_a_link_can_be_taken_back():
    codes = [code for code in EDITS if code not in ("causal-off", "padding-off")]
    lab = what_if(edits="~".join(codes), causal="off", pad="2", padmask="off")
    left = dict(tiny.edited(*EDITS).codes_and_texts(analysed(*EDITS, extra_padding=2).labels))
    assert len(left) == len(EDITS)
    for code in ("causal-off", "row_enc.2_2-1", "window-2", None):
        assert lab.edits == {code: begin(text) for code, text in left.items()}
        assert set(lab.link["edits"].split("~")) == {code for code in left if code not in ("causal-off", "padding-off")}
        if code:
            lab.click(f"edit {code}")
            del left[code]
    assert (lab.link["pad"], lab.faults) == ("2", [])
    lab.click("clear")
    assert (lab.edits, lab.link) == ({}, {"text": SENTENCE})


def place_of(lab: Lab) -> str:
    """Where a click on the matrix blocks, as codes say it."""
    return lab.switchboard["block"]["code"].split("_")[1]


@pytest.mark.parametrize(("kind", "head"), [("encoder", "2"), ("decoder", "mean"), ("cross", "2")])
def test_maps_are_before_after_and_difference(kind, head):
    lab = what_if(edits="block_enc_2-3~off_enc.1.1~block_dec_3-1~block_cross_2-4", kind=kind, layer="2", head=head)
    found = analysed("block_enc_2-3", "off_enc.1.1", "block_dec_3-1", "block_cross_2-4")
    site, number = Site(kind, 1), None if head == "mean" else 1
    before, after = found.baseline.trace.view(site, number), found.full_pass.view(site, number)
    maps = lab.maps
    for chart, seen in zip(maps, (before, after, after - before), strict=True):
        allowed = seen.allowed if chart is not maps[2] else before.allowed | after.allowed
        np.testing.assert_allclose(np.nan_to_num(cells_of(chart)), np.where(allowed, seen.values, 0), atol=1e-6)
        assert (chart["keys"], chart["queries"]) == (list(seen.keys), list(seen.queries))
    assert np.abs(np.nan_to_num(cells_of(maps[2]))).max() > 1e-3
    assert place_of(lab) == {"encoder": "enc", "decoder": "dec", "cross": "cross"}[kind]
    assert np.sum(lab.switchboard["blocked"]) == 1


def test_the_pickers_choose_place_and_scope():
    lab = what_if(layer="2", head="3")
    choose_kind(lab, "cross")
    for scope, place in (("head", "cross.2.3"), ("layer", "cross.2"), ("all", "cross")):
        assert place_of(lab.pick("scope", scope)) == place
    lab.pick("scope", "head").pick("head", None)
    assert place_of(lab) == "cross.2"  # without one head there is none to edit
    scopes = {name: text for name, (text, *_) in lab.grouped.items() if name.startswith("scope ")}
    assert scopes == {"scope all": "all layers", "scope layer": "layer 2"}
    assert place_of(lab.pick("layer", 2)) == "cross.3"


def test_a_given_target_is_scored_before_and_after():
    lab, found = what_if(edits="off_cross.1", causal="off"), analysed("off_cross.1", "causal-off")
    before, after = (three_digits(a.trace.token_log_probs.sum()) for a in (found.baseline, found))
    assert before in lab.effect and after in lab.effect and found.baseline.translation in lab.text
    np.testing.assert_allclose(changes(lab)["before"], found.baseline.trace.probabilities, atol=1e-5)
    np.testing.assert_allclose(changes(lab)["after"], found.trace.probabilities, atol=1e-5)


def test_decoded_again_both_translations_are_shown():
    lab, found = what_if(edits="off_cross"), analysed("off_cross", mode="again")
    assert found.translation in " ".join(lab.sentences("lab-both")[0].split())  # also while the target is given
    lab.pick("mode", "again")
    base = found.baseline
    assert found.translation != base.translation  # it has not seen the sentence
    gone, _ = map(sum, changed_words(base.trace.outputs.ids, found.trace.outputs.ids))
    verdict, (both,) = lab.effect, lab.sentences("lab-both")
    assert f"{gone} of {len(base.trace.outputs)} tokens" in verdict
    assert base.translation in " ".join(both.split()) and found.translation in " ".join(both.split())
    assert lab.link == {"text": SENTENCE, "edits": "off_cross", "mode": "again"}
    assert [len(choose_kind(lab, kind).maps) for kind in ("encoder", "cross")] == [3, 2]  # the tokens differ


def test_a_step_names_what_gains_and_what_loses():
    lab, found = what_if(edits="off_cross.1~off_cross.2"), analysed("off_cross.1", "off_cross.2")
    proto = next(c.proto for c in lab.app_test.get("bidi_component") if c.proto.component_name.endswith(".change_list"))
    assert changes(lab.report(proto, "step", 3))["step"] == 3
    before, after = found.baseline.trace.log_probs[2], found.trace.log_probs[2]
    move = changes(lab)["moves"][2]
    assert move["kl"] == pytest.approx(float(kl_divergence(before[None], after[None])[0]), abs=1e-5)
    piece = cache.checkpoint("en-fr", "auto").target_tokenizer.piece
    for (_, _, rows), expected in zip(move["columns"], largest_shifts(before, after), strict=True):
        assert rows == [[piece(m.id), round(m.before, 7), round(m.after, 7)] for m in expected]


def test_head_effects_wait_for_a_look():
    text = "Nobody has looked at this old boat yet."
    lab, plain = Lab(WHAT_IF, text=text), Request(text)
    assert known(plain) == [] and list(lab.awaited) == ["what_if.board"]
    blank = lab.switchboard["grids"]
    assert {change for grid in blank for row in grid["changes"] for change in row} == {None}
    lab.click("translate")  # another run is no look
    assert known(plain) == []
    lab.glance()
    assert known(plain) == ["encoder"] and "32 of 96" in lab.effect
    assert [grid["changes"][0][0] is None for grid in lab.switchboard["grids"]] == [False, True, True]
    grids = lab.look().switchboard["grids"]
    found = {e.edit.code: e.change for e in measured(plain)}
    assert not lab.awaited
    for before, after in zip(blank, grids, strict=True):
        assert before | {"changes": after["changes"]} == after  # nothing else is drawn anew
        for codes, changes in zip(after["codes"], after["changes"], strict=True):
            assert changes == pytest.approx([found[code] for code in codes], abs=1e-4)
    lab.type("Now the boat is another one.")
    assert list(lab.awaited) == ["what_if.board"]  # a look is one at this sentence


def toggle(lab: Lab, code: str) -> Lab:
    """Clicks a head of the switchboard."""
    proto = next(c.proto for c in lab.app_test.get("bidi_component") if c.proto.component_name.endswith(".switchboard"))
    return lab.report(proto, "toggle", code)


def test_a_click_on_a_head_toggles_it():
    lab, first = what_if(), effects()[0]

    def off() -> bool:
        return lab.switchboard["grids"][list(NAMES).index(first.site.kind)]["off"][first.site.layer][first.head]

    assert not off() and f"{signed(min(e.change for e in effects()))} nats" in lab.effect
    toggle(lab, first.edit.code)
    assert (lab.link["edits"], list(lab.edits)) == (first.edit.code, [first.edit.code]) and off()
    found = analysed(first.edit.code)
    change = float(found.trace.token_log_probs.sum() - found.baseline.trace.token_log_probs.sum())
    assert change == pytest.approx(first.change, abs=1e-3)
    toggle(lab, first.edit.code)
    assert not off() and "edits" not in lab.link
    where = (lab.link.get("kind", "encoder"), lab.link.get("layer", "3"), lab.link.get("head", "2"))
    assert where == (first.site.kind, str(first.site.layer + 1), str(first.head + 1))  # the maps follow the edit


def test_edits_hold_on_the_other_page():
    lab = toggle(what_if(edits="off_cross.2.5"), effects()[0].edit.code)
    made, there = lab.link, lab.edits
    lab.go(TRANSLATE)
    assert (lab.link, lab.edits) == (made, there)
    assert (len(lab.maps), len(lab.charts)) == (1, 1)  # the chart of what changed
    lab.pick("show", "mask").switch("causal", False).click("edit off_cross.2.5").go(WHAT_IF)
    assert lab.link == made | {"show": "mask", "edits": effects()[0].edit.code, "causal": "off"}
    assert set(lab.edits) == {"causal-off", effects()[0].edit.code}
    assert set(lab.click("undo").edits) == {"causal-off", *there}
    assert set(lab.click("undo").edits) == set(there)
    assert lab.go(TRANSLATE).app_test.toggle(key="causal").value is True


LIKES = "The dog likes the girl."


def lecture(**link: str) -> Lab:
    return Lab(WHAT_IF, **({"lecture": "on", "text": LIKES} | link))


def test_changes_are_listed_beside_both_translations():
    lab = lecture(edits="off_cross.3.5", causal="off", mode="again", pad="2")
    assert all(part in lab.text for part in ("causal mask off", "cross 3.5: off", "2 pads after the source"))
    assert any("lab-both" in text and "lab-verdict" in text for text in lab.html)
    data = changes(lab)
    assert data["large"] and data["edited"] and len(data["before"]) == len(data["labels"]) >= len(data["after"])


def test_an_experiment_of_a_link_can_be_made():
    lab = lecture(**{"try": "order"})
    assert ["a", "the edits of the answer"] in [key[:2] for key in lab._mounted(".frame_component")["keys"]]
    assert lab.click("see it").link["edits"] == "source-positions_off"
    assert ["a", "the counterpart of the experiment"] in [key[:2] for key in lab._mounted(".frame_component")["keys"]]
    lab.click("also")
    assert lab.link["text"] == "The girl likes the dog."
