"""Targets replaced by a model's own translations: what may replace a target, and the command."""

import gzip

import pytest

from model.__main__ import main
from model.workshop.evaluation.distillation import Scored, SeenWords, beams, distill, grams, nearest, similarity

CORPUS = [
    ("He bought a red bicycle yesterday.", "Il a acheté un vélo rouge hier."),
    ("She bought a bicycle.", "Elle a acheté un vélo."),
    ("He sold his bicycle.", "Il a vendu son vélo."),
    ("He bought a green car.", "Il a acheté une voiture verte."),
    ("It is a red car.", "C'est une voiture rouge."),
    ("He bought a red bicycle.", "Il a acheté un vélo rouge."),
]
SOURCE, TARGET = "He bought a red bicycle yesterday.", "Il a acheté une bicyclette rouge hier."
NEAR = "Il a acheté un vélo rouge hier."


@pytest.fixture(scope="module")
def seen():
    return SeenWords.of([*CORPUS, *CORPUS, (SOURCE, TARGET)])


@pytest.mark.parametrize(
    ("hypothesis", "log_prob", "is_taken"),
    [
        (NEAR, -0.1, True),
        (NEAR, -0.6, False),
        ("Il a acheté un vélo rouges hier.", -0.1, False),  # words that stand together nowhere
        ("Il a acheté une voiture rouge.", -0.1, False),  # a word for another thing
        ("Il a acheté.", -0.1, False),
        ("Il a acheté un vélo rouge hier !", -0.1, False),
        ("Elle a vendu son vélo.", -0.1, False),
    ],
)
def test_only_a_near_and_fluent_translation_is_taken(seen, hypothesis, log_prob, is_taken):
    taken = nearest(SOURCE, TARGET, [NEAR], [Scored(hypothesis, log_prob)], seen)
    assert taken == (hypothesis if is_taken else None)


def test_the_nearest_hypothesis_is_taken_and_keeps_the_address(seen):
    target = CORPUS[0][1]
    assert nearest(SOURCE, target, [], [Scored(NEAR[:-1] + " hier.", -0.1), Scored(target, -0.4)], seen) == target
    pairs = [
        ("You can sing very well.", "Vous pouvez chanter très bien."),
        ("You can sing very well.", "Tu peux chanter très bien."),
    ]
    polite, familiar = (target for _, target in pairs)
    known = SeenWords.of(pairs * 2)
    assert nearest(pairs[0][0], polite, [familiar], [Scored(familiar, 0.0)], known) is None


def test_similarity_is_that_of_equal_and_of_strange_texts():
    one, other = grams("Il dort."), grams("Xyz ?")
    assert similarity(one, one) == 1 and similarity(one, other) == similarity(other, one) == 0
    assert 0 < similarity(one, grams("Elle dort.")) < 1


def test_beams_are_those_of_single_sentences(shipped):
    sources = ["The dog sleeps in the garden.", "She bought a red car yesterday evening.", "We like the old house."]
    together, done = beams(shipped, sources, (counts := []).append), [beams(shipped, [each]) for each in sources]
    assert sum(counts) == len(sources)
    for source, alone in zip(sources, done, strict=True):
        assert [each.text for each in together[source]] == [each.text for each in alone[source]]
        assert [each.log_prob for each in together[source]] == pytest.approx(
            [each.log_prob for each in alone[source]], rel=1e-3
        )
        assert together[source] and all(each.log_prob < 0 for each in together[source])


def test_targets_stay_or_come_from_the_beam(shipped):
    pairs = [("She bought a red car.", "Elle s'est acheté une auto rouge."), ("Hello.", "Bonjour.")]
    (first, second) = distill(shipped, pairs, {source: [target] for source, target in pairs}, SeenWords.of(pairs))
    assert second == ("Hello.", "Bonjour.", False)  # too short to be translated
    assert not first.is_in_beam and first.target == pairs[0][1]  # no run of words of the beam is known
    (best, *_) = beams(shipped, [pairs[0][0]])[pairs[0][0]]
    known = SeenWords.of([(pairs[0][0], best.text)] * 2 + pairs)
    assert distill(shipped, pairs[:1], {pairs[0][0]: [best.text]}, known) == [(pairs[0][0], best.text, True)]


def test_the_command_writes_each_source_once(tmp_path, capsys):
    data, out, beam = (tmp_path / name for name in ("data.tsv", "out.tsv.gz", "beam.tsv"))
    data.write_text("".join(f"{source}\t{target}\n" for source, target in [*CORPUS, (SOURCE, TARGET)]), encoding="utf-8")
    arguments = ["distill", "--checkpoint", "en-fr", "--data", str(data), "--out", str(out), "--in-beam", str(beam)]
    assert main([*arguments, "--quiet"]) == 0
    with gzip.open(out, "rt", encoding="utf-8") as file:
        out_lines = file.read().splitlines()
    assert [line.split("\t")[0] for line in out_lines] == [source for source, _ in CORPUS]
    assert all(line in out_lines for line in beam.read_text(encoding="utf-8").splitlines())
    assert f"of {len(CORPUS)} targets are new in {out}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("--out", "out.txt"), "--out is 'out.txt'; expected a name that ends in .tsv or .tsv.gz"),
        (("--out", "data.tsv"), "--out is the file of --data, which would be lost; give another name"),
        (("--out", "a.tsv", "--in-beam", "a.tsv"), "--in-beam is the file of --out, which would be lost"),
        (("--out", "none/a.tsv"), "--out: there is no folder 'none'; create it first"),
        (("--out", "a.tsv", "--checkpoint", "gpt-mini"), "gpt-mini translates nothing"),
    ],
)
def test_the_command_refuses_in_one_sentence(tmp_path, monkeypatch, capsys, arguments, fault):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.tsv").write_text("A cat.\tUn chat.\n", encoding="utf-8")
    assert main(["distill", "--data", "data.tsv", *arguments]) == 2
    said = capsys.readouterr().err.strip()
    assert fault in said and said.count("\n") == 0
    assert (tmp_path / "data.tsv").read_text(encoding="utf-8") == "A cat.\tUn chat.\n"
