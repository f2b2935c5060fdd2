"""Measures of a translator: inputs, address, probes and their tables. Also count baselines for blanks, pairs and labels."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import torch

from model import checkpoint as checkpoints
from model.__main__ import main
from model.config import END, START
from model.decoding.hypotheses import Hypothesis
from model.network.context import teacher_forced_states
from model.text.tokenizer import Tokenizer
from model.workshop.evaluation import measures, probes, scoring, translation_card
from model.workshop.evaluation.measures import InputSelection
from model.workshop.evaluation.neighbour_baseline import (
    BlankVocabulary,
    NeighbourBaseline,
    NeighbourCounts,
    sample_blanks,
    score,
)
from tests.support import tiny

PAIRS = [(f"{n} {'word ' * (n % 7)}end.", f"{n} {how} fin.") for n in range(23) for how in ("une", "deux")]


@pytest.mark.parametrize("join", [(3, 5), (4, 4)])
def test_joined_texts_use_each_sentence_once(join):
    found = InputSelection(join=join, seed=1).select(PAIRS)
    first, sizes = dict(reversed(PAIRS)), []
    for source, references in found:
        parts = [part + "." for part in source.replace(". ", ".|").rstrip(".").split(".|")]
        assert references == [" ".join(first[part] for part in parts)]
        sizes.append(len(parts))
    words = [word for source, _ in found for word in source.split() if word.isdigit()]
    assert len(words) == len(set(words)) == sum(sizes) > 23 - join[0]  # at most what is too little for one more is left over
    assert join[0] <= min(sizes) and max(sizes) <= join[1]
    assert found == InputSelection(join=join, seed=1).select(PAIRS) != InputSelection(join=join, seed=2).select(PAIRS)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Tu viens ?", {"tu"}),
        ("Je t’aime.", {"tu"}),
        ("Donne-moi ton livre, s'il vous plaît.", {"tu", "vous"}),
        ("VOTRE père est là.", {"vous"}),
        ("Parlez-vous français ?", {"vous"}),
        ("Le tuteur a voulu toitures, vosges et étonné.", set()),
        ("Y a-t-il du thé ?", set()),
        ("Tiens, il pleut.", set()),
        ("J'ai un rendez-vous. Garde-à-vous !", set()),
        ("C’est vous-même qui avez pris rendez-vous.", {"vous"}),
    ],
)
def test_words_of_address_are_found_as_words(text, found):
    assert measures.forms_of_address(text) == found


RIGHT = [
    ("Where are you?", "Où es-tu ?", "Où es-tu\u202f?"),
    ("Where are you?", "Où es-tu ?", "Où es-tu?"),
    ("I love my sister.", "J'aime ma sœur.", "J’aime ma soeur."),
    ('He said "yes".', "Il a dit « oui ».", 'Il a dit "oui".'),
    ("I am tired", "Je suis fatigué", "Je suis fatigué."),
    ("i am in paris", "Je suis à Paris", "je suis à paris."),
    ("War And Peace", "Guerre et paix", "Guerre et Paix"),
    ("He said 'yes'.", "Il a dit « oui ».", "Il a dit ‘oui’."),
    ("He said 'yes'.", "Il a dit « c'est l'heure ».", "Il a dit ‹ c’est l’heure ›."),
    ("Well...", "Eh bien...", "Eh bien…"),
    ("Well… no", "Eh bien… non", "Eh bien... non."),
    ("Is she coming?", "Vient-elle ?", "Vient\u2011elle\u00a0?"),
    ("It costs 25 euros.", "Il coûte 25 €.", "Il coûte 25€."),
    ("See you tomorrow!", "À demain !", "A demain !"),
    ("see you tomorrow", "À demain", "à demain."),
    ("see you tomorrow", "À demain", "A demain"),
    ('He said "I am tired"', 'Il a dit "je suis fatigué"', 'Il a dit "je suis fatigué".'),
]
WRONG = [
    ("I am tired.", "Je suis fatigué.", "Je suis fatigué"),  # the source has a full stop
    ("Are you tired?", "Es-tu fatigué ?", "Es-tu fatigué."),
    ("I am in Paris.", "Je suis à Paris.", "je suis à paris."),
    ("I am tired", "Je suis fatigué", "Je suis fatigué !"),
    ("It is late.", "Il est tard.", "Ilest tard."),
    ("It is late.", "Il est tard.", "Il est tard ."),
    ("It is late, Emma.", "Il est tard, Emma.", "Il est tard , Emma."),
    ("He goes to the sea.", "Il va à la mer.", "Il va a la mer."),  # no capital
    ('He said "I am tired."', "Il a dit qu'il est fatigué.", "Il a dit qu'il est fatigué"),  # ends, within quotes
    ("Hello Emma", "Bonjour Emma", "Bonjour emma"),  # two words are no title
    ("Well", "Eh bien", "Eh bien..."),
]


def test_accepted_answers_ignore_spelling_variants():
    for expected, listed in ((True, RIGHT), (False, WRONG)):
        for source, accepted, said in listed:
            assert probes.ScoredProbe("x", source, ("Autre.", accepted)).is_right(said) is expected, said


@pytest.fixture
def french(exact_checkpoint, monkeypatch):
    """A checkpoint that says what a dictionary has, and for the rest goes on without an end."""
    made = dataclasses.replace(exact_checkpoint, languages=("English", "French"))
    known: dict[str, str] = {}

    def answer(model, tokenizer, sentences, *_, progress=lambda done: None, **__):
        progress(len(sentences))
        rows = [(*tokenizer.encode(known.get(each, "la la la")), *[END] * (each in known)) for each in sentences]
        return [Hypothesis(row, (0.0,) * len(row)) for row in rows]

    monkeypatch.setattr(scoring, "translate", answer)
    return made, known


def test_all_measures_equal_the_single_ones(french):
    made, known = french
    pairs = [*PAIRS, ("long " * 15, "Tu es long."), ("long " * 15, "Vous êtes longs.")]
    known |= dict(pairs)  # the last reference of each
    told = []
    found = measures.measure_all(made, pairs, progress=told.append)
    assert set(found) == set(measures.KEY_SUFFIXES)
    one = {
        "first": measures.measure(made, pairs),
        "all": measures.measure(made, pairs, references="all"),
        "joined": measures.measure(made, pairs, InputSelection(join=(3, 5))),
        "long": measures.measure(made, pairs, InputSelection(at_least=15)),
    }
    for name, row in one.items():
        assert found[name] | {"seconds": 0} == row | {"seconds": 0}, name
    assert sum(told) == 24 + found["joined"]["sentences"]  # nothing is translated twice
    assert "seconds" not in found["long"] and "seconds" in found["all"]  # the time of all is not that of some
    assert "cut" not in found["first"]
    assert found["all"]["bleu"] == 100 > found["first"]["bleu"]
    assert found["long"]["sentences"] == 1 and found["long"]["address"]["said"]["vous"] == 1.0
    assert found["joined"]["unfinished"] == found["joined"]["sentences"]  # of which the dictionary knows none


def test_card_lists_what_was_measured(french, tmp_path):
    made, known = french
    known |= dict(PAIRS)
    found = {f"test{measures.KEY_SUFFIXES[name]}": row for name, row in measures.measure_all(made, PAIRS).items()}
    told = translation_card.measures(found | {"dev": {"bleu": 1.0, "chrf": 2.0, "sentences": 3, "unfinished": 0}})
    rows = [line.split(" | ")[0] for line in told.splitlines() if line.startswith("| test")]
    assert rows[:3] == ["| test", "| test_all_references", "| test_joined, 3 to 5 joined (seed 1)"]
    known = {"training": {"data_sha256": {"dev": "d0"}}, "dev_beam": found["test"] | {"data_sha256": "d0"}}
    named = {"x": found["test"] | {"data": "a|b", "data_sha256": "e1"}, "y": found["test"] | {"data_sha256": "e1"}}
    told_names = translation_card.measures(known | named)  # of a file that another entry names, whatever their keys are
    assert [line.split(" | ")[0] for line in told_names.splitlines()][2:5] == ["| dev", r"| a\|b", r"| a\|b"]
    assert "100.0%" in told and "| dev" not in told and "right" not in told
    card = tmp_path / "README.md"
    card.write_text("# mine\n\nby hand\n\n## Limits\n\nby hand too\n", encoding="utf-8")
    translation_card.write(card, found)
    kinds = {"a": {"right": 1, "sentences": 2}}
    translation_card.write(card, found | {"probes": {"right": 1, "sentences": 2, "kinds": kinds}})
    text = card.read_text(encoding="utf-8")
    assert text.startswith("# mine\n\nby hand\n\n## Limits\n\nby hand too\n\n## Measures\n")
    assert text.count("## Measures") == 1 and "| a | 1 | 2 |" in text
    assert translation_card.measures({"test": {"bleu": 3.0, "sentences": 2}}) == ""  # of older files, which say less


def test_card_names_the_commands_that_compute_its_scores():
    row = {"bleu": 1.0, "chrf": 2.0, "sentences": 3, "unfinished": 0, "references": "all", "data": "test", "beam": 4}
    published = row | {"data_sha256": "8554e6cba019e865" + "0" * 48}
    joined = published | {"references": "first", "join": [3, 5], "join_seed": 2, "alpha": 0.5}
    text = translation_card.section({"test": published, "joined": joined, "own": row | {"data": "own"}})
    evaluate = "python -m model evaluate --checkpoint NAME --data data/test.tsv.gz"
    assert text.split("```")[1].strip().splitlines() == [
        "python -m model split fra-eng.zip --out data",
        f"{evaluate} --references all --beam 4",
        f"{evaluate} --join 3-5 --seed 2 --beam 4 --alpha 0.5",
    ]
    assert "```" not in translation_card.section({"own": row})


READS = {"family": "encoder-only", "decoder_layers": 0, "source_start": True, "segments": 2, "pooler": True, "follows": True}
NOUNS, VERBS = ("fox", "lamp", "boat", "king"), ("sees", "takes", "paints", "finds")
TEXTS = [f"The {one} {verb} {one} the {two}." for one, verb in zip(NOUNS, VERBS, strict=True) for two in NOUNS]


@pytest.fixture(scope="module")
def vocabulary() -> Tokenizer:
    return Tokenizer.train(TEXTS * 9, 400, blanks=True)


@pytest.fixture(scope="module")
def encoded(vocabulary) -> list[list[int]]:
    return [vocabulary.encode(text) for text in TEXTS * 3]


def test_blanks_are_whole_words_of_one_token(vocabulary, encoded):
    choices = BlankVocabulary(vocabulary)
    asked = sample_blanks(encoded, vocabulary, choices)
    assert {blank.sentence for blank in asked} == set(range(len(encoded)))
    for blank in asked:
        ids = encoded[blank.sentence]
        assert ids[blank.place] == blank.token and vocabulary.token_bytes(blank.token).strip().isalpha()
        word, at = vocabulary.words_with_positions(ids)[blank.word]
        assert at == (blank.place,) and vocabulary.token_bytes(blank.token).decode().strip() == word
        assert choices.is_sentence_initial(blank.token) == (blank.place == 0)
        assert choices.tokens[blank.place == 0][choices.number[blank.token]] == blank.token


def test_counting_predicts_words_between_neighbours(vocabulary, encoded):
    choices = BlankVocabulary(vocabulary)
    dev, asked = sample_blanks(encoded[:30], vocabulary, choices, "dev"), sample_blanks(encoded, vocabulary, choices)
    counted = NeighbourCounts(vocabulary, choices, encoded, [(encoded, blank) for blank in (*dev, *asked)])
    made = NeighbourBaseline(counted, encoded, dev)
    told = made.score(encoded, asked)
    assert told.right.mean() > 0.85 and told.log_probs.mean() > -0.5
    for blank, log_prob in list(zip(asked, told.log_probs, strict=True))[:20]:
        row = made.distribution(encoded, blank)
        assert row.sum() == pytest.approx(1, abs=1e-12) and row.min() > 0
        assert np.log(row[choices.number[blank.token]]) == log_prob
    verb = next(blank for blank in asked if vocabulary.token_bytes(blank.token) == b" sees")
    assert [own.most_common(1)[0][0] for own in counted.counts(encoded, verb)[5:]] == [choices.number[verb.token]] * 4
    nothing = NeighbourBaseline(
        NeighbourCounts(vocabulary, choices, encoded[:1], [(encoded, b) for b in (*dev, *asked)]), encoded, dev
    )
    assert nothing.score(encoded, asked).log_probs.mean() < told.log_probs.mean() - 1


def test_a_model_chooses_among_the_same_words(vocabulary, encoded):
    choices, lab = BlankVocabulary(vocabulary), tiny.checkpoint(vocabulary, **READS)
    asked = sample_blanks(encoded[:5], vocabulary, choices)
    told = score(lab.model, vocabulary, encoded, asked, choices)
    for n, blank in enumerate(asked):
        ids = [START, *encoded[blank.sentence], END]
        ids[1 + blank.place] = vocabulary.mask
        logits = lab.model.project(teacher_forced_states(lab.model, torch.tensor([ids]), None))[0, 1 + blank.place].double()
        among = logits[choices.tokens[choices.is_sentence_initial(blank.token)]]
        assert told.log_probs[n] == pytest.approx(float(logits[blank.token] - among.logsumexp(0)), abs=1e-5)
        assert told.right[n] == (float(among.max()) == float(logits[blank.token]))


def test_evaluate_prints_one_object(vocabulary, tmp_path, capsys):
    checkpoints.save(tiny.checkpoint(vocabulary, **READS), tmp_path / "lab")
    (tmp_path / "text.txt").write_text("".join(f"{text}\n" for text in TEXTS * 2), encoding="utf-8")
    text, lab = str(tmp_path / "text.txt"), str(tmp_path / "lab")
    words = ["evaluate", "--checkpoint", lab, "--data", text, text, "--baseline", text, "--dev", text, "--device", "cpu"]
    assert main([*words, "--record", "test", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for part, rival in (("words", "neighbours"), ("follows", "overlap")):
        low, high = found[part]["accuracy_interval"]
        assert 0 <= low <= found[part]["accuracy"] <= high <= 1 and found[part]["log_loss"] > 0
        gain = found[part]["accuracy"] - found[part][rival]["accuracy"]
        assert found[part]["gain"]["accuracy"] == pytest.approx(gain, abs=2e-4)
    assert found["words"]["neighbours"]["accuracy"] > 0.8 > found["words"]["accuracy"]
    assert checkpoints.load(lab).metrics["test"]["words"] == found["words"]
    card = (tmp_path / "lab" / "README.md").read_text(encoding="utf-8")
    assert card.count("## Scores") == 1 and f"| the model | {found['words']['accuracy']:.1%} |" in card
