"""The same head from another seed: pairs are the cheapest, a shuffled copy is found exactly, chance is chance."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json

import numpy as np
import pytest
import torch

from model import checkpoint as checkpoints
from model.__main__ import main
from model.inference.analyse import analyse
from model.inference.request import Request
from model.readings.heads.head_roles import MIN_ROWS, ROLES, head_roles
from model.variants.same_heads import SameHeads
from model.workshop.reports.heads_report import CorpusLine, distinct_lines
from model.workshop.reports.seed_matching import CROSS_ROLES, SHUFFLES, assignment, match_seeds
from tests.support import tiny
from tests.support.command_line_helpers import fails

SIZES = {"d_model": 16, "heads": 4, "encoder_layers": 2, "decoder_layers": 1}
LINES = distinct_lines(tiny.PAIRS[::11])


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(shape)


def permuted(lab, seed: int = 0):
    """A copy whose heads stand in another order at every site, which computes the same; and the orders, by their modules."""
    made, orders = copy.deepcopy(lab.model), {}
    random, size = np.random.default_rng(seed), lab.config.heads
    for name, module in made.named_modules():
        if not name.endswith("attention"):
            continue
        orders[name] = order = random.permutation(size)
        for projection in (module.query, module.key, module.value):
            for p in projection.parameters():
                p.copy_(p.unflatten(0, (size, -1))[order].flatten(0, 1))
        weight = module.output.weight
        weight.copy_(weight.unflatten(1, (size, -1))[:, order].flatten(1, 2))
    return dataclasses.replace(lab, model=made), orders


@pytest.mark.parametrize("size", range(1, 8))
def test_no_assignment_is_cheaper(size):
    for seed in range(4 if size < 7 else 1):
        for costs in (drawn(size, size, seed=seed), np.round(3 * drawn(size, size, seed=seed)) - 1):  # and with ties
            found = assignment(costs)
            assert sorted(found) == list(range(size))
            orders = np.array(list(itertools.permutations(range(size))))
            least = costs[np.arange(size), orders].sum(1).min()
            assert costs[np.arange(size), found].sum() == pytest.approx(least, abs=1e-12)


def test_permuted_heads_are_matched_exactly(tokenizer):
    lab = tiny.checkpoint(tokenizer, **SIZES)
    other, orders = permuted(lab)
    found = match_seeds([lab, other], LINES, "ab", ["a", "b"])
    modules = {"encoder": "encoder.{}.self", "decoder": "decoder.{}.self", "cross": "decoder.{}.cross"}
    assert len(found.sites) == 4
    for site in found.sites:
        order = orders[modules[site.kind].format(site.layer) + "_attention"]
        assert [order[partner] for partner in site.partners] == [0, 1, 2, 3]  # head n of the copy is head order[n]
        assert (site.matched, site.held_out, max(site.distances), site.alike) == (0, 0, 0, 1)
        assert site.chance == 1 / (1 + SHUFFLES)
        assert 0 < site.shuffled < site.random < site.own
    assert all((kind.matched, kind.same_layer) == (0, 1) for kind in found.kinds)
    assert {kind.kind: kind.by_chance for kind in found.kinds} == {"encoder": 0.5, "decoder": 1, "cross": 1}
    assert not found.circles


def test_roles_equal_those_of_a_single_sentence(tokenizer):
    line = CorpusLine(
        1, " ".join(tiny.PAIRS[0][0:1] + tiny.PAIRS[20][0:1]), " ".join(tiny.PAIRS[0][1:] + tiny.PAIRS[20][1:])
    )
    lab = tiny.checkpoint(tokenizer, positions="learned", max_positions=40, norm="rmsnorm", d_model=32, heads=1)
    made, eye = copy.deepcopy(lab.model), torch.eye(32)
    layer = made.encoder[0].self_attention
    made.source_embedding.positional.table.weight.copy_(1000 * eye.repeat(2, 1)[:40])  # the token drowns in its place
    layer.query.weight.copy_(30 * eye)
    layer.key.weight.copy_(eye.roll(1, 0))  # a key says which place comes next
    found = match_seeds([lab, dataclasses.replace(lab, model=made)], [line], "ab", ["a", "b"])
    assert len(lab.source_tokenizer.encode(line.source)) in range(MIN_ROWS, 32)  # enough rows, and a dimension for each
    (sought,) = (role for role in found.roles if (role.role, role.kind) == ("previous-token head", "encoder"))
    assert sought.seeds == 1
    assert [best.holders for best in sought.best] == [0, 1]
    assert (sought.best[1].layer, sought.best[1].head) == (0, 0)
    assert sought.best[1].share == 1 > sought.bar > sought.best[0].share
    short = match_seeds([lab, dataclasses.replace(lab, model=made)], LINES[:1], "ab", ["a", "b"])  # too few rows to tell
    assert {(best.share, best.holders) for role in short.roles for best in role.best} == {(None, 0)}
    for n, model in enumerate((lab.model, made)):
        trace = analyse(dataclasses.replace(lab, model=model), Request(line.source, target=line.target)).trace
        for role in (role for role in found.roles if role.kind != "cross"):
            sites = trace.sites(role.kind)
            pattern = np.concatenate([trace.patterns[site] for site in sites])
            told = head_roles(pattern, trace.keys(sites[0]), range(pattern.shape[1]))
            assert role.best[n].holders == sum(role.role in {each.name for each in roles} for roles in told)
        (diagonal,) = (role for role in found.roles if role.role == "diagonal head")
        rows = np.concatenate([trace.patterns[site] for site in trace.sites("cross")])[:, : len(trace.source)]
        shares = (rows.argmax(-1) == np.arange(rows.shape[1])).mean(-1)
        assert diagonal.best[n].share == pytest.approx(shares.max(), abs=1e-5)
    named = {*itertools.product(ROLES, ("encoder", "decoder")), *itertools.product(CROSS_ROLES, ("cross",))}
    assert {(role.role, role.kind) for role in found.roles} == named


def test_record_round_trips_and_names_damage(tokenizer):
    lab = tiny.checkpoint(tokenizer, **SIZES)
    found = match_seeds([lab, permuted(lab)[0]], LINES[:2], "ab", ["a", "b"])
    values = json.loads(json.dumps(found.to_dict()))
    assert SameHeads.from_dict(values) == found
    columns, rows = found.sites_table()
    assert [len(columns)] * len(rows) == [len(row) for row in rows]
    assert rows[0][:4] == ["a", "b", "encoder", 1]
    for change, said in (
        (lambda v: v["sites"][0].update(partners=[0, 0, 1, 2]), "every head once"),
        (lambda v: v["sites"][0].update(other=2), "'sites': other is 2; expected int"),
        (lambda v: v["roles"][0]["best"].pop(), "'roles': best is"),
        (lambda v: v.update(checkpoints=["a"]), "expected at least two names"),
        (lambda v: v["kinds"][0].pop("matched"), "an entry of 'kinds' is"),
    ):
        damaged = copy.deepcopy(values)
        change(damaged)
        with pytest.raises(ValueError, match=said):
            SameHeads.from_dict(damaged)


def test_the_command_prints_one_json_object(tokenizer, tmp_path, capsys):
    lab = tiny.checkpoint(tokenizer, **SIZES)
    folders = [str(tmp_path / name) for name in ("one", "two", "narrow")]
    for folder, each in zip(folders, (lab, permuted(lab)[0], tiny.checkpoint(tokenizer)), strict=True):
        checkpoints.save(each, tmp_path / folder)
    data = tmp_path / "dev.tsv"
    data.write_text("".join(f"{s}\t{t}\n" for s, t in tiny.PAIRS[:5]), encoding="utf-8")
    asked = ["report", "seeds", "--data", str(data), "--device", "cpu", "--checkpoints"]
    assert main([*asked, *folders[:2], "--limit", "3"]) == 0
    found = SameHeads.from_dict(json.loads(capsys.readouterr().out))
    assert (found.checkpoints, found.sentences) == (("one", "two"), 3)
    assert "--checkpoints names 1; expected at least 2" in fails(capsys, *asked, folders[0])
    assert "narrow has decoder_layers 2, and one 1; expected checkpoints of one shape" in fails(
        capsys, *asked, folders[0], folders[2]
    )
    assert "heads reads one --checkpoint; leave out" in fails(capsys, "report", "heads", *asked[2:], *folders[:2])
    assert "seeds needs --checkpoints" in fails(capsys, *asked[:-1])


def test_three_copies_match_in_a_circle(tokenizer):
    lab = tiny.checkpoint(tokenizer, **SIZES)
    copies = [lab, permuted(lab)[0], permuted(lab, 1)[0]]
    found = match_seeds(copies, LINES[:3], "ab", list("abc"))
    assert [(circle.kind, circle.share, circle.by_chance) for circle in found.circles] == [
        (kind, 1, 0.25) for kind in ("encoder", "decoder", "cross")
    ]
    assert len(found.sites) == 3 * 4
    strangers = match_seeds([lab, tiny.checkpoint(tokenizer, seed=3, **SIZES)], LINES[:3], "ab", ["a", "b"])
    assert all(0 < site.matched <= site.random for site in strangers.sites)
    assert all(site.matched <= site.held_out for site in strangers.sites)
    assert all(site.alike == pytest.approx(1 - site.held_out / site.random) for site in strangers.sites)
