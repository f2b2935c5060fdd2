"""The Decoding segment of Translate without a browser: strategies, branches, a typed translation, a batch, and guessing."""

import html

import numpy as np
import pytest

from model.decoding.strategy import Decoding
from model.inference.request import MAX_SENTENCES, Request
from model.io.numbers import three_digits
from tests.support.viz_helpers import TRANSLATE, WHAT_IF, Lab, numbers, unescaped
from viz import cache
from viz.state.values import SEPARATOR

SENTENCE = "Seven owls sat on the roof."


def lab(**link: str) -> Lab:
    return Lab(**({"text": SENTENCE, "show": "decoding"} | link))


def analysed(source: str = SENTENCE, **asked):
    return cache.analyse(Request(source, **asked), "auto")


def joined(*paths: tuple[int, ...]) -> str:
    return SEPARATOR.join("-".join(map(str, path)) for path in paths)


def tree(page: Lab) -> dict | None:
    return page._mounted("beam_tree")


def chosen_tokens(page: Lab) -> tuple[int, ...]:
    """Returns the tokens under the timeline, by their chosen candidates."""
    return tuple(row[1] for row in page._mounted("candidates")["chosen"])


def field(page: Lab, name: str, typed: str | None = None):
    """Returns the text of a field, after `typed` was typed into it, if given."""
    if typed is not None:
        page.app_test.text_input(key=name).set_value(typed)
        page.run()
    return page.app_test.text_input(key=name).value


def branches(page: Lab) -> list[str]:
    return [key for key in page.buttons if (key or "").startswith("branch ")]


@pytest.mark.parametrize(
    ("link", "decoding", "fields"),
    [
        ({}, Decoding(), []),
        ({"decode": "beam", "width": "3", "alpha": "0.5"}, Decoding("beam", width=3, alpha=0.5), ["width", "alpha"]),
        (
            {"decode": "sample", "temperature": "0.7", "top_k": "9", "top_p": "0.95", "seed": "5"},
            Decoding("sample", temperature=0.7, top_k=9, top_p=0.95, seed=5),
            ["top_k", "seed"],
        ),
    ],
)
def test_a_strategy_shows_controls_tree_and_text(link, decoding, fields):
    page, found = lab(**link), analysed(decoding=decoding)
    assert (page.faults, page.warnings, page.link) == ([], [], {"text": SENTENCE, "show": "decoding"} | link)
    assert chosen_tokens(page) == found.hypothesis.ids
    assert page.timeline["how"] == found.decoding_label
    assert len(tree(page)["nodes"]) == len(found.tree.nodes)
    assert len(tree(page)["ended"]) == len(found.tree)
    assert [tree(page)["nodes"][n]["s"] for n in tree(page)["path"]] == list(range(1, len(chosen_tokens(page)) + 1))
    assert (tree(page)["nodes"][0]["no"], page.charts) == (None, [])
    assert (tree(page)["nodes"][tree(page)["ended"][0]]["no"] is None) is (decoding.strategy != "beam")
    keys = [box.key for box in page.app_test.text_input if box.key.startswith("field ")]
    assert keys == [f"field {name}" for name in fields]
    assert [field(page, key) for key in keys] == [link[name] for name in fields]
    assert [slider.value for slider in page.app_test.slider] == [
        float(link[n]) for n in ("temperature", "top_p") if n in link
    ]


BAD = [  # strategy, control, what is typed, what the sentence calls it
    *(("beam", "width", typed, "beam's width") for typed in ("1000", "", "<b>9</b>")),
    *(("beam", "alpha", typed, "length penalty's alpha") for typed in ("nan", "x" * 500)),
    *(("sample", "top_k", typed, "top-k") for typed in ("1.5", "  ")),
    *(("sample", "seed", typed, "seed") for typed in ("1000000",)),
]
FIXED = {"width": "2", "alpha": "0,5", "top_k": "3", "seed": "8"}


@pytest.mark.parametrize(("strategy", "name", "typed", "called"), BAD, ids=lambda value: value[:12])
def test_a_refused_value_stays_in_its_field(strategy, name, typed, called):
    page = lab(decode=strategy)
    before, link, found = page.timeline, page.link, tree(page)
    assert field(page, f"field {name}", typed) == typed
    assert (page.timeline, page.link, tree(page), page.faults) == (before, link, found, [])
    (sentence,) = page.warnings
    told = f"“{typed.strip()[:40]}”" if typed.strip() else "empty"
    assert sentence.startswith(f"The {called} is {told}; expected a")
    assert sentence.endswith(".")
    assert [piece for piece in page.html if "<b>9</b>" in piece] == []
    assert (page.run().warnings, field(page, f"field {name}")) == ([sentence], typed)
    field(page, f"field {name}", FIXED[name])
    assert page.warnings == []
    changed = {key: value for key, value in page.link.items() if key != "step"}  # a new text may open at another step
    assert changed == link | {name: FIXED[name].replace(",", ".")}
    assert page.timeline["trace"] != before["trace"]


def forks() -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two beginnings that greedy decoding does not take: at the first step, and at the third."""
    ids = analysed().hypothesis.ids
    return tuple((*ids[:n], next(t for t in (300, 301) if t != ids[n])) for n in (0, 2))


def test_branches_of_a_link_are_shown_and_can_be_taken_back():
    (one, two), decode = forks(), "beam"
    original = chosen_tokens(lab(decode=decode))
    page = lab(decode=decode, branch=joined(one, two))
    assert branches(page) == [f"branch {one}", f"branch {two}"]
    assert all(unescaped(page.app_test.button(key=key).label).endswith("×") for key in branches(page))
    assert chosen_tokens(page)[: len(two)] == two
    assert page.timeline["how"].endswith(", branched off")
    page.click(f"branch {two}")
    assert (branches(page), chosen_tokens(page)[:1], page.link["branch"]) == ([f"branch {one}"], one, joined(one))
    page.click(f"branch {one}")
    assert (branches(page), chosen_tokens(page), "branch" in page.link) == ([], original, False)
    page = lab(decode=decode, branch=joined(one, two), path=joined(one)).click("unbranch")
    assert (branches(page), chosen_tokens(page), {"branch", "path"} & set(page.link)) == ([], original, set())


def test_a_missing_path_falls_back_to_the_best():
    asked = analysed(decoding=Decoding("beam"))
    second = asked.tree[1].ids
    page = lab(decode="beam", path=joined(second))
    assert (chosen_tokens(page), page.timeline["how"]) == (second, "beam of 4, number 2")
    assert [tree(page)["nodes"][n]["s"] for n in tree(page)["path"]][-1] == len(second)
    given_up = asked.tree.pruned[0].ids
    page = lab(decode="beam", path=joined(given_up))
    assert (chosen_tokens(page), len(page.warnings)) == (given_up, 1)
    assert "given up" in page.warnings[0]
    page = lab(decode="beam", path="300-301-302")
    assert (chosen_tokens(page), page.faults) == (asked.tree[0].ids, [])
    assert page.warnings == ["The chosen path is not in this tree. The best one is shown."]
    assert "path" not in page.link


@pytest.mark.parametrize(
    ("link", "at"), [({"branch": "30~30-320"}, TRANSLATE), ({"branch": "320", "path": "999999"}, WHAT_IF)]
)
def test_unknown_branch_tokens_are_one_warning(home, link, at):
    plain = Lab(at, text=SENTENCE, show="decoding", checkpoint=home.name)
    page = Lab(at, text=SENTENCE, show="decoding", checkpoint=home.name, **link)
    (sentence,) = [text for text in page.warnings if "token" in text and "link" in text]
    assert "up to 319." in sentence
    assert (page.faults, page.link, page.timeline) == ([], plain.link, plain.timeline)


TWO = ("The dog bites the man and runs away.", "Seven owls.")
OWN = "Sept chouettes étaient assises."


def test_a_typed_translation_is_scored():
    page = lab().pick("strategy", "yours")
    assert (page.link["decode"], page.timeline["how"], tree(page)) == ("yours", "greedy", None)
    own = analysed().trace.token_log_probs.sum()
    field(page, "target", OWN)
    assert (page.translation, page.timeline["how"], page.link["target"]) == (OWN, "given target", OWN)
    found = analysed(target=OWN).trace
    bits = -found.token_log_probs / np.log(2)
    (told,) = [text for text in page.sentences("lab-note") if text.startswith("Summed")]
    assert three_digits(found.token_log_probs.sum()) in told and f"translation has {three_digits(own)}" in told
    assert f"Surprise {three_digits(bits.mean())} bits a token; most at step {bits.argmax() + 1}, " in told
    assert len(page.charts) == 1
    np.testing.assert_allclose(numbers(page.charts[0]["data"][0]["y"]), bits, atol=1e-4)


def test_an_empty_translation_is_one_warning():
    page, typed = lab(decode="yours", target=OWN), "   "
    before, link = page.timeline, page.link
    assert field(page, "target", typed) == typed
    assert (page.timeline, page.link, page.faults) == (before, link, [])
    (sentence,) = page.warnings
    assert "empty" in sentence
    assert (field(page, "target", "Sept."), page.warnings, page.translation) == ("Sept.", [], "Sept.")


@pytest.mark.parametrize("way", [("beam",), ("sample", "greedy")], ids="-".join)
def test_a_typed_translation_comes_back(way):
    page = lab(decode="yours", target=OWN)
    for name in way:
        page.pick("strategy", name)
        assert ("target" in page.link, page.timeline["how"].split()[0]) == (False, {"sample": "sampled,"}.get(name, name))
    page.pick("strategy", "yours")
    assert (page.link["target"], page.translation, field(page, "target")) == (OWN, OWN, OWN)


def test_the_sentences_of_a_text_are_listed_and_one_is_chosen():
    page = lab(text=" ".join(TWO))
    both = analysed(TWO[0], other_sentences=TWO[1:])
    said = [both.translation, *both.other_translations]
    assert page.sentences("lab-pair(?: chosen)?") == [f"{text} → {out}" for text, out in zip(TWO, said, strict=True)]
    assert said == [analysed(text).translation for text in TWO]  # a batch changes nothing
    assert page.sentences("lab-pair chosen") == page.sentences("lab-pair(?: chosen)?")[:1]
    assert not any(token["pad"] for token in page.timeline["source"])
    assert any(text.endswith("none is longer than this one, so it has no padding.") for text in page.sentences("lab-note"))
    page.click("sentence 2")
    assert (page.link["sentence"], page.translation) == ("2", said[1])
    assert page.sentences("lab-pair chosen") == page.sentences("lab-pair(?: chosen)?")[1:]
    pads = sum(token["pad"] for token in page.timeline["source"])
    assert pads == len(analysed(TWO[0]).trace.source) - len(analysed(TWO[1]).trace.source) > 0
    told = f"2 sentences, decoded as one batch: {pads} pads fill this one up to the length of the longest."
    assert told in page.sentences("lab-note")


def test_too_many_sentences_have_a_way_out():
    page = Lab(WHAT_IF, text="Owl. " * (MAX_SENTENCES + 1))
    assert page.faults == [f"There are {MAX_SENTENCES + 1} sentences; expected at most {MAX_SENTENCES}."]
    (way,) = [button for button in page.app_test.button if button.label == "Read the text as one sentence"]
    way.click()
    assert (page.run().faults, page.link["split"]) == ([], "off")
    assert len(page.maps) >= 3
    assert Lab(WHAT_IF, text="Owl. " * MAX_SENTENCES).faults == []
    long = Lab(WHAT_IF, text="The cat sat. " * 60)  # joined it is too long
    assert long.faults and "Read the text as one sentence" not in [button.label for button in long.app_test.button]


@pytest.mark.parametrize("show", ["attention", "decoding"])
def test_guessing_hides_the_translation(show):
    page = lab(text=" ".join(TWO), show=show, guess="first")
    said = analysed(TWO[0], other_sentences=TWO[1:]).translation
    assert (page.maps, tree(page), page.timeline["guess"], page._mounted("candidates")["guess"]) == ([], None, True, True)
    assert not any(said in html.unescape(text) for text in page.html)
    assert page.sentences("lab-pair(?: chosen)?")[0] == f"{TWO[0]} → …"
    assert page.sentences("lab-pair(?: chosen)?")[1].startswith(TWO[1])
    assert "strategy" not in [group.key for group in page.app_test.button_group]
    page.click("stop_guessing")
    assert ("guess" in page.link, page.sentences("lab-pair(?: chosen)?")[0]) == (False, f"{TWO[0]} → {said}")
    assert (tree(page) is not None, len(page.maps)) == ((True, 0) if show == "decoding" else (False, 1))
