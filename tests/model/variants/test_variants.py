"""Variants: their declaration, their runs and the record of the results."""

from __future__ import annotations

import dataclasses
import json

import pytest

from model.__main__ import main
from model.checkpoint import load
from model.config import ModelConfig
from model.network.transformer import build
from model.variants.designs import BASE, PLAN, SEEDS, VARIANTS
from model.variants.record import FILE, SCORES, MissingRun, SeedRun, VariantResult, Variants, read
from model.workshop.commands import variants_training
from model.workshop.reports.variant_runs import CostEstimate, runs_of
from tests.support import tiny
from tests.support.command_line_helpers import fails
from tests.support.training_helpers import BRIEF_VARIANT


def parameters(name: str) -> int:
    options = PLAN.model_options(VARIANTS[name])
    return build(ModelConfig(source_vocab=4000, target_vocab=4000, **options)).parameter_count


def test_variants_differ_in_what_they_name_only():
    base = ModelConfig(4000, 4000, **PLAN.model_options(VARIANTS[BASE])).to_dict()
    for variant in VARIANTS.values():
        own = ModelConfig(4000, 4000, **PLAN.model_options(variant)).to_dict()
        assert {n for n in own if own[n] != base[n]} - {"d_ff"} == set(variant.changes)
        assert (own["d_ff"] != base["d_ff"]) == (own["activation"] == "swiglu")
    assert not VARIANTS[BASE].changes


def test_no_variant_owes_its_score_to_more_parameters():
    counts = {name: parameters(name) for name in VARIANTS}
    assert max(counts.values()) / min(counts.values()) < 1.002
    assert counts["heads-1"] == counts["heads-2"] == counts["heads-8"] == counts["gelu"] == counts[BASE]
    assert counts[BASE] - counts["original"] == 2 * 2 * 128  # the norms at the end of both stacks
    assert counts["swiglu"] - counts[BASE] == 6 * (3 * 128 * 341 + 2 * 341 - 2 * 128 * 512 - 512)


def made(name: str, *bleus: float) -> VariantResult:
    runs = tuple(SeedRun(n, bleu, bleu + 20, 1.5, 100, 3, ((50, 2.5), (100, 1.5))) for n, bleu in enumerate(bleus, 1))
    return VariantResult(name, name.title(), "says", {"heads": 4}, 1000, runs, 500.0)


def record(*each: VariantResult) -> Variants:
    missing = (MissingRun("gelu", 1, "training", 50), MissingRun("gelu", 2, "failed", 0, "no room on the disk"))
    return Variants(BASE, {"epochs": 1}, {"test": "ab"}, {"beam": 4}, 9, "nrefs:1", each, seeds=(1, 2, 3), missing=missing)


def test_designs_are_apart_where_no_seed_overlaps():
    base, above, mixed = made(BASE, 30.0, 31.0, 32.0), made("above", 33.0, 32.5, 35.0), made("mixed", 31.5, 40.0, 41.0)
    assert above.spread("bleu") == (33.5, 32.5, 35.0, 3)
    assert above.compare(base, "bleu")[:4] == (2.5, True, 0.1, 3)
    assert base.compare(above, "bleu")[:2] == (-2.5, True)
    assert mixed.compare(base, "bleu").is_apart is False
    columns, rows = record(base, above, mixed).table()
    cells = dict(zip(columns, zip(*rows, strict=True), strict=True))
    assert cells["bleu_difference"] == (None, 2.5, 6.5)
    assert cells["bleu_apart"] == (None, True, False)
    assert cells["times_base"] == (1.0, 1.0, 1.0)
    assert "3 seeds each happens in 10% of cases" in record(base, above).explanation
    assert "column of chances" in record(base, made("one", 40.0)).explanation


def test_interval_is_students_over_shared_seeds():
    base, above = made(BASE, 30.0, 31.0, 32.0), made("above", 33.0, 32.5, 35.0)
    low, high = above.compare(base, "bleu").interval
    assert (low, high) == pytest.approx((2.5 - 4.3027 * 0.5, 2.5 + 4.3027 * 0.5), abs=1e-4)
    lone = dataclasses.replace(above, runs=above.runs[2:])
    assert lone.compare(base, "bleu")[3:] == (1, None)


def test_a_record_comes_back_as_it_was_written():
    written = record(made(BASE, 30.0), made("other", 31.0))
    assert Variants.from_dict(json.loads(json.dumps(written.to_dict()))) == written


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda v: v.update(schema=1), "'schema' is 1; expected 2"),
        (lambda v: v["missing"][0].update(state="lost"), "a missing run is .*; expected a name, a seed, a step and one of"),
        (lambda v: v["missing"][0].update(state=["failed"]), "a missing run is .*; expected a name"),
        (
            lambda v: v["variants"][0]["runs"][0].update(bleu=10**400),
            "a run of 'base' is .*; expected numbers of at least 0",
        ),
        (lambda v: v["variants"][0]["runs"][0].update(seed=1.5), "has the seed 1.5; expected a whole number"),
        (lambda v: v["variants"][0]["runs"].append(v["variants"][0]["runs"][0]), "the seeds of the variant 'base' have"),
        (lambda v: v["variants"].append(v["variants"][0]), "the variants have 'base' twice; expected each once"),
        (lambda v: v["variants"][0]["runs"][0].update(losses=[[1]]), "has losses .*; expected pairs of a step and a loss"),
        (lambda v: v.update(shipped={"base": "../base"}), "'shipped' has 'base' in '../base'; expected the name of a"),
        (lambda v: v.update(same_heads={"base": {}}), "'same_heads' of 'base': 'schema' is None; expected 1"),
        (lambda v: v.update(seeds=[-1]), r"'seeds' is \[-1\]; expected whole numbers"),
        (lambda v: v.update(variants={}), "'variants' is {}; expected a list"),
        (lambda v: v.update(base=3), "'base' is 3; expected a text"),
        (lambda v: v["variants"][0].update(runs=[]), r"has runs \[\]; expected a list with at least one"),
        (lambda v: v["variants"][0]["runs"][0].update(bleu="high"), "a run of 'base' is .*; expected numbers of at least 0"),
        (lambda v: v["variants"][0].update(parameters=-1), "'base' lacks its title, says, model or parameters"),
        (lambda v: v.pop("data"), "'data' is None; expected an object"),
    ],
)
def test_a_damaged_record_says_what_is_wrong(damage, said):
    values = record(made(BASE, 30.0)).to_dict()
    values = json.loads(json.dumps(values))
    damage(values)
    with pytest.raises(ValueError, match=said):
        Variants.from_dict(values)


@pytest.fixture
def asked(pair_files, tmp_path) -> list[str]:
    train, dev = map(str, pair_files)
    files = {"data": train, "dev": dev, "test": dev, "out": tmp_path / "runs"}
    return ["variants", *tiny.options(**files, **BRIEF_VARIANT)]


def test_variants_train_score_and_resume(asked, tmp_path, capsys, monkeypatch):
    out = tmp_path / "runs"
    chosen = ["--only", "modern", "--seed", "3", "--device", "cpu"]
    assert main([*asked, *chosen, "--max-minutes", "0"]) == 0
    assert not (out / FILE).exists()
    assert main([*asked, *chosen]) == 0
    told = capsys.readouterr().out
    assert "1 run is left: about 1 minute, from the speed measured here" in told
    assert "As today, seed 3: BLEU" in told and "; 0 left" in told
    found = read(out / FILE)
    assert [(each.name, [run.seed for run in each.runs]) for each in found.variants] == [("modern", [3])]
    assert found.variants[0].model["d_ff"] == 11
    scores = json.loads((out / "modern-3" / "checkpoint" / "metrics.json").read_text())
    own = found.variants[0].runs[0]
    expected = {**{name: scores["test"][name] for name in ("bleu", "chrf")}, "dev_loss": scores["dev"]["dev_loss"]}
    assert {name: getattr(own, name) for name in SCORES} == expected
    assert own.losses[-1] == (own.steps, own.dev_loss)
    assert found.steps == own.steps  # as counted before it began
    assert len(found.missing) == len(VARIANTS) * len(SEEDS) - 1
    assert {each.state for each in found.missing} == {"waiting"}
    monkeypatch.setattr(variants_training, "_call_command", None)  # nothing is done again
    assert main([*asked, *chosen]) == 0
    assert "As today" in capsys.readouterr().out
    assert "(training: epochs was 1, now 2); give another --out" in fails(capsys, *asked, *chosen, "--epochs", "2")
    assert main([*asked, "--only", "modern", "--ship", str(tmp_path / "shipped")]) == 0
    shipped = read(tmp_path / "shipped" / FILE)
    assert shipped == dataclasses.replace(found, shipped={"modern": "variant-modern"})
    assert load(str(tmp_path / "shipped" / "variant-modern")).config.norm == "rmsnorm"
    assert (tmp_path / "shipped" / "variant-modern" / "README.md").read_text().startswith("# variant-modern\n")


def test_failed_run_is_kept_and_two_end_the_command(asked, tmp_path, capsys, monkeypatch):
    called = []

    def failing(command, name, words):
        called.append(name)
        raise ValueError("the disk is full")

    monkeypatch.setattr(variants_training, "_call_command", failing)
    monkeypatch.setattr(variants_training, "estimate_cost", lambda *args: CostEstimate(8, 3.2, "from nothing"))
    assert main([*asked, "--seed", "1", "--device", "cpu"]) == 2
    told, said = capsys.readouterr()
    assert "8 runs are left: about 3.2 hours, from nothing." in told
    assert "2 of 8 runs failed (base-1: the disk is full; original-1: the disk is full)" in said
    assert called == ["train", "train"]
    run = runs_of(tmp_path / "runs", [BASE], [1])[0]
    assert (run.missing.state, run.missing.why) == ("failed", "the disk is full")
