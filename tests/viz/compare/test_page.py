"""Compare: two sides of which one thing differs, patching, and the lecture."""

import numpy as np
import pytest

from model.edits.intervention import BASELINE
from model.edits.kinds import PatchZ, parse
from model.inference.request import Request
from model.io.numbers import probability
from model.readings.heads.trace_comparison import align
from model.trace import ATTENTION_KINDS, Site
from tests.support.component_helpers import unpacked
from tests.support.viz_helpers import COMPARE, VARIANTS, Lab
from viz import cache, computations, page_context
from viz.compare import distance, patching_panel
from viz.compare.choices import CHOICES
from viz.compare.pair import DIFFERENCES, pair
from viz.state.page_fields import DIFFERS
from viz.state.view import View

TIRED = "The dog is tired."
OTHER = "The dog sleeps on the old chair."
KINDS = {
    "word": {},
    "sentence": {"other_text": OTHER},
    "checkpoint": {"other_checkpoint": "en-fr-learned", "layer": "4", "head": "8"},
    "edits": {"edits": "off_cross.3", "mode": "again", "kind": "cross"},
    "head": {"kind": "cross", "layer": "3", "head": "8"},
    "hypothesis": {"decode": "beam", "kind": "decoder"},
    "step": {"kind": "cross", "layer": "3"},
}


def compare(differs: str = "word", **link: str) -> Lab:
    return Lab(COMPARE, **({"differs": differs, "text": TIRED} | link))


def both(lab: Lab):
    view = lab.view
    return pair(view, page_context.build(view))


def test_what_may_differ_is_that_of_the_view():
    assert tuple(DIFFERENCES) == tuple(CHOICES) == DIFFERS == (*KINDS, "family")


@pytest.mark.parametrize("differs", KINDS)
def test_both_sides_show_their_own_trace(differs):
    lab = compare(differs, **KINDS[differs])
    shown, found = lab.side_by_side, both(lab)
    assert not lab.faults and shown["names"] == [found.first.name, found.second.name]
    views = distance.views(found)
    for here, there, view in zip(shown["maps"], reversed(shown["maps"]), views, strict=True):
        assert np.array_equal(unpacked(here, "values"), view.values)
        for side, partners in (("queries", here["rows"]), ("keys", here["columns"])):
            assert len(partners) == len(here[side])
            back = there["rows" if side == "queries" else "columns"]
            assert all(back[other] == n for n, other in enumerate(partners) if other >= 0)
    columns = [[chip["t"] for c in shown["tokens"] if len(c["chips"]) > n and (chip := c["chips"][n])] for n in (0, 1)]
    sides = (found.first, found.second)[: 1 if shown["single"] else 2]
    assert [tuple(each) for each in columns if each] == [side.analysis.trace.predicted_axis.labels for side in sides]
    values = [v for grid in shown["grids"] for row in grid["values"] for v in row if v is not None]
    assert values and min(values) >= 0 and max(values) <= 1 + 1e-5


def test_the_largest_distance_is_one_click_away():
    lab = compare()
    grids = lab.side_by_side["grids"]
    top = max(v for grid in grids for row in grid["values"] for v in row)
    most = lab.side_by_side["most"]
    assert most["measured"].startswith(f"{probability(top)} total variation distance")
    proto = next(c.proto for c in lab.app_test.get("bidi_component") if c.proto.component_name.endswith(".side_by_side"))
    lab.report(proto, "place", most["place"])
    kind, layer, head = lab.side_by_side["chosen"]
    assert {grid["kind"]: grid for grid in lab.side_by_side["grids"]}[kind]["values"][layer - 1][head - 1] == top
    assert both(lab).first.site == Site(kind, layer - 1)


def test_distance_is_the_mean_over_common_rows():
    found = both(compare(swap="2", swap_to="cat", kind="encoder", head="2", layer="1"))
    one, other = distance.views(found)
    assert one.queries != other.queries and len(one.queries) == len(other.queries)
    by_hand = (np.abs(one.values - other.values).sum(axis=1) / 2).mean()
    assert distance.grids(found)[0].values[0, 1] == pytest.approx(by_hand, abs=1e-6)


def test_each_token_has_its_probability_on_both_sides():
    lab = compare("word", text="The dog didn't cross the street because it was too shy.")
    sides = both(lab).first, both(lab).second
    for column in lab.side_by_side["tokens"]:
        if not all(column["chips"]):
            continue
        traces = [(side.analysis.trace, chip["step"] - 1) for side, chip in zip(sides, column["chips"], strict=True)]
        rows = [trace.log_probs[at] for trace, at in traces]
        ids = [trace.predicted_axis.ids[at] for trace, at in traces]
        for n in (0, 1):
            assert column["chips"][n]["p"] == pytest.approx(np.exp(rows[n][ids[n]]), abs=1e-4)
            assert column["chips"][n]["there"] == pytest.approx(np.exp(rows[1 - n][ids[n]]), abs=1e-4)
    assert any(not column["same"] for column in lab.side_by_side["tokens"])


def test_a_difference_is_shown_of_equal_tokens_alone():
    whole = compare("head", **KINDS["head"]).side_by_side
    assert whole["difference"]["whole"]
    one, other = (unpacked(each, "values") for each in whole["maps"])
    assert np.abs(unpacked(whole["difference"], "values") - (other - one)).max() < 2e-5
    part = compare("sentence", other_text=OTHER, kind="encoder").side_by_side
    first, second = part["maps"]
    assert not part["difference"]["whole"]
    rows = [i for i, row in enumerate(unpacked(part["difference"], "allowed")) if any(row)]
    assert rows == [i for i, _ in align(first["queries"], second["queries"]).common] and len(rows) < len(first["queries"])


def test_a_word_is_swapped_in_two_moves():
    lab = compare()
    assert [lab.app_test.text_input(key="swap to").value, both(lab).second.request.source] == ["wide", "The dog is wide."]
    lab.app_test.button_group(key="swap").set_value(1)
    assert lab.run().side_by_side is None
    assert any("in the place of “dog”" in text for text in lab.sentences("lab-note"))
    lab.app_test.text_input(key="swap to").set_value(" cat ")
    assert both(lab.run()).second.request.source == "The cat is tired."
    assert Lab(COMPARE, **lab.link).side_by_side["names"] == ["dog", "cat"]
    lab.type("She bought a red car.")  # the word belongs to the sentence, what was typed to the visitor
    assert "swap" not in lab.link and lab.link["swap_to"] == " cat "


def test_a_too_long_word_stays_in_its_box():
    lab = compare()
    lab.app_test.text_input(key="swap to").set_value("x" * 200)
    lab.run()
    assert lab.app_test.text_input(key="swap to").value == "x" * 200
    assert any("has 200 characters; expected a word of at most 60" in text for text in lab.warnings)
    assert both(lab).second.request.source == "The dog is wide."


def test_a_step_that_is_not_there_leaves_a_way_to_one_that_is():
    lab = compare("word", compare="patching", patched_step="99")
    assert len(lab.faults) == 1 and lab.faults[0].startswith("There is no step 99")
    lab.app_test.button(key="patch step").click()
    assert not lab.run().faults


@pytest.mark.parametrize(
    ("differs", "link", "told"),
    [
        ("word", {"swap": "40"}, "The sentence has no word 40, it has 5"),
        ("word", {"swap": "2", "swap_to": "dog"}, "“dog” stands there already"),
        ("sentence", {"other_text": TIRED}, "Both sentences are the same"),
        ("sentence", {"other_text": "x " * 2000}, "The second side cannot be shown."),
        ("checkpoint", {"other_checkpoint": "nothere"}, "The second side cannot be shown. There is no checkpoint"),
        ("checkpoint", {"other_checkpoint": "en-fr"}, "Both sides are the checkpoint en-fr"),
        ("head", {"kind": "cross", "head": "1", "other_head": "1"}, "Both sides show cross 3.1"),
        ("hypothesis", {"target": "Le chien."}, "The target is given"),
        ("step", {"kind": "cross", "step": "2", "other_step": "2"}, "Both sides show step 2"),
        ("step", {"kind": "cross", "other_step": "99"}, "There is no step 99"),
    ],
    ids=str,
)
def test_a_missing_second_side_is_one_fault(differs, link, told):
    lab = compare(differs, **link)
    assert len(lab.faults) == 1 and lab.faults[0].startswith(told) and lab.side_by_side is None


HEAVY = "The car didn't cross the bridge because it was too heavy."
NARROW = HEAVY.replace("heavy", "narrow")
REQUESTS = Request(HEAVY), Request(NARROW)


def measured():
    return computations.result(REQUESTS[0], "auto", computations.PATCHING(REQUESTS[1], None))


def patching_page(**link: str) -> Lab:
    return Lab(COMPARE, **({"text": HEAVY, "compare": "patching", "swap": "11", "swap_to": "narrow"} | link))


def test_shares_and_translations_are_measured():
    lab = patching_page()
    found = measured()
    shown = lab._mounted("patch_grids")
    for grid, values in zip(shown["grids"], (found.encoder, found.decoder, *found.heads.values()), strict=True):
        np.testing.assert_allclose(np.array(grid["values"], float), found.share(values), atol=1e-4)
        assert all(parse(code).code == code for row in grid["codes"] for code in row)
    assert shown["grids"][0]["columns"] == list(cache.analyse(REQUESTS[0], "auto").trace.source.labels)
    codes = [each.code for each in found.best]
    assert shown["chosen"] == codes and len(codes) == 1
    (told,) = lab.sentences("lab-answer")
    turning = [value for edit, value in found.patches if isinstance(edit, PatchZ) and found.flips_choice(value)]
    assert f"One head is enough to make “il” likelier than “elle” ({len(turning)} of 96 do it alone)" in told
    share = round(100 * max(map(found.share, turning)))
    assert f"{share}% of the way" in told
    assert "“heavy” takes from “row”; in the other sentence without a partner, so never put in: n, ar." in lab.text
    first, second = (cache.analyse(request, "auto").translation for request in REQUESTS)
    patched = first.replace("'elle", "'il").replace("lourde", "lourd")
    assert lab.sentences("lab-three") == [f"This sentence{first}The other{second}Patched{patched}"]
    lab.click("patch what if")
    assert set(lab.link["edits"].split("~")) == {f"donor_{NARROW}", *codes} and lab.link["mode"] == "again"
    assert f"donor_{NARROW}" in lab.edits and lab.faults == []


def test_heads_that_only_together_do_it_are_counted():
    lab = patching_page(text=HEAVY.replace("heavy", "narrow"), swap_to="heavy")
    (told,) = lab.sentences("lab-answer")
    assert "No head alone can make “elle” likelier than “il”; the most comes from" in told
    codes = lab._mounted("patch_grids")["chosen"]
    assert len(codes) > 1 and f"{len(codes)} of 96 heads do it together" in told


def test_a_piece_of_a_link_is_patched_in():
    lab = patching_page(patched="patch_enc.0_12")
    assert lab._mounted("patch_grids")["chosen"] == ["patch_enc.0_12"]
    assert any("embedding, at “heavy”. 82% of the way" in group["note"] for group in lab.groups)
    lab = patching_page(patched="patch_enc.9_12")
    assert any("names layer 9; this checkpoint has 4 there" in text for text in lab.warnings)
    assert "patch what if" not in lab.buttons


def test_only_a_known_piece_can_be_chosen(monkeypatch):
    chosen = []
    monkeypatch.setattr(patching_panel.session, "change", lambda **fields: chosen.append(fields["patched"]))
    check, choose = patching_panel.PATCHES.events(None, measured())["piece"]
    for code in ("patch_enc.2_9", "patch_enc.99_1", "off_enc.1", None, 7):
        if (arguments := check(code)) is not None:
            choose(*arguments)
    assert chosen == [BASELINE.with_edit("patch_enc.2_9")] and View(patched=chosen[-1])


def lecture(**link: str) -> Lab:
    return Lab(COMPARE, **({"text": TIRED, "lecture": "on"} | link))


@pytest.mark.parametrize(("large", "picture"), [("1", "maps"), ("2", "difference"), ("3", "heads"), ("9", "maps")])
def test_each_picture_has_the_numbers_of_the_page(large, picture):
    found, usual = lecture(large=large).side_by_side, Lab(COMPARE, text=TIRED).side_by_side
    assert found["large"]["picture"] == picture and usual["large"] is None
    for name in ("maps", "difference", "grids", "tokens"):
        assert found[name] == usual[name], name


def test_keys_lead_to_the_head_that_differs_most():
    lab = lecture(large="3")
    assert lab.pressed("v").compared == "patching" and lecture(compared="patching").pressed("v").compared == "maps"
    view = lab.pressed("h")
    grids = {grid["kind"]: grid["values"] for grid in lab.side_by_side["grids"]}
    most = max(value for grid in grids.values() for row in grid for value in row)
    assert grids[view.kind][view.layer][view.head] == most
    assert lab.side_by_side["large"]["most"].endswith(probability(most))


def test_the_key_skips_differences_without_a_second_side():
    assert lecture().pressed("x").differs == "checkpoint"  # no second sentence is typed
    assert lecture(differs="checkpoint").pressed("x").differs == "head"  # nothing is edited
    assert lecture(differs="checkpoint", causal="off").pressed("x").differs == "edits"
    assert lecture(differs="family").pressed("x").differs == "word"


def test_each_family_has_the_mask_of_its_checkpoint(monkeypatch):
    maps, masks = compare("family").maps, cache.analyse(Request(TIRED), "auto").trace.masks
    encoder, decoder, cross = (masks[Site(kind, 0)] for kind in ATTENTION_KINDS)
    assert [each["title"] for each in maps] == ["BERT (bert-mini)", "GPT (gpt-mini)", "Encoder-decoder (en-fr)"]
    whole, causal, joint = (unpacked(each, "allowed") for each in maps)
    assert whole.all() and np.array_equal(causal, np.tri(len(causal)))
    assert np.array_equal(joint, np.block([[encoder, np.zeros_like(cross.T)], [cross, decoder]]))
    monkeypatch.setattr(cache, "checkpoint_names", tuple)  # no checkpoint of the other two families
    whole, causal = (unpacked(each, "allowed") for each in compare("family").maps[:2])
    assert whole.all() and np.array_equal(causal, np.tri(len(encoder))) and whole.shape == encoder.shape


def test_the_design_has_a_page_with_the_same_choice():
    assert compare().grouped["differs word"][2] and "differs design" in compare().buttons
    lab = Lab(VARIANTS)
    assert lab.grouped["differs design"][2] and not lab.grouped["differs word"][2]
    assert lab.click("differs head").view.differs == "head" and lab.data.page == "compare"


@pytest.mark.parametrize(("large", "picture"), [("1", "encoder"), ("2", "heads"), ("3", "decoder")])
def test_the_best_piece_is_patched_in(large, picture):
    lab = lecture(compare="patching", large=large)
    data = lab._mounted("patch_grids")
    own = [grid for grid in data["grids"] if (grid["title"].startswith("Heads")) == (picture == "heads")]
    own = [grid for grid in own if picture in ("heads", grid["hue"])]
    cells = {
        code: value
        for grid in own
        for row, codes in zip(grid["values"], grid["codes"], strict=True)
        for value, code in zip(row, codes, strict=True)
        if value is not None
    }
    assert data["large"]["picture"] == picture and data["chosen"] == [max(cells, key=cells.get)]
    assert f"{round(100 * max(cells.values()))}% of the way" in data["large"]["told"].replace("−", "-")
    assert [name for name, _ in data["large"]["rows"]] == ["this one", "the other", "patched"]
    after = lab.pressed("n").patched.edits
    assert [edit.code for edit in after] == [sorted(cells, key=lambda code: -cells[code])[1]]
