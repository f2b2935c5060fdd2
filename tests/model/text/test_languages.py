"""Every text that depends on a language is read from its record."""

from __future__ import annotations

import dataclasses
import re

import pytest

from model.experiments.ready_questions import EXPERIMENTS
from model.text import languages
from model.text.languages import CODES, ENGLISH, FRENCH, LANGUAGES, PAIR, Language, code_of, record_of, watched_texts
from tests.support.viz_helpers import Lab
from viz.kit.controls import opening_text
from viz.kit.examples import examples, language_of, lesson
from viz.state.view import View


def test_every_record_has_a_code_and_its_files_are_there():
    for name, known in LANGUAGES.items():
        assert name == known.name in CODES and code_of(name) == known.code
        of_pairs = [path for paths in known.probes.values() for path in paths]
        for path in filter(None, (known.prompts, known.classifier_texts, *known.examples.values(), *of_pairs)):
            assert path.is_file(), path
        assert not known.experiments or set(known.experiments) == {each.name for each in EXPERIMENTS}
    assert set(PAIR) <= set(LANGUAGES)
    assert (ENGLISH.code, FRENCH.code, code_of("Japanese"), code_of("Klingon")) == ("en", "fr", "ja", "")


def test_languages_without_a_record_have_no_texts():
    assert record_of(None) is ENGLISH
    assert record_of("Klingon") == Language("Klingon")
    assert watched_texts("Klingon", "watched_prompts") == ENGLISH.watched_prompts != ()


def test_a_registered_language_brings_its_texts(monkeypatch, tmp_path, saved):
    path = tmp_path / "owls.txt"
    path.write_text("owls\tDie Eule schläft.\tnames a bird\tOwl\tThe owl sleeps.\n", encoding="utf-8")
    german = Language("German", first_sentence="Die Eule schläft.", examples={"English": path}, experiments={"peek": "Ja."})
    monkeypatch.setitem(languages.LANGUAGES, "German", german)
    examples.cache_clear()
    try:
        assert [each.sentence for each in examples("German", "English")] == ["Die Eule schläft."]
        assert (lesson("Die Eule schläft."), language_of("Die Eule schläft.")) == ("names a bird", "German")
        (peek,) = [each for each in EXPERIMENTS if each.name == "peek"]
        assert peek.sentence_in("German") == "Ja."
        monkeypatch.setattr("viz.kit.controls.cache.declared_languages", lambda name: ("German", "English"))
        assert opening_text(View()) == "Die Eule schläft."
        page = Lab(text="Die Eule schläft.")
        assert not page.faults and "example Die Eule schläft." in {button.key for button in page.app_test.button}
        other = dataclasses.replace(View(), source="Eine andere.")
        assert opening_text(other) == other.source
    finally:
        examples.cache_clear()


@pytest.mark.parametrize(
    "text", [ENGLISH.first_sentence, ENGLISH.repeated_token_example, ENGLISH.other_sentence, *ENGLISH.analogy[:1]]
)
def test_no_text_of_a_language_stands_elsewhere(text):
    from tests.test_imports import ALL

    homes = {name for name, path in ALL.items() if re.search(rf'"{re.escape(text)}"', path.read_text(encoding="utf-8"))}
    assert homes <= {"model.text.languages", "viz.lessons.lessons"}
