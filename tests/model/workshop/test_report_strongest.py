"""The command that ranks the sentences of a file by a number of one head."""

import argparse
import json

import pytest

from model import Site, effect_of_head, load, measure_heads
from model.__main__ import main
from model.readings.heads.head_roles import MEASURES
from model.workshop.commands.report_strongest import add_strongest
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


def test_blank_lines_are_skipped_but_counted_and_long_ones_named(data, capsys):
    with open(data, "w", encoding="utf-8") as file:
        file.write(f"\n{TEXTS[0]}\n\n \n{'dog ' * 200}\n{TEXTS[0]}\n{TEXTS[1]}\n")
    strongest = ("report", "strongest", "--data", data, "--head", "enc.1.1", "--by", "previous_peak")
    main([*strongest, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert {row["line"]: row["text"] for row in found["strongest"]} == {2: TEXTS[0], 7: TEXTS[1]}
    assert found["lines_left_out"] == [5]
    main(strongest)
    assert "1 line over the text limit of 128 tokens left out: 5\n" in capsys.readouterr().out


def test_the_command_offers_the_numbers_of_python(capsys):
    parser = argparse.ArgumentParser()
    add_strongest(parser)
    (by,) = (action for action in parser._actions if action.dest == "by")
    assert by.choices == [*MEASURES, "effect"]


def test_an_absent_file_is_told_the_names_of_text_files(data, capsys):
    assert "expected a readable .txt, .tsv" in fails(
        capsys, "report", "strongest", "--data", f"{data}x", "--head", "enc.1.1"
    )


@pytest.mark.parametrize(
    ("head", "expected"),
    [("foo", "expected a head such as"), ("cross.1", "expected a head such as"), ("cross.9.7", "has no head cross 9.7")],
)
def test_a_head_that_does_not_exist_is_refused(data, head, expected, capsys):
    assert expected in fails(capsys, "report", "strongest", "--data", data, "--head", head)


def test_a_missing_head_and_a_misplaced_option_are_refused(data, capsys):
    assert "needs --head" in fails(capsys, "report", "strongest", "--data", data)
    assert "does not apply" in fails(capsys, "report", "heads", "--data", data, "--head", "cross.1.7")
