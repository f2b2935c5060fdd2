"""Pairs with other names and numbers on both sides."""

from __future__ import annotations

import random
import re

import pytest

from model.config import TrainConfig
from model.text.corpus import Corpus
from model.text.names import Names
from model.text.numbers import RANGES, Numbers
from model.text.rewritten import TOKEN, Rewritten, Slot
from model.training.epochs import Epochs
from tests.support import tiny

NAMED = [
    ("Yes, Mona told Carlotta.", "Oui, Mona l'a dit à Carlotta."),
    ("We think that Mona is late.", "Nous pensons que Mona est en retard."),
    ("This is Orlando's hat, says Mona.", "C'est le chapeau d'Orlando, dit Mona."),
    ("We saw Rimona and Lortano.", "Nous avons vu Rimona et Lortano."),
    ("So did Caramon, and Ortona too.", "Caramon aussi, et Ortona."),
]
UNNAMED = [
    ("The Mona sank.", "Le Mona a coulé."),  # its article is a man's
    ("We saw Mona and Mona.", "Nous avons vu Mona deux fois."),  # not equally often
    ("The sun rose.", "Le soleil se leva."),
    ("Mona-like.", "Comme Mona."),
]


def changes(pair: tuple[str, str], made: tuple[str, str], slots: list[Slot]) -> list[str]:
    """What stands in each slot now, the same on both sides; all else is as it was."""
    found = []
    for side, before, after in zip(("source", "target"), pair, made, strict=True):
        assert TOKEN.split(before) == TOKEN.split(after)
        now: dict[str, set[str]] = {}
        for one, two in zip(TOKEN.findall(before), TOKEN.findall(after), strict=True):
            now.setdefault(one, set()).add(two)
        found.append([now.pop(getattr(slot, side)) for slot in slots])
        assert all(two == {one} for one, two in now.items())
    assert found[0] == found[1] and all(len(new) == 1 for new in found[0])
    return [text for (text,) in found[0]]


@pytest.fixture(scope="module")
def names() -> Names:
    return Names(NAMED, 1)


def test_names_are_words_that_both_sides_share(names):
    assert names.known == {"Mona", "Carlotta", "Orlando", "Rimona", "Lortano", "Caramon", "Ortona"}
    assert all(names.pools.values())
    words = {word.lower() for pair in NAMED for text in pair for word in TOKEN.findall(text)}
    for name in names.pools["any"]:
        assert name.istitle() and name.lower() not in words


def test_names_change_equally_on_both_sides(names):
    allowed = Rewritten([*NAMED, *UNNAMED], names)
    assert [(s, t) for s, t, _ in allowed.allowed] == NAMED
    for source, target, slots in allowed.allowed:
        for made in Rewritten([(source, target)], names).drawn(20, random.Random(2)):
            new = changes((source, target), made, slots)
            assert not set(new) & names.known


@pytest.mark.parametrize(
    ("source", "target", "kinds"),
    [
        ("It took 365 days in 1879.", "Cela a pris 365 jours en 1879.", ["365", "1879"]),
        ("The bus came at 8:05.", "Le bus est venu à 8 h 05.", ["8", "05"]),
        ("The bus came at 8:45.", "Le bus est venu à 8h45.", ["8", "45"]),
        ("I have 1 cat and 25 dogs.", "J'ai 1 chat et 25 chiens.", ["25"]),
        ("The hall holds 12,000.", "La salle en contient 12 000.", ["12", "000"]),
        ("I have Three cats.", "J'ai trois chats.", [""]),
        ("She went to school at six.", "Elle est allée à l'école à six ans.", ["6"]),
        ("The bus came at nine.", "Le bus est venu à neuf heures.", ["9"]),
        ("The bus came at 3:30.", "Le bus est venu à 15 h 30.", []),
        ("The 20th came first.", "Le 20e arriva.", []),
        ("This is an 8.", "C'est 8.", []),
        ("I ate one or two.", "J'en ai mangé un ou deux.", []),
        ("We are two hundred.", "Nous sommes deux cents.", []),
        ("It has six-packs.", "Il y en a six.", []),
        ("Two and two are nine.", "Deux fois deux font du neuf, et neuf.", []),
    ],
)
def test_numbers_that_can_be_others_keep_their_shape(source, target, kinds):
    slots = Numbers().slots(source, target)
    assert [slot.kind for slot in slots] == kinds
    for made in Rewritten([(source, target)], Numbers()).drawn(30, random.Random(4)):
        for slot, number in zip(slots, changes((source, target), made, slots), strict=True):
            if slot.kind.startswith("0"):
                assert number[0] == "0" and len(number) == len(slot.kind)
            elif slot.kind:
                assert any(low <= int(slot.kind) <= high and low <= int(number) <= high for low, high in RANGES)
            else:
                assert int(number) > 1


def test_rewritten_pairs_follow_from_seed_and_epoch(tokenizer):
    pairs = [*NAMED, ("I have 25 cats.", "J'ai 25 chats."), *tiny.PAIRS[:20]]
    corpus = Corpus.encode(pairs, tokenizer, tokenizer)
    settings = {"renamed_share": 0.5, "renumbered_share": 0.25, "joined_share": 0.2}

    def texts(epoch: int, **changes) -> list[tuple[str, str]]:
        made = Epochs(corpus, pairs, tokenizer, tokenizer, TrainConfig(**(settings | changes)), pairs).usual(epoch)
        assert made.first == corpus.first
        return [tuple(tokenizer.decode(row[:-1]) for row in both) for both in zip(made.sources, made.targets, strict=True)]

    whole = texts(3)
    assert whole == texts(3) and whole != texts(4) and whole != texts(3, seed=2)
    assert whole[: len(pairs)] == pairs and len(whole) == len(pairs) + 5 + 13 + 6
    new = [re.findall("[0-9]+", source) for source, _ in whole[-6:]]
    assert all(24 <= int(number) <= 31 for (number,) in new) and len({number for (number,) in new}) > 1
    assert len(texts(3, typed_copies=1)) > len(whole)  # they too stand again as people type them
