"""The page Why: a choice taken apart, with its sum, and a head that is tested."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from model.experiments import faithfulness
from model.experiments.faithfulness import NEAR, Curves
from model.readings.word_readings import READINGS, Words
from model.text.trust import Share, Trust
from tests.support.viz_helpers import WHY, Lab, value
from viz import cache
from viz.why import rivals, texts, trust_texts
from viz.why.curves_figure import curves_chart


def why(**link: str) -> Lab:
    return Lab(WHY, **({"step": "11"} | link))


def data(lab: Lab) -> dict:
    return lab.sum


def test_the_parts_that_stand_there_add_up_to_the_difference_that_is_told():
    lab = why()
    shown = data(lab)
    assert sum(row["value"] for row in shown["rows"]) + shown["rest"][1] == pytest.approx(shown["total"], abs=2e-4)
    assert abs(value(shown["remainder"])) < 1e-4
    told = lab.sentences("lab-why")[0]
    assert f"{shown['total']:+.3f}" in told
    first, second = map(float, re.findall(r"0\.\d+", told)[:2])
    assert np.log(first / second) == pytest.approx(shown["total"], abs=0.01)
    heads = sum(np.sum(grid["values"]) for grid in shown["grids"])
    ways = sum(np.sum(sentence["values"]) for sentence in shown["tokens"])
    assert heads == pytest.approx(ways, abs=1e-3)


def test_the_rival_is_the_likeliest_other_token_unless_another_is_chosen_and_goes_with_its_step():
    lab = why()
    options = lab.at.selectbox(key="rival").options
    assert len(options) == 12 and lab.at.selectbox(key="rival").value not in (None, "")
    lab.at.selectbox(key="rival").select_index(3)
    other = lab.run().link["rival"]
    assert data(lab)["total"] > data(why())["total"]
    assert Lab(WHY, **lab.link).link["rival"] == other
    lab.at.select_slider(key="what if step").set_value(5)
    assert "rival" not in lab.run().link


def test_a_rival_that_is_none_is_told_and_the_likeliest_other_one_shown():
    plain = why()
    own = cache.analyse(plain.at.session_state["view"].request(), "auto").trace.outputs.ids[10]
    for rival, told in ((own, "is the token itself"), (999_999, "tokens up to 7999")):
        lab = why(rival=str(rival))
        assert data(lab)["total"] == data(plain)["total"]
        assert [told in sentence for sentence in lab.warnings] == [True]


def test_a_head_is_tested_by_switching_it_off():
    lab = why(kind="decoder", layer="4", head="1")
    told = next(text for text in lab.sentences("lab-note") if text.startswith("Decoder self-attention, layer 4, head 1"))
    wrote, way, without, change, after = (float(n.replace("−", "-")) for n in re.findall(r"[+−]\d+\.\d+", told))
    assert without == -wrote and abs(way) <= abs(wrote) + 1
    request = cache.page_data(lab.at.session_state["view"]).request
    assert request.mode == "given"
    assert after == pytest.approx(data(lab)["total"] + change, abs=2e-3)
    lab.click("why off")
    assert lab.link["edits"] == "off_dec.4.1"


@pytest.mark.parametrize(
    ("piece", "named", "edit"),
    [
        ("ff", "Feed-forward, layer 4 wrote", "skip_dec.4.ff"),
        ("position", "Its position wrote", "target-positions_off"),
        ("token", "Embedding of “qu'” wrote", None),
    ],
)
def test_any_other_part_is_told_and_tested_where_it_can_be_taken_away(piece, named, edit):
    lab = why(piece=piece, layer="4")
    told = next(text for text in lab.sentences("lab-note") if text.startswith(named))
    assert data(lab)["chosen"][0] == piece
    wrote, *rest = (float(n.replace("−", "-")) for n in re.findall(r"[+−]\d+\.\d+", told))
    if edit is None:
        assert not rest and not [button for button in lab.at.button if button.key == "why off"]
        return
    without, change, after = rest
    assert without == -wrote and after == pytest.approx(data(lab)["total"] + change, abs=2e-3)
    lab.click("why off")
    assert lab.link["edits"] == edit


@pytest.mark.parametrize(
    ("piece", "number", "edits"), [("source", 9, "block_cross_all-9~block_enc_all-9"), ("target", 2, "block_dec_all-2")]
)
def test_what_came_by_way_of_a_token_is_told_and_tested_by_hiding_it(piece, number, edits):
    lab = why(piece=piece, key=str(number))
    sentence = next(each for each in data(lab)["tokens"] if each["piece"] == piece)
    told = next(text for text in lab.sentences("lab-note") if text.startswith("By way of"))
    assert f"“{sentence['labels'][number - 1]}”" in told and data(lab)["chosen"] == [piece, number]
    wrote, change, after = (float(n.replace("−", "-")) for n in re.findall(r"[+−]\d+\.\d+", told))
    assert wrote == pytest.approx(sentence["values"][number - 1], abs=6e-4)
    assert after == pytest.approx(data(lab)["total"] + change, abs=2e-3)
    assert ("the test also changes what the sum holds" in told) == (wrote * change > 0)
    lab.click("why hide")
    assert lab.link["edits"] == edits


def test_tokens_that_were_not_written_yet_are_left_out_of_the_target():
    assert [len(each["labels"]) for each in data(why(step="4"))["tokens"]] == [14, 4]


def test_a_typed_rival_is_the_token_that_would_follow_and_what_is_none_is_told():
    lab = why()
    page_data = cache.page_data(lab.at.session_state["view"])
    tokenizer, ids = page_data.loaded.target_tokenizer, page_data.analysis.trace.outputs.ids
    read = rivals.reading(tokenizer, ids[:10], ids[10])
    assert (
        tokenizer.piece(read(" elle ")) == "·elle" and read(7) == 7
    )  # as it follows “qu'”, not as a word that begins a text
    for typed, told in (
        ("zzqxplonk", "is 6 tokens"),
        ("il", "is the token that was chosen"),
        ("", "is empty"),
        ("x" * 200, "200 characters"),
    ):
        with pytest.raises(ValueError, match=told):
            read(typed)


def test_what_is_off_is_not_tested_again():
    lab = why(kind="decoder", layer="4", head="1", edits="off_dec.4.1")
    told = next(text for text in lab.sentences("lab-note") if text.startswith("Decoder self-attention, layer 4, head 1"))
    assert "wrote +0.000" in told and "switched off" not in told


@pytest.mark.parametrize(
    "link",
    [
        {"checkpoint": "en-fr-peek"},
        {"checkpoint": "en-fr-learned", "head": "1"},
        {"causal": "off", "mode": "again"},
        {"rival": "999999"},
        {"text": "I love you. She sleeps.", "step": "1"},
        {"decode": "beam", "head": "mean"},
        {"text": ""},
    ],
    ids=str,
)
def test_every_view_is_drawn(link):
    lab = why(**link)
    if link.get("text") == "":
        assert lab.faults
    else:
        assert abs(value(data(lab)["remainder"])) < 1e-4


def test_the_readings_stand_in_the_order_of_their_areas_and_the_verdict_names_them():
    lab = Lab(WHY, text="She bought a red car.", step="6", why="readings")
    rows, told = lab._mounted("ranking")["rows"], lab.sentences("lab-verdict")[0]
    shares = [row["share"] for row in rows]
    assert shares == sorted(shares, reverse=True) and {row["name"] for row in rows} == set(READINGS)
    near = [share for share in shares[1:] if shares[0] - share < NEAR]
    assert told.startswith("No reading is clearly ahead here" if near else READINGS[rows[0]["name"]].label)
    assert all(max(abs(value) for _, value, _ in row["words"]) == pytest.approx(1, abs=1e-3) for row in rows)
    trust = cache.checkpoint("en-fr", "auto").trust
    assert rows[0]["many"][0] == trust.shares["step"][rows[0]["name"]].share
    assert f"{trust.sentences:,} dev sentences" in " ".join(lab.sentences("lab-note"))
    assert lab._mounted("ranking")["chosen"] == rows[0]["name"] and len(lab.charts) == 1


@pytest.mark.parametrize(
    ("link", "told"),
    [
        ({"text": "Hello"}, "there is nothing to rank"),
        ({"text": "She bought a red car.", "padmask": "off"}, "The padding mask is off"),
    ],
)
def test_where_nothing_can_be_tested_one_sentence_says_so(link, told):
    lab = Lab(WHY, why="readings", **link)
    assert [told in fault for fault in lab.faults] == [True]


@pytest.mark.parametrize(
    ("first", "last", "random", "said"),
    [
        ([0, -6, -6, -6], [0, 0, 0, -6], 1, "Weights, all layers ranks the words best here"),
        ([0, -6, -6, -6], [0, 0, 0, -6], 4, "No reading does clearly better than chance here"),
        ([0, -0.2, -0.3, -0.4], [0, 0, 0, -0.4], 1, "No reading can be told from another here"),
    ],
)
def test_the_verdict_is_made_from_the_numbers(first, last, random, said):
    """Of one reading that is right and one that is wrong, beside random orders of which the wrong one's reverse is one."""
    grid, words = np.arange(4), Words(("a", "b", "c"), ((0,), (1,), (2,)))
    right, wrong = (Curves(np.array(a), np.array(b)) for a, b in ((first, last), (last, first)))
    flat = Curves(np.array(first), np.array(first))
    chance = (*[wrong] * random, *[flat] * (20 - random)) if random > 1 else (flat,) * 10
    found = faithfulness.Tested(words, grid, {}, {"weights": right, "sum": wrong}, chance)
    told = trust_texts.verdict(found, "“a”")
    assert f'role="status">{said}<' in told
    if found.is_told:
        assert f"{found.shares['weights']:.2f}" in told


def test_what_is_said_of_many_sentences_follows_their_intervals():
    leader, level, behind = (
        Share(0.7, 0.6, 0.8, 0, 0, 0),
        Share(0.68, 0.6, 0.75, 0.02, -0.01, 0.05),
        Share(0.0, -0.1, 0.1, 0.7, 0.6, 0.8),
    )
    ahead = Share(0.9, 0.8, 1.0, -0.2, -0.3, -0.1)
    shares = {"weights": leader, "last": level, "gradient": behind, "occlusion": ahead, "random": behind}
    both = dict.fromkeys(("step", "whole"), shares)
    trust = Trust(100, 1000, 5, 2000, 1, "", {"step": 9.0, "whole": 0.2}, {"step": "weights", "whole": "weights"}, both)
    told = trust_texts.dev_verdict(trust, "step", "en-fr")
    assert "Over 100 dev sentences (1,000 tokens) Weights, all layers (0.70) ranks the words best" in told
    assert "Weights, last layer (0.68) may be just as good" in told
    assert "Occlusion (0.90) is ahead of it" in told and "Gradient × input (0.00) is no better than random" in told
    assert "are worth 0.20 nats, on average" in trust_texts.dev_verdict(trust, "whole", "en-fr")
    lost = dataclasses.replace(trust, shares={"step": shares | {"weights": behind}})
    assert (
        "no reading that takes no word away itself does better than random orders, not even Weights, all layers (0.00)"
        in (trust_texts.dev_verdict(lost, "step", "en-fr"))
    )
    assert "has not been measured" in trust_texts.dev_verdict(None, "step", "mine")


@pytest.mark.parametrize(
    ("difference", "told"),
    [(0.0, "“il” and “elle” are all but equally"), (-2.3, "“elle” is 10.0 times"), (5.0, "“il” is 148 times")],
)
def test_a_difference_is_odds(difference, told):
    assert texts._times(difference, ("·il", "·elle")).startswith(told)


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
