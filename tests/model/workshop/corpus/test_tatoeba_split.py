"""The splits are made again from the publisher's zip: by group of English sentences, with the same bytes, or not at all."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from model.__main__ import main
from model.workshop.corpus import tatoeba_split
from model.workshop.corpus.corpus import read_pairs
from model.workshop.corpus.tatoeba_split import SPLITS, SplitLists, group_of, group_prefix, read_publisher_zip, split_zip
from tests.support.command_line_helpers import fails

KNOWN = {
    "train": [
        ("Hello, lamp!", "Salut, lampe !"),
        ("The king's café.", "C'est le café du roi."),
        ("The king's café.", "C’est le café du roi."),
    ],
    "dev": [("Is it a well-known dog?", "Est-ce un chien connu ?")],
    "test": [("PAINT IT.", "Peins-le !"), ("Paint it!", "Peins-le !")],
}
LINES = [  # in the order of the publisher, with spaces of other kinds, attributions and a sentence in no list
    "Paint it!\tPeins-le\u202f!\tCC-BY 2.0 (France) Attribution: made up",
    "PAINT IT.\tPeins-le\xa0!",
    "Hello,  lamp!\tSalut, lampe\u2009!\tCC-BY",
    "Nobody paints this lamp.\tPersonne.",
    "The king's cafe\u0301.\tC’est le cafe\u0301 du roi.",
    "The king's café.\tC'est le café du roi.",
    "The king's café.\tC'est le café  du roi.",
    "Is it a well-known dog?\tEst-ce un chien connu ?",
]
LISTS = SplitLists.of(KNOWN)


def publisher_zip(folder: Path, lines: list[str] = LINES, name: str = "fra.txt") -> Path:
    path = folder / "fra-eng.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("_about.txt", "No pair.\n")
        packed.writestr("other.txt", "Not\tthis.\n")
        packed.writestr(name, "".join(f"{line}\n" for line in lines))
    return path


@pytest.fixture
def path(tmp_path) -> Path:
    return publisher_zip(tmp_path)


@pytest.fixture
def lists(monkeypatch) -> SplitLists:
    monkeypatch.setattr(SplitLists, "load", lambda: LISTS)
    return LISTS


def test_groups_ignore_case_punctuation_and_spaces():
    assert group_of("“It’s\u202fa CAFE\u0301…”") == group_of("its a café") == "its a café"
    assert group_of("Some day.") != group_of("Someday.")
    assert 0 <= group_prefix("Paint it!") == group_prefix("paint it") < 2**40


def test_known_rows_are_written_and_others_dropped(path, tmp_path):
    results = split_zip(path, tmp_path / "data", LISTS)
    assert {name: (rows, equal) for name, (_, rows, equal) in results.items()} == {
        "train": (3, True),
        "dev": (1, True),
        "test": (2, True),
    }
    for name in SPLITS:
        assert read_pairs(tmp_path / "data" / f"{name}.tsv.gz") == KNOWN[name]


def test_bytes_do_not_depend_on_order_or_time(path, tmp_path):
    split_zip(path, tmp_path / "one", LISTS)
    (tmp_path / "later").mkdir()
    split_zip(publisher_zip(tmp_path / "later", LINES[::-1], "fra-eng/fra.txt"), tmp_path / "two", LISTS)
    for name in SPLITS:
        content = (tmp_path / "one" / f"{name}.tsv.gz").read_bytes()
        assert content == (tmp_path / "two" / f"{name}.tsv.gz").read_bytes()
        assert content[4:8] == bytes(4)


def test_changed_rows_are_reported(tmp_path, lists, capsys):
    path = publisher_zip(tmp_path, [*LINES, "PAINT IT!\tPeignez-le !"])
    assert main(["split", str(path), "--out", str(tmp_path / "data")]) == 0
    train, _, test = capsys.readouterr().out.splitlines()
    assert train == f"{tmp_path / 'data' / 'train.tsv.gz'}: 3 rows, the rows of the model cards"
    assert test.endswith("test.tsv.gz: 3 rows, not the rows of the model cards: scores will differ")


def test_lists_are_saved_without_sentences(tmp_path):
    LISTS.save(tmp_path / "lists.npz")
    again = SplitLists.load(tmp_path / "lists.npz")
    assert again.digests == LISTS.digests
    assert all(np.array_equal(again.groups[name], LISTS.groups[name]) for name in SPLITS)
    with np.load(tmp_path / "lists.npz") as arrays:
        assert {each.dtype.kind for each in arrays.values()} == {"u"}


def test_group_in_two_splits_is_refused():
    with pytest.raises(ValueError, match="1 groups are in two splits"):
        SplitLists.of(KNOWN | {"dev": [("paint it", "Peins-le !")]})


def test_shipped_lists_share_no_prefix():
    shipped = SplitLists.load()
    sizes = {name: len(groups) for name, groups in shipped.groups.items()}
    assert sizes == {"train": 110_690, "dev": 2000, "test": 2000}
    assert len(np.unique(np.concatenate(list(shipped.groups.values())))) == sum(sizes.values())
    assert all(int(groups.max()) < 2 ** (8 * tatoeba_split.PREFIX_BYTES) for groups in shipped.groups.values())


def refusal(capsys, path: Path) -> str:
    """Returns the line of a refused command, which leaves no file."""
    out = path.parent / "data"
    message = fails(capsys, "split", str(path), "--out", str(out))
    assert not out.exists()
    return message


def test_other_files_are_refused(tmp_path, lists, capsys):
    path = tmp_path / "fra-eng.zip"
    assert "No such file" in refusal(capsys, path)
    path.write_text("Paint it!\tPeins-le !\n", encoding="utf-8")
    assert f"{path} is not a zip" in refusal(capsys, path)
    publisher_zip(tmp_path, name="deu.txt")
    assert "has no fra.txt. Download fra-eng.zip, the publisher's file of 2019-04-07" in refusal(capsys, path)
    publisher_zip(tmp_path, LINES[:4])
    assert f"{path} is not the publisher's file of 2019-04-07: it has 2 of 4 known groups" in refusal(capsys, path)
    publisher_zip(tmp_path, [*LINES, "no tab"])
    assert "line 9: no tab" in refusal(capsys, path)


def test_zip_bomb_is_refused(tmp_path, lists, capsys, monkeypatch):
    path = publisher_zip(tmp_path, ["a\t" + "b" * 2_000_000])
    assert "unpacks too much: fra.txt has" in refusal(capsys, path)
    monkeypatch.setattr(tatoeba_split, "MAX_TEXT", 100)
    assert "has a fra.txt of" in refusal(capsys, publisher_zip(tmp_path))


def test_existing_files_are_not_replaced(path, tmp_path, lists, capsys):
    out = tmp_path / "data"
    out.mkdir()
    (out / "test.tsv.gz").write_bytes(b"mine")
    assert "test.tsv.gz is there already" in fails(capsys, "split", str(path), "--out", str(out))
    assert [(file.name, file.read_bytes()) for file in out.iterdir()] == [("test.tsv.gz", b"mine")]
    assert "there is no folder" in fails(capsys, "split", str(path), "--out", str(tmp_path / "no" / "data"))


def test_failed_write_leaves_no_file(path, tmp_path, monkeypatch):
    write = tatoeba_split.write_new

    def write_until_test(file: Path, content: bytes) -> None:
        if file.name.startswith("test"):
            raise OSError("No space left on device")
        write(file, content)

    monkeypatch.setattr(tatoeba_split, "write_new", write_until_test)
    with pytest.raises(OSError, match="No space"):
        split_zip(path, tmp_path / "data", LISTS)
    assert list((tmp_path / "data").iterdir()) == []


def test_text_is_read_from_its_entry_only(path):
    assert len(read_publisher_zip(path)) == len(LINES)
