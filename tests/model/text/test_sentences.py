from __future__ import annotations

import pytest

from model.inference.request import RequestError
from model.text.sentences import split
from viz.view import View


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One sentence.", ["One sentence."]),
        ("without a full stop", ["without a full stop"]),
        ("The fox sleeps. The king sees it!  Does he?", ["The fox sleeps.", "The king sees it!", "Does he?"]),
        ("Wait... what?! Really?", ["Wait... what?!", "Really?"]),
        ('"Go." He went.', ['"Go."', "He went."]),
        ("He said: “No.” She left.", ["He said: “No.”", "She left."]),
        ("日本。東京。", ["日本。", "東京。"]),
    ],
)
def test_a_text_falls_into_its_sentences(text, expected):
    assert list(split(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith came. He left.", ["Dr. Smith came.", "He left."]),
        ("Mr. and Mrs. Fox met Prof. King. It rained.", ["Mr. and Mrs. Fox met Prof. King.", "It rained."]),
        ("Some birds, e.g. owls, see at night. Others sleep.", ["Some birds, e.g. owls, see at night.", "Others sleep."]),
        ("The U.S. policy changed. So what?", ["The U.S. policy changed.", "So what?"]),
        ("It costs 3.14 euros. Fine.", ["It costs 3.14 euros.", "Fine."]),
        ("No. 5 is here. Good.", ["No. 5 is here.", "Good."]),
    ],
)
def test_abbreviation_or_number_ends_no_sentence(text, expected):
    assert list(split(text)) == expected


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\n\n\n", "\n \t\n", "\u2028", "\x85"])
def test_a_line_break_always_ends_a_sentence(line_break):
    assert split(f"a title{line_break}and, in small letters, a line") == ("a title", "and, in small letters, a line")
    assert split(f"{line_break}Dr.{line_break}Smith{line_break}") == ("Dr.", "Smith")


@pytest.mark.parametrize("space", [" ", "  ", "\t", "\u00a0", "\u3000"])
def test_space_around_a_sentence_is_removed(space):
    assert split(f"{space}The{space}fox.{space}") == (f"The{space}fox.",)


def test_emoji_are_whole_and_end_no_sentence():
    assert split("🦉 Hello 👩\u200d🚀 you. 🦊! Bye 🦊.") == ("🦉 Hello 👩\u200d🚀 you.", "🦊!", "Bye 🦊.")


@pytest.mark.parametrize("whole", [True, False])
def test_half_a_character_is_refused_in_one_sentence(whole):
    with pytest.raises(RequestError, match=r"^The text has U\+D800 in it, which is no character"):
        View(source="The fox \ud800 sleeps.", split=not whole).request()


def test_text_over_the_limit_is_not_split():
    text = "”" * 1_000_000
    assert split(text) == View(source=text).sentences == (text,)
    with pytest.raises(RequestError, match=r"^The sentence has 1,000,000 characters; expected at most 20,000. Shorten it.$"):
        View(source=text).request()
