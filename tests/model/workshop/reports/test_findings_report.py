"""Claims about heads: conditions switch off what they say, BLEU is that of sacrebleu, and each result has its numbers."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from model.edits.intervention import BASELINE
from model.experiments.head_survey import measure_heads
from model.experiments.sweep import heads_of
from model.readings.heads.trace_comparison import error_rate
from model.readings.tokens.token_attribution import output_weight
from model.text.findings import Findings
from model.text.measurements import ROWS
from model.trace import Site
from model.workshop.reports import findings_report
from model.workshop.reports.alignment_report import GoldAlignment, count_hits, run_pair
from model.workshop.reports.findings_report import BleuChange, PairedBleu, conditions, measure_findings, translate_all
from model.workshop.reports.norm_alignment import compare_norms, layer_maps
from tests.support import tiny

GROUPS = {
    "The old fox sees the lamp.": ["La varun vechu mira la lumel."],
    "The red king takes the old boat.": ["La roda roji prenda la nefa vechu.", "La roda prenda la nefa."],
    "The fox sees the boat.": ["La varun mira la nefa."],
}


@pytest.fixture(scope="module")
def lab(tokenizer):
    made = tiny.checkpoint(tokenizer)
    return dataclasses.replace(made, head_statistics=measure_heads(made, list(GROUPS), effects=True).statistics)


@pytest.fixture(scope="module")
def gold_pairs():
    texts = [(source, targets[0]) for source, targets in GROUPS.items()]
    sides = [tuple(tuple(text.rstrip(".").split()) for text in pair) for pair in texts]
    return [
        GoldAlignment(source, target, frozenset((n, n) for n in range(min(len(source), len(target)))), frozenset())
        for source, target in sides
    ]


def test_each_condition_switches_off_what_its_name_says(lab):
    every, heads = {each.name: each.edit for each in conditions(lab, lab.head_statistics)}, heads_of(lab)
    assert sum(name.startswith("without ") for name in every) == len(heads)
    for name, edit in every.items():
        kinds = {each.place.kind for each in edit.edits}
        if name.startswith("one head in"):
            assert len(edit.edits) == lab.config.heads - 1 and len({each.place.layer for each in edit.edits}) == 1
        elif name.endswith("encoder heads off"):
            assert len(edit.edits) == int(name.split()[0]) and kinds == {"encoder"}
        else:
            assert len(edit.edits) == 1


def test_bleu_and_its_differences_are_those_of_sacrebleu():
    references, texts = list(GROUPS.values()), [each[0] for each in GROUPS.values()]
    worse = ["La varun mira.", *texts[1:]]
    bleu = PairedBleu(references)
    bleu.set_base(texts)
    streams = [[each[0] for each in references], [each[1] if len(each) > 1 else None for each in references]]
    expected = [BLEU().corpus_score(each, streams).score for each in (texts, worse)]
    assert bleu.base == pytest.approx(expected[0])
    change, none = bleu.difference(worse), bleu.difference(texts)
    assert change.value == pytest.approx(expected[1] - expected[0]) and change.low <= change.value <= change.high
    assert (none.value, none.low, none.high, none.p) == (0, 0, 0, 1) and 0 < change.p <= 1
    both, apart = BleuChange.mean([change, none]), change.minus(none)
    assert (2 * both.value, 2 * both.low) == pytest.approx((change.value, change.low))
    assert (apart.value, apart.high) == pytest.approx((change.value, change.high))


def test_translations_are_those_without_other_rows_in_the_batch(lab):
    edits = [BASELINE, *(each.edit for each in conditions(lab, lab.head_statistics)[:5])]
    together = translate_all(lab, list(GROUPS), edits, lambda done: None)
    alone = [translate_all(lab, list(GROUPS), [edit], lambda done: None) for edit in edits]
    assert together == [[column[n][0] for column in alone] for n in range(len(GROUPS))]


def test_every_finding_has_an_interval_a_bar_and_a_verdict(lab, gold_pairs):
    compared = compare_norms(lab, gold_pairs)
    found = measure_findings(lab, GROUPS, "x", "the command", "dev.tsv", norms=compared)
    assert found.sentences == 3 and Findings.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert len(found.findings) == len(found.lines()) == 10
    for each in found.findings:
        assert each.bar and "-0" not in each.result
        assert re.search(r"\d to [+−]?\d", each.result), each.result
        assert each.command in (
            "the command",
            f"python -m model report heads --checkpoint {lab.name} --data dev.tsv --store",
        )


def test_layers_shift_where_the_interval_says_so(lab, gold_pairs):
    compared = compare_norms(lab, gold_pairs)
    early, late = (-0.4, -0.5, -0.3), (0.3, 0.2, 0.4)
    for shifts, is_reproduced in (
        ((early, late), True),
        ((late, early), False),
        (((-0.4, -0.9, 0.1), late), False),
        (((-0.01, -0.02, -0.005), late), False),
    ):
        (shift,) = findings_report._alignment(dataclasses.replace(compared, shifts=shifts), "")
        assert shift.is_reproduced is is_reproduced
        assert f"difference {shifts[0][0]:+.2f}".replace("-", "−") in shift.result


def test_means_of_heads_are_those_of_each_head(lab, gold_pairs):
    compared = compare_norms(lab, gold_pairs)
    for name, later in ROWS.items():
        for layer, (mean, low, high) in enumerate(compared.head_means[name]):
            counts = []
            for gold in gold_pairs:
                run = run_pair(lab, gold, "full")
                weights = run.probe.records[Site("cross", layer)]["pattern"][0].float().cpu().numpy()
                counts.append([count_hits(run.links(each, later), gold) for each in weights])
            rates = [error_rate(*each) for each in np.array(counts).sum(0)]
            assert mean == pytest.approx(np.mean(rates)) and low <= mean <= high
    shift = [
        read[0] - written[0] for read, written in zip(*(compared.head_means[n] for n in ("reads", "predicts")), strict=True)
    ]
    assert [each[0] for each in compared.shifts] == pytest.approx(shift)


def test_a_checkpoint_without_statistics_is_refused(tokenizer):
    with pytest.raises(ValueError, match="report heads --data FILE --store"):
        measure_findings(tiny.checkpoint(tokenizer), GROUPS, "x", "", "")
    with pytest.raises(ValueError, match="decoder-only"):
        measure_findings(tiny.checkpoint(tokenizer, family="decoder-only", encoder_layers=0), GROUPS, "x", "", "")


def test_similar_heads_within_layers_are_found_by_permutation(lab):
    corpus = lab.head_statistics
    count = len(corpus.of_kind("encoder"))
    layers = np.array([each.layer for each in corpus.of_kind("encoder")])
    planted = np.where(layers[:, None] == layers, 0.1, 0.5)[np.triu_indices(count, 1)]
    (found,) = findings_report._layers(
        dataclasses.replace(corpus, distances=corpus.distances | {"encoder": tuple(planted)}), ""
    )
    assert "0.100 bits within a layer, 0.500 between" in found.result


def test_norms_are_compared_with_weights_of_the_best_layer(lab, gold_pairs):
    compared = compare_norms(lab, gold_pairs)
    assert compared.sentences == len(gold_pairs)
    for name, later in ROWS.items():
        for n, reading in enumerate(("weights", "norms")):
            rates = []
            for layer in range(lab.config.decoder_layers):
                counts = []
                for gold in gold_pairs:
                    run = run_pair(lab, gold, "full")
                    counts.append(count_hits(run.links(layer_maps(lab, run, layer)[n], later), gold))
                rates.append(float(error_rate(*np.array(counts).sum(0))))
            assert compared.layers[name][reading] == (int(np.argmin(rates)), pytest.approx(min(rates)))
        change, low, high = compared.differences[name]
        assert low <= change <= high
    better = dataclasses.replace(compared, differences={"predicts": (0.01, 0.005, 0.02), "reads": (-0.2, -0.3, -0.1)})
    assert [each.is_reproduced for each in findings_report._norms(better, "")] == [False, True]


def test_norms_need_cross_attention(tokenizer, gold_pairs):
    with pytest.raises(ValueError, match="no cross-attention"):
        compare_norms(tiny.checkpoint(tokenizer, family="decoder-only", encoder_layers=0), gold_pairs)


def test_the_norm_map_is_the_length_of_what_each_key_adds(lab, gold_pairs):
    run = run_pair(lab, gold_pairs[0], "full")
    site = Site("cross", 1)
    pattern, values = (run.probe.records[site][name][0].double() for name in ("pattern", "v"))
    output = output_weight(lab.model, site).double()
    weights, norms, *_ = layer_maps(lab, run, 1)
    assert weights == pytest.approx(pattern.mean(0).numpy(), rel=1e-5)
    for key in range(pattern.shape[-1]):
        alone = (pattern[:, :, key, None] * values[:, None, key]).movedim(0, 1).flatten(1)  # [T,H*K]
        assert norms[:, key] == pytest.approx((alone @ output.T).norm(dim=-1).detach().numpy(), rel=1e-4)
