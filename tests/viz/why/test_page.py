"""Why: a choice taken apart, its sum, a head that is tested, and the lecture."""

import re

import numpy as np
import pytest

from model.experiments.faithfulness import NEAR
from model.io.numbers import signed
from model.readings.tokens.word_readings import READINGS
from tests.support.viz_helpers import WHY, Lab, value
from viz import cache, page_context
from viz.why import chosen_tokens, logit_sum
from viz.why.reading_texts import curves_chart


def why(**link: str) -> Lab:
    return Lab(WHY, **({"step": "11", "why": "sum"} | link))


def test_the_parts_add_up_to_the_difference():
    lab = why()
    shown = lab.sum
    assert sum(row["value"] for row in shown["rows"]) + shown["rest"][1] == pytest.approx(shown["total"], abs=2e-4)
    assert abs(value(shown["remainder"])) < 1e-4
    told = lab.sentences("lab-why")[0]
    assert signed(shown["total"]) in told
    first, second = map(float, re.findall(r"0\.\d+", told)[:2])
    rounding = 5e-3 / first + 5e-3 / second
    assert np.log(first / second) == pytest.approx(shown["total"], abs=1.1 * rounding)
    heads = sum(np.sum(grid["values"]) for grid in shown["grids"])
    ways = sum(np.sum(sentence["values"]) for sentence in shown["tokens"])
    assert heads == pytest.approx(ways, abs=1e-3)


def test_the_default_rival_is_the_likeliest_other_token():
    lab = why()
    options = lab.app_test.selectbox(key="rival").options
    assert len(options) == 12 and lab.app_test.selectbox(key="rival").value not in (None, "")
    lab.app_test.selectbox(key="rival").select_index(3)
    other = lab.run().link["rival"]
    assert lab.sum["total"] > why().sum["total"]
    assert Lab(WHY, **lab.link).link["rival"] == other
    lab.app_test.select_slider(key="what if step").set_value(4)
    assert "rival" not in lab.run().link


def test_a_bad_rival_falls_back_to_the_default():
    plain = why()
    own = cache.analyse(plain.view.request(), "auto").trace.outputs.ids[10]
    for rival, told in ((own, "is the token itself"), (999_999, "tokens up to 7999")):
        lab = why(rival=str(rival))
        assert lab.sum["total"] == plain.sum["total"]
        assert [told in sentence for sentence in lab.warnings] == [True]


@pytest.mark.parametrize(
    ("link", "named", "edit"),
    [
        ({"kind": "decoder", "head": "1"}, "decoder 4.1 switched off:", "off_dec.4.1"),
        ({"piece": "ff"}, "Feed-forward, layer 4 skipped:", "skip_dec.4.ff"),
        ({"piece": "position"}, "Positions taken away:", "target-positions_off"),
        ({"piece": "token"}, "Embedding of “qu'” wrote", None),
    ],
)
def test_a_part_is_tested_by_removing_it(link, named, edit):
    lab = why(layer="4", **link)
    told = next(text for text in lab.sentences("lab-note") if text.startswith(named))
    assert lab.sum["chosen"][0] == link.get("piece", "head")
    written = [float(n.replace("−", "-")) for n in re.findall(r"[+−]\d+\.\d+", told)]
    if edit is None:
        assert len(written) == 1 and "why off" not in lab.buttons
        return
    change, after, wrote, *way = written
    shown = [row["value"] for row in lab.sum["rows"] if row["key"] == lab.sum["chosen"]] or [wrote]
    assert wrote == pytest.approx(shown[0], abs=6e-4) and all(abs(each) <= abs(wrote) + 1 for each in way)
    assert after == pytest.approx(lab.sum["total"] + change, abs=1.1e-2)  # both numbers are rounded to 0.01
    assert page_context.build(lab.view).request.mode == "given"
    assert lab.click("why off").link["edits"] == edit


@pytest.mark.parametrize(
    ("piece", "number", "edits"), [("source", 9, "block_cross_all-9~block_enc_all-9"), ("target", 2, "block_dec_all-2")]
)
def test_a_token_is_tested_by_hiding_it(piece, number, edits):
    lab = why(piece=piece, key=str(number))
    sentence = next(each for each in lab.sum["tokens"] if each["piece"] == piece)
    told = next(text for text in lab.sentences("lab-note") if text.startswith("“") and "By way of" in text)
    assert f"“{sentence['labels'][number - 1]}”" in told and lab.sum["chosen"] == [piece, number]
    change, after, wrote = (float(n.replace("−", "-")) for n in re.findall(r"[+−]\d+\.\d+", told))
    assert wrote == pytest.approx(sentence["values"][number - 1], abs=6e-4)
    assert after == pytest.approx(lab.sum["total"] + change, abs=1.1e-2)  # both numbers are rounded to 0.01
    assert "acts the other way" not in told or wrote * change > 0
    lab.click("why hide")
    assert lab.link["edits"] == edits


def test_a_typed_rival_is_tokenised_in_place():
    lab = why()
    context = page_context.build(lab.view)
    tokenizer, ids = context.loaded.target_tokenizer, context.analysis.trace.outputs.ids
    read = chosen_tokens.reading(tokenizer, ids[:10], ids[10])
    assert read(7) == 7 and tokenizer.piece(read(" il ")) == "·il"  # it follows “qu'” and begins no text
    refused = (("zzqxplonk", "is 6 tokens"), ("elle", "is the token"), ("", "is empty"), ("x" * 200, "200 characters"))
    for typed, told in refused:
        with pytest.raises(ValueError, match=told):
            read(typed)


def test_readings_are_ordered_by_their_areas():
    lab = Lab(WHY, text="She bought a red car.", step="6", why="readings")
    rows, told = lab._mounted(".ranking")["rows"], lab.sentences("lab-verdict")[0]
    shares = [row["share"] for row in rows]
    assert shares == sorted(shares, reverse=True) and {row["name"] for row in rows} == set(READINGS)
    near = [share for share in shares[1:] if shares[0] - share < NEAR]
    assert told.startswith("No reading is clearly ahead here" if near else READINGS[rows[0]["name"]].label)
    assert all(max(abs(value) for _, value, _ in row["words"]) == pytest.approx(1, abs=1e-3) for row in rows)
    trust = cache.checkpoint("en-fr", "auto").faithfulness
    assert rows[0]["many"][0] == trust.shares["step"][rows[0]["name"]].share
    assert f"{trust.sentences:,} dev sentences" in lab.text
    assert lab._mounted(".ranking")["chosen"] == rows[0]["name"] and len(lab.charts) == 1


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_curves_are_drawn_over_how_many_words_are_away(mode):
    grid, first, last = np.array([0, 1, 3]), np.array([0.0, -4, -5]), np.array([0.0, -1, -5])
    taken = ["nothing", "<b>", "<b>, b, c"]
    figure = curves_chart(grid, first, last, [first, last], (taken, taken), mode, 200)
    drawn = {trace.name: trace for trace in figure.data}
    assert list(drawn["the most important first"].y) == [0, -4, -5] and list(drawn["random mean"].y) == [0, -2.5, -5]
    assert "&lt;b&gt;" in drawn["the least important first"].hovertext[1]
    with pytest.raises(ValueError, match=r"3 points with lines of \[2, 3\]; expected"):
        curves_chart(grid, first[:2], last, [], (taken, taken), mode, 200)


def lecture(**link: str) -> Lab:
    return Lab(WHY, **({"step": "11", "why": "sum", "lecture": "on"} | link))


def test_the_largest_parts_add_up():
    shown, usual = lecture().sum, why().sum
    assert shown["total"] == usual["total"] and shown["rows"] == usual["rows"][: logit_sum.FEW] and usual["large"] is None
    assert sum(row["value"] for row in shown["rows"]) + shown["rest"][1] == pytest.approx(shown["total"], abs=2e-4)
    assert len(shown["rows"]) + shown["rest"][0] == shown["count"]
    large = shown["large"]
    assert large["asked"] == f"Why “{large['pair'][0]}”, and not “{large['pair'][1]}”?"
    assert large["before"].endswith("parce qu'") and large["p"][0] > large["p"][1]


@pytest.mark.parametrize("picture", ["1", "2", "3"])
def test_keys_walk_through_the_picture(picture):
    lab = lecture(large=picture)
    view = lab.pressed("n")
    keys = [row["key"] for row in lab.sum["rows"]]
    first = {"1": keys[0], "2": next(key for key in keys if key[0] == "head"), "3": ["source"]}[picture]
    shown = {"head": [view.piece, view.kind, view.layer + 1, view.head + 1], "ff": [view.piece, view.layer + 1]}
    assert shown.get(first[0], [view.piece]) == first
    place = {"layer": str(view.layer + 1), "head": str(view.head + 1)}
    link = {"large": picture, "piece": view.piece, "kind": view.kind} | place
    there = lecture(**link, key=str(0 if view.key is None else view.key + 1))
    assert there.sum["chosen"] is not None
    assert there.pressed("n") != view and there.pressed("p") != view


def test_the_readings_are_one_large_chart_or_all_in_rows():
    link = {"text": "She bought a red car.", "step": "6", "why": "readings"}
    one = lecture(**link)
    assert len(one.charts) == 1 and len(Lab(WHY, **link).charts) == 1
    table = lecture(**link, large="2")._mounted(".ranking")
    assert table["said"] and Lab(WHY, **link)._mounted(".ranking")["said"] == ""
    assert one.pressed("v").large == 1 and one.pressed("v").why == "route"
    assert one.pressed("n").reading not in ("", table["chosen"])
