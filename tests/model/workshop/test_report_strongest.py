"""The command that ranks the sentences of a file by a number of one head."""

import json

import pytest

from model import Site, effect_of_head, load, measure_heads
from model.__main__ import main
from tests.support.command_line_helpers import fails

TEXTS = ("The dog sleeps.", "I like cats and dogs.", "She is tired.")


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("\n".join(TEXTS), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("by", ["end", "effect"])
def test_sentences_are_ranked_by_the_number_of_the_head(data, by, capsys):
    main(["report", "strongest", "--data", data, "--head", "cross.1.7", "--by", by, "--json"])
    found = json.loads(capsys.readouterr().out)
    lab = load("en-fr")
    measured = measure_heads(lab, TEXTS)
    site = Site("cross", 0)
    values = effect_of_head(lab, measured, site, 6) if by == "effect" else measured.of_head(site, 6, by)
    ranked = sorted(range(3), key=lambda n: values[n] if by == "effect" else -values[n])
    assert [row["line"] for row in found["strongest"]] == [n + 1 for n in ranked]
    assert [row["text"] for row in found["strongest"]] == [TEXTS[n] for n in ranked]
    assert [row["value"] for row in found["strongest"]] == pytest.approx([values[n] for n in ranked], rel=1e-3, abs=1e-4)


@pytest.mark.parametrize(
    ("head", "expected"),
    [("foo", "expected a head such as"), ("cross.1", "expected a head such as"), ("cross.9.7", "has no head cross 9.7")],
)
def test_a_head_that_does_not_exist_is_refused(data, head, expected, capsys):
    assert expected in fails(capsys, "report", "strongest", "--data", data, "--head", head)


def test_a_missing_head_and_a_misplaced_option_are_refused(data, capsys):
    assert "needs --head" in fails(capsys, "report", "strongest", "--data", data)
    assert "does not apply" in fails(capsys, "report", "heads", "--data", data, "--head", "cross.1.7")
