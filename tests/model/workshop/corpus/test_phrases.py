"""Links between the words of pairs, and the phrases that they leave."""

import re

import pytest

from model.config import TrainConfig
from model.workshop.corpus import phrases
from model.workshop.corpus.corpus import Corpus, DataError
from model.workshop.corpus.phrases import SOURCE_WORD, TARGET_WORD, Phrases, _consistent_spans
from model.workshop.tasks.translation import TranslationEpochs

NOUNS = {"cat": "chat", "dog": "chien", "bird": "coq", "wolf": "loup", "horse": "cheval", "bear": "ours"}
VERBS = {"sleeps": "dort", "eats": "mange", "runs": "court", "sings": "chante", "waits": "attend"}
PAIRS = [
    *((f"The {one} {verb}.", f"Le {two} {done}.") for one, two in NOUNS.items() for verb, done in VERBS.items()),
    *(
        (f"The {one} never {verb}.", f"Le {two} ne {done} jamais.")
        for one, two in NOUNS.items()
        for verb, done in VERBS.items()
    ),
    *((f"The {one} not {verb}.", f"Le {two} ne {done} pas.") for one, two in NOUNS.items() for verb, done in VERBS.items()),
    *((f"A {one} saw Tom.", f"Un {two} vit Tom.") for one, two in NOUNS.items()),
    *((f"I have a black {one}.", f"J'ai un {two} noir.") for one, two in NOUNS.items()),
    *((f"I have a {one}.", f"J'ai un {two}.") for one, two in NOUNS.items()),
]


@pytest.fixture(autouse=True)
def few_frequent_words(monkeypatch):
    monkeypatch.setattr(phrases, "FREQUENT", 2)  # all words of so small a corpus are frequent


def words(text: str, pattern: re.Pattern[str]) -> list[str]:
    return pattern.findall(text.lower())


def test_phrases_are_what_each_side_mostly_is_translated_by():
    found = {phrase.source: phrase.target for phrase in Phrases(PAIRS).phrases}
    assert {"cat": "chat", "sleeps": "dort", "the cat": "le chat"}.items() <= found.items()
    assert "black cat" not in found  # it stands in one source only
    assert "tom" not in found  # a name keeps its capital
    assert "." not in found and not any("." in phrase for phrase in found)
    assert found["black"] == "noir"


def test_phrase_with_an_unlinked_neighbour_is_not_tight():
    one, two = list(SOURCE_WORD.finditer("It is not a cat.")), list(TARGET_WORD.finditer("Ce n'est pas un chat."))
    linked = [(0, 0), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]
    found = {(s.start, s.stop, t.start, t.stop): tight for s, t, tight in _consistent_spans(one, two, linked)}
    assert found[1, 4, 2, 5] is False  # *is not a*, *est pas un*: *n'* is missing
    assert found[3, 5, 4, 6] is True  # *a cat*, *un chat*
    assert found[0, 2, 0, 3] is True  # *It is*, *Ce n'est*: what is between belongs to it
    assert (4, 6, 5, 7) not in found  # a sign


def test_an_epoch_has_other_phrases_than_the_one_before(tokenizer):
    corpus, config = Corpus.encode(PAIRS, tokenizer, tokenizer), TrainConfig(phrase_share=0.5)
    epochs = TranslationEpochs(corpus, PAIRS, tokenizer, tokenizer, config, PAIRS)
    one, two = (epochs.plain_corpus(epoch).sources[len(PAIRS) :] for epoch in (0, 1))
    assert len(one) == len(two) == len(PAIRS) // 2 and one != two and one == epochs.plain_corpus(0).sources[len(PAIRS) :]
    with pytest.raises(DataError, match="--phrase-share: no phrase has the same translation often enough"):
        TranslationEpochs(corpus, PAIRS, tokenizer, tokenizer, config, PAIRS[:2])
