from __future__ import annotations

import random

import pytest

from model.inference.request import RequestError
from model.text.sentences import split
from viz.view import View

PIECES = [
    *(
        "a",
        "B",
        "é",
        "e\u0301",
        "🦉",
        "👩\u200d🚀",
        "1",
        ".5",
        "Dr.",
        "U.S.",
        "<b>",
        "</s>",
        "<pad>",
        "http://a.b/c",
        "@",
        "[1]",
    ),
    *(
        ". ",
        "! ",
        "? ",
        "… ",
        ".",
        "?!",
        "。",
        " ",
        "\u00a0",
        "\u3000",
        "\t",
        "\r",
        "\n",
        "\x85",
        "\u2028",
        "\x00",
        "\u200b",
    ),
    *('"', "“", "”", "«", " »", "(", ")", "'", "-", "—"),
]


def bare(text: str) -> str:
    """A text without its white space."""
    return "".join(text.split())


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
def test_the_full_stop_of_an_abbreviation_or_a_number_ends_no_sentence(text, expected):
    assert list(split(text)) == expected


def test_the_abbreviations_are_those_of_the_language():
    text = "Am 3. Mai kam der Fuchs. Gut."
    assert split(text, "de") == ("Am 3. Mai kam der Fuchs.", "Gut.")
    assert split(text, "en") == ("Am 3.", "Mai kam der Fuchs.", "Gut.")


@pytest.mark.parametrize("language", ["", "xx", "en"])
def test_a_language_without_rules_is_split_all_the_same(language):
    assert split("The fox sleeps. The king sees it.", language) == ("The fox sleeps.", "The king sees it.")


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\n\n\n", "\n \t\n", "\u2028", "\x85"])
def test_a_line_break_always_ends_a_sentence(line_break):
    assert split(f"a title{line_break}and, in small letters, a line") == ("a title", "and, in small letters, a line")
    assert split(f"{line_break}Dr.{line_break}Smith{line_break}") == ("Dr.", "Smith")


@pytest.mark.parametrize("text", ["", " ", "\n", "\t \r\n \n", "\u00a0\u3000", "\x85\u2028"])
def test_where_there_is_nothing_there_is_no_sentence(text):
    assert split(text) == ()


@pytest.mark.parametrize("space", [" ", "  ", "\t", "\u00a0", "\u3000"])
def test_the_space_around_a_sentence_is_taken_off_and_the_space_within_stays(space):
    assert split(f"{space}The{space}fox.{space}") == (f"The{space}fox.",)


def test_emoji_are_whole_and_end_no_sentence():
    assert split("🦉 Hello 👩\u200d🚀 you. 🦊! Bye 🦊.") == ("🦉 Hello 👩\u200d🚀 you.", "🦊!", "Bye 🦊.")


@pytest.mark.parametrize(
    "text",
    ["<script>alert(1)</script> stays", "</s> <pad> <s>", "a &lt;b&gt; &amp; done", "**bold** [x](y) $z$", "{{ x }} %{x}"],
)
def test_markup_is_text_like_any_other(text):
    assert split(text) == (text,)
    assert split(f"{text}. Yes.") == (f"{text}.", "Yes.")


@pytest.mark.parametrize("language", ["en", "fr"])
def test_nothing_is_lost_and_nothing_is_added(language):
    draws, several = random.Random(0), 0
    for _ in range(500):
        text = "".join(draws.choices(PIECES, k=draws.randrange(30)))
        found = split(text, language)
        assert bare("".join(found)) == bare(text), repr(text)
        assert all(part and part == part.strip() for part in found), repr(text)
        assert not any(len(part.splitlines()) > 1 for part in found), repr(text)
        several += len(found) > 2
    assert several > 100


@pytest.mark.parametrize("text", ["a" * 6000, "a. " * 2000, '("' * 3000, "..." * 2000], ids=["one", "many", "open", "dots"])
def test_a_long_text_is_whole(text):
    assert bare("".join(split(text))) == bare(text)


def test_a_view_has_the_sentences_of_its_text_or_the_text_alone():
    text = "  Dr. Fox sleeps. The king\nsees it. "
    view = View(source=text, sentence=2)
    assert view.sentences == ("Dr. Fox sleeps.", "The king", "sees it.")
    assert view.request().source == "The king"
    assert view.request().other_sentences == ("Dr. Fox sleeps.", "sees it.")
    assert View(source=text, split=False).sentences == (text.strip(),)
    assert View(source=" \n").sentences == View(source=" \n", split=False).sentences == ()


@pytest.mark.parametrize("whole", [True, False])
def test_half_a_character_is_refused_in_one_sentence(whole):
    with pytest.raises(RequestError, match=r"^The text has U\+D800 in it, which is no character"):
        View(source="The fox \ud800 sleeps.", split=not whole).request()


def test_a_text_without_end_is_not_split_and_is_refused_in_one_sentence():
    """Splitting so many quotation marks would hold the interpreter for minutes."""
    text = "”" * 1_000_000
    assert split(text) == View(source=text).sentences == (text,)
    with pytest.raises(RequestError, match=r"^The sentence has 1,000,000 characters; expected at most 20,000. Shorten it.$"):
        View(source=text).request()
