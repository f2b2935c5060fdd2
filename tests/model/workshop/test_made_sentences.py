"""Sentences made by rule: agreement with the lexicon, no held-out words in training, refusals."""

from __future__ import annotations

import re
import shutil
from collections import Counter

import pytest

from model.io.folders import SHIPPED
from model.workshop.corpus.tatoeba_split import SplitLists, group_prefix
from model.workshop.evaluation.probes import read_probes
from model.workshop.made_sentences.__main__ import main, make_files
from model.workshop.made_sentences.french import Conjugation, elide
from model.workshop.made_sentences.generation import normalize
from model.workshop.made_sentences.lexicon import TEXTS, Lexicon, read_lexicon
from model.workshop.made_sentences.sentence_frames import read_frames

COUNT = 1500
TYPED = [source for path in SHIPPED.glob("typed*.txt") for _, source, _ in read_probes(path)]
PROBES = [source for path in SHIPPED.glob("probes*.txt") for _, source, _ in read_probes(path)]
WRITTEN = {  # sentences by file, and whether training may have them
    "chat.tsv": {"ok see you": True, "The small dog is afraid of the cat because it is so old.": False},
    "it-more.tsv": {
        "The car can't pass the lorry because it is too slow.": True,
        "The car can't pass the train because it is too slow.": False,
        "The cars can't pass the Boats because they are slow.": False,
    },
}


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, list[tuple[str, ...]]]:
    texts = shutil.copytree(TEXTS, tmp_path_factory.mktemp("made") / "texts")
    (texts / "students" / "typed.tsv").write_text("".join(f"{source}\tMot.\n" for source in TYPED), encoding="utf-8")
    (texts / "written" / "typed.tsv").write_text("".join(f"{source}\tMot.\n" for source in TYPED + PROBES), encoding="utf-8")
    for name, sentences in WRITTEN.items():
        (texts / "written" / name).write_text("".join(f"{source}\tMot.\n" for source in sentences), encoding="utf-8")
    return make_files(COUNT, 1, texts)


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    frames = [frame for frame in read_frames() if not frame.is_held_out]
    return read_lexicon(frame_words=set().union(*(frame.literal_words for frame in frames)))


def contrast(files: dict[str, list[tuple[str, ...]]]) -> list[dict[str, str]]:
    tables = [rows for name, rows in files.items() if name.startswith("contrast")]
    return [dict(zip(rows[0], row, strict=True)) for rows in tables for row in rows[1:]]


def english_genders(lexicon: Lexicon) -> dict[str, bool]:
    nouns = [noun for noun in lexicon.nouns if not noun.is_double]
    return {form: noun.is_feminine for noun in nouns for form in (noun.english, noun.english_plural)}


def test_pronouns_agree_with_the_right_noun(files, lexicon):
    genders = english_genders(lexicon)
    for row in contrast(files):
        right, wrong = (Counter(re.findall(r"\w+", row[key].lower())) for key in ("right", "wrong"))
        expected = {True: {"elle", "elles", "la"}, False: {"il", "ils", "le"}}[genders[row["noun"]]]
        if not (right - wrong).keys() & expected:  # after l' or les, only the participle agrees
            assert (len(row["right"]) > len(row["wrong"])) == genders[row["noun"]], row
        assert row["right"] != row["wrong"] and genders[row["noun"]] != genders[row["other"]]
        assert all(re.search(rf"\b{row[key]}\b", row["english"]) for key in ("noun", "other"))


def test_contrast_is_balanced_by_gender_and_place(files, lexicon):
    genders = english_genders(lexicon)
    for split in ("seen", "unseen_words", "unseen_frames"):
        rows = [row for row in contrast(files) if row["split"] == split]
        first = [row["english"].index(row["noun"]) < row["english"].index(row["other"]) for row in rows]
        assert len(rows) == 600 and 0.45 < sum(genders[row["noun"]] for row in rows) / 600 < 0.55
        assert 0.4 < sum(first) / 600 < 0.6


def test_articles_agree_with_the_lexicon(files, lexicon):
    genders = {noun.french: noun.is_feminine for noun in lexicon.nouns}
    wrong_gender = {noun.french for noun in lexicon.nouns if genders[noun.french] != noun.is_feminine}
    for _, target in files["train.tsv"]:
        for article, noun in re.findall(r"\b(le|la|un|une) ([\w-]+)\b", target.lower()):
            if noun in genders and noun not in wrong_gender:
                assert genders[noun] == (article in ("la", "une")), target
        assert not re.search(r"\b(de le|de les|à le|à les|si il|que il|que elle)\b", target.lower()), target


def test_training_lacks_words_and_frames_held_out(files, lexicon):
    free = lexicon.words(held_out=False)
    withheld = {word for word in lexicon.words(held_out=True) if word not in free and " " not in word}
    names = {each.name for each in lexicon.names}
    assert len(withheld) > 100 and {"animal", "street"} <= withheld
    for source, _ in files["train.tsv"]:
        assert not withheld & (set(re.findall(r"[\w-]+", source)) - names), source
    assert not any("is afraid of the" in source for source, _ in files["train.tsv"])


def test_training_lacks_measured_sentences_and_repetitions(files):
    measured = {normalize(row["english"]) for row in contrast(files)}
    measured |= {normalize(source) for source in TYPED}
    for name in ("train.tsv", "students.tsv", "written.tsv"):
        assert not measured & {normalize(source) for source, _ in files[name]}
        assert len({source for source, _ in files[name]}) == len(files[name])
    assert len(files["train.tsv"]) == COUNT and len(files["students.tsv"]) > 5000 and len(TYPED) == 144


def test_written_pairs_lack_what_measures_a_model(files):
    written, lists = {source for source, _ in files["written.tsv"]}, SplitLists.load().groups
    assert not {normalize(source) for source in PROBES} & {normalize(source) for source in written}
    assert not {group_prefix(source) for source in written} & {int(n) for name in ("dev", "test") for n in lists[name]}
    assert {name: {source: source in written for source in own} for name, own in WRITTEN.items()} == WRITTEN
    assert len(written) > 35_000 and all(source and target for source, target in files["written.tsv"])


@pytest.mark.parametrize(
    ("file", "line", "fault"),
    [
        ("nouns-living.tsv", "yak\tyak\t\tland", "the gender is ''; expected m or f"),
        ("nouns-living.tsv", "yak\tyak\tm\tbovine", "the class 'bovine' is unknown"),
        ("verbs.tsv", "yell\tcri\tperson", "'cri' is no infinitive"),
        ("students/chat.tsv", "no translation", "expected English TAB French"),
        ("written/chat.tsv", "no translation", "expected English TAB French"),
    ],
)
def test_bad_row_is_refused_with_file_and_line(tmp_path, monkeypatch, capsys, file, line, fault):
    texts = tmp_path / "texts"
    shutil.copytree(TEXTS, texts)
    rows = (texts / file).read_text(encoding="utf-8").splitlines()
    (texts / file).write_text("\n".join([*rows, line]) + "\n", encoding="utf-8")
    monkeypatch.setattr("model.workshop.made_sentences.__main__.CONTRAST_ROWS", 2)
    assert main(["--out", str(tmp_path / "out"), "--count", "4", "--texts", str(texts)]) == 2
    error = capsys.readouterr().err
    assert f"{texts / file}, line {len(rows) + 1}: " in error and fault in error and error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_french_forms_that_rules_get_wrong_easily():
    verbs = Conjugation({})
    assert [verbs.form("manger", "nous", tense) for tense in ("pres", "imp", "fut")] == ["mangeons", "mangions", "mangerons"]
    assert [verbs.form("acheter", "je", tense) for tense in ("pres", "fut", "subj")] == ["achète", "achèterai", "achète"]
    assert verbs.form("nettoyer", "ils") == "nettoient" and verbs.form("fermer", "tu", "impv") == "ferme"
    assert elide("Je ai peur de le animal et de la *haie") == "J'ai peur de l'animal et de la haie"
