"""Effects of edits, on one sentence and over many."""

from __future__ import annotations

import csv
import dataclasses
import json

import numpy as np
import pytest
import torch

from model.__main__ import main
from model.config import END
from model.decoding.strategy import Decoding
from model.edits.intervention import BASELINE, Intervention
from model.edits.kinds import Ablate, Place, Skip
from model.experiments import effects as module
from model.experiments.effects import ROWS, effects, head_effects, layer_skips
from model.experiments.sweep import every_head, intervals, sweep
from model.inference.analyse import analyse
from model.inference.passes import teacher_force
from model.inference.request import Request
from model.network.attention import MultiHeadAttention
from model.readings.heads.head_metrics import head_metrics, one_sentence_metrics
from model.text.route_heads import RouteHead, RouteHeads
from model.workshop.reports import heads_report
from tests.support import tiny
from tests.support.command_line_helpers import fails
from tests.support.floats import assert_close

METRICS = one_sentence_metrics()
TEXTS = [source for source, _ in tiny.PAIRS[:3]]
TOO_LONG = "word " * 400
FAMILIES = [
    {},
    {"causal": False},
    {"family": "decoder-only", "encoder_layers": 0},
    {"family": "encoder-only", "decoder_layers": 0},
]


def decoded_anew(lab, text: str, edits) -> list[bool]:
    """Returns for each edit whether the text changes that the model writes under it."""
    asked = (Request(source=text, intervention=edit, mode="again") for edit in (BASELINE, *edits))
    own, *others = (analyse(lab, request).hypothesis.ids for request in asked)
    return [other != own for other in others]


def brief(tokenizer, **changes):
    """A checkpoint that soon ends its sentences, and whose first heads say nothing: off, they change nothing."""
    lab = tiny.checkpoint(tokenizer, 5, torch.float64, **({"encoder_layers": 1, "decoder_layers": 1} | changes))
    lab.model.projection.weight[END] *= 2
    for part in lab.model.modules():
        if isinstance(part, MultiHeadAttention):
            part.output.weight[:, : lab.config.head_dim] = 0
    return tiny.with_means(lab)


@pytest.mark.parametrize("changes", FAMILIES, ids=str)
def test_a_sweep_gathers_what_single_runs_say(tokenizer, changes):
    lab = brief(tokenizer, **changes)
    found = sweep(lab, [TEXTS[0], TOO_LONG, TEXTS[1]])
    assert found.numbers.tolist() == [1, 3], "what is over the limit is left out, and the others keep their numbers"
    assert found.edits == every_head(lab)
    for row, text in enumerate((TEXTS[0], TEXTS[1])):
        single = [each.change for each in head_effects(lab, Request(source=text))]
        assert_close(found.change[row], single)
        if "decoder" in lab.config.kinds:
            assert found.changed[row].tolist() == decoded_anew(lab, text, found.edits)
    mute = np.tile([True, False], len(found.edits) // 2)
    assert not found.changed[:, mute].any() and found.changed[:, ~mute].any()
    assert found.mean_change()[0] == pytest.approx(found.change.mean(0))


def test_any_edits_can_be_swept_against_a_given_target(tokenizer):
    lab = brief(tokenizer)
    edits = [tiny.edited(code) for code in ("mean_dec.1.2", "skip_enc.1.self", "causal-off", "window-90")]
    source, target = tiny.PAIRS[0]
    found = sweep(lab, [(source, target)], edits)
    single = [each.change for each in effects(lab, Request(source=source, target=target), edits)]
    np.testing.assert_allclose(found.change[0], single, atol=1e-4)
    assert found.changed[0].tolist() == decoded_anew(lab, source, edits)
    falls = [n for n, change in enumerate(single) if change < 0]
    assert falls and found.strongest() == [[1] if n in falls else [] for n in range(4)]
    assert not found.changed[0, 3], "a window that holds everything changes nothing"
    with pytest.raises(ValueError, match="no sentence is within"):
        sweep(lab, [TOO_LONG], edits)
    with pytest.raises(ValueError, match="no edit"):
        sweep(lab, [source], [])
    with pytest.raises(ValueError, match="the sentences are one text"):
        sweep(lab, source, edits)


def test_intervals_narrow_with_more_sentences():
    values = np.random.default_rng(3).normal(5, 2, size=(400, 2))
    mean, low, high = intervals(values)
    assert mean == pytest.approx(values.mean(0))
    assert high - low == pytest.approx(2 * 1.96 * values.std(0) / 20, rel=0.15)
    few = intervals(values[:25])
    assert ((few[2] - few[1]) > 2 * (high - low)).all()
    weighted = intervals(np.array([[6.0, 0], [1, 0]]), np.array([[3, 0], [1, 0]]))
    assert weighted[0, 0] == 7 / 4 and np.isnan(weighted[:, 1]).all()
    rare = intervals(np.array([[6.0], [6], *[[0]] * 3]), np.array([[2], [2], *[[0]] * 3]))
    assert rare[:, 0].tolist() == [3, 3, 3], "a sample without a row has no mean, and none of 0"


def written(path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def command(saved, tmp_path) -> list[str]:
    """The arguments of a run over three sentences, of which one stands twice."""
    data = tmp_path / "pairs.tsv"
    pairs = [tiny.PAIRS[0], tiny.PAIRS[0], *tiny.PAIRS[1:3]]
    data.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    out = ["--out", str(tmp_path / "heads.csv")]
    return ["report", "heads", "--data", str(data), "--checkpoint", str(saved), "--device", "cpu", "--of", "reference", *out]


def test_the_table_holds_every_head_and_its_numbers(command, tiny_checkpoint, tmp_path, capsys):
    assert main([*command, "--limit", "1", "--texts"]) == 0
    told = capsys.readouterr().out
    assert "written to" in told and "log-probability (target)" in told and "[" not in told
    rows, lab, (source, target) = written(tmp_path / "heads.csv"), tiny_checkpoint, tiny.PAIRS[0]
    single = head_effects(lab, Request(source=source, target=target))
    assert [(r["site"], int(r["layer"]) - 1, int(r["head"]) - 1) for r in rows] == [(*e.site, e.head) for e in single]
    trace = analyse(lab, Request(source=source, target=target)).trace
    for row, each in zip(rows, single, strict=True):
        assert float(row["change_nats"]) == pytest.approx(each.change, abs=2e-2)  # the file's weights are float16
        looked = head_metrics(trace.patterns[each.site], trace.keys(each.site))
        for name, metric in METRICS.items():
            told = each.site.spec.is_self or not metric.self_only
            assert (row[name] != "") <= told
            if row[name]:
                assert float(row[name]) == pytest.approx(looked[name][each.head], abs=2e-3)
        assert row["strongest_texts"] == (source if each.change < 0 else "") or abs(each.change) < 2e-2
        assert row["sentences"] == "1"


CROSS_BLANK = {"distance", "previous", "same", "next", "induction"}
GPT, BERT = FAMILIES[2], FAMILIES[3] | {"source_start": True}
BLANK = [  # a model, and for each kind of attention the metrics that its mask or its tokens rule out
    ({}, {"encoder": {"start"}, "decoder": {"next", "end"}, "cross": CROSS_BLANK | {"start"}}),
    ({"causal": False}, {"encoder": {"start"}, "decoder": {"end"}, "cross": CROSS_BLANK | {"start"}}),
    ({"window": 12}, {"encoder": {"start"}, "decoder": {"next", "end"}, "cross": CROSS_BLANK | {"start"}}),
    (GPT, {"decoder": {"next", "end"}}),
    (BERT, {"encoder": set()}),
]
REPEATS = "The red fox sees the red fox.", "Lo varun roji mira lo varun roji."


def table_of(lab, pairs) -> list[dict]:
    """The rows of the table over some pairs, whose targets a model with a decoder reads."""
    lines, is_reference = heads_report.distinct_lines(pairs), "decoder" in lab.config.kinds
    rows = np.stack([heads_report.measure_line(lab, line, is_reference) for line in lines])
    columns, cells = heads_report.table(lab, lines, rows)
    assert json.loads(json.dumps(cells, allow_nan=False)) == cells
    return [dict(zip(columns, row, strict=True)) for row in cells]


@pytest.mark.parametrize(("changes", "blank"), BLANK, ids=["translator", "no causal mask", "window", "GPT", "BERT"])
def test_metrics_are_blank_where_undefined(tokenizer, changes, blank):
    lab = tiny.checkpoint(tokenizer, **changes)
    rows = table_of(lab, [REPEATS, tiny.PAIRS[0]])
    assert {row["site"] for row in rows} == set(blank)
    for row in rows:
        assert {name for name in METRICS if row[name] is None} - {"induction"} == blank[row["site"]] - {"induction"}
        for name in METRICS:
            seen = row[f"{name}_sentences"]
            assert (row[name] is None) == (seen == 0) and (row[f"{name}_low"] is None) == (seen < 2)
            assert (row[f"{name}_high"] is None) == (seen < 2) and 0 <= seen <= row["sentences"] == 2
        assert (row["induction_sentences"] > 0) == (row["site"] != "cross")
        assert row["change_nats_low"] <= row["change_nats"] <= row["change_nats_high"]


def test_interrupted_run_resumes_to_the_same_table(command, tmp_path, capsys, monkeypatch):
    assert main(command) == 0
    whole, counted, seen = (tmp_path / "heads.csv").read_bytes(), heads_report.measure_line, []
    assert b",3," in whole and "strongest_texts" not in whole.decode()
    assert not (tmp_path / "heads.csv.part").exists()
    (tmp_path / "heads.csv").unlink()

    def stops(lab, line, is_reference):
        seen.append(line.number)
        if len(seen) in (3, 5):
            raise KeyboardInterrupt
        return counted(lab, line, is_reference)

    monkeypatch.setattr(heads_report, "measure_line", stops)
    assert main(command) == 130
    part = tmp_path / "heads.csv.part"
    part.write_bytes(part.read_bytes()[:-5])  # the last row was not written whole
    capsys.readouterr()
    assert "other targets" in fails(capsys, *[word.replace("reference", "own") for word in command])
    assert [main(command), main(command)] == [130, 0]
    assert seen == [1, 3, 4, 3, 4, 4], "of two known sentences one was cut off; a doubled one counts once"
    assert (tmp_path / "heads.csv").read_bytes() == whole
    assert sorted(file.name for file in tmp_path.glob("heads.csv*")) == ["heads.csv"]


TEXT = "The red fox takes a lamp."
TARGET = "Lo varun roji prenda una lumel."
CODES = [
    *(
        "block_dec_3-2",
        "row_cross.1_2-uniform",
        "off_enc.1",
        "off_cross.2.1",
        "mean_dec.1",
        "skip_dec.2.ff",
        "skip_enc.1.self",
    ),
    *("source-positions_off", "target-positions_shuffled-3", "scaling-off", "window-2", "causal-off", "padding-off"),
]
EDITS = [tiny.edited(code) for code in CODES]


def alone(checkpoint, request: Request, edit: Intervention) -> tuple[np.ndarray, tuple[str, ...]]:
    """Log-probabilities of the target's tokens in a pass of their own."""
    plain = analyse(checkpoint, request).trace
    (trace,) = teacher_force(checkpoint, plain.source.ids, plain.outputs.ids, [edit])
    return trace.token_log_probs, trace.outputs.labels


def test_every_batch_has_the_unedited_row(tiny_checkpoint, monkeypatch):
    batches, real = [], module.target_log_probs

    def watched(checkpoint, source, target, edits):
        batches.append(list(edits))
        return real(checkpoint, source, target, edits)

    monkeypatch.setattr(module, "target_log_probs", watched)
    edits = [
        tiny.edited(f"block_cross.{layer}.{head}_{q}-{k}")
        for layer in (1, 2)
        for head in (1, 2)
        for q in (1, 2, 3)
        for k in (1, 2, 3, 4, 5)
    ]
    heard: list[float] = []
    request = Request(TEXT, target=TARGET)
    found = effects(tiny_checkpoint, request, edits, heard.append)
    assert [len(batch) for batch in batches] == [ROWS, ROWS, 60 - 2 * (ROWS - 1) + 1]
    assert all(batch[0] == BASELINE and BASELINE not in batch[1:] for batch in batches)
    assert [edit for batch in batches for edit in batch[1:]] == edits == [effect.intervention for effect in found]
    assert heard == sorted(heard)
    assert (len(heard), heard[0], heard[-1]) == (3, pytest.approx(0.4), 1.0)
    for number in (0, ROWS - 2, ROWS - 1, 59):
        after, _ = alone(tiny_checkpoint, request, edits[number])
        np.testing.assert_allclose(found[number].after, after, atol=1e-5)
    assert len({id(effect.before.base) for effect in found}) == 3


def test_the_requests_own_edits_do_not_matter(tiny_checkpoint):
    edited = Request(TEXT, target=TARGET, intervention=tiny.edited("off_cross"), mode="again")
    one, two = (effects(tiny_checkpoint, r, EDITS[:1])[0] for r in (edited, Request(TEXT, target=TARGET)))
    assert (one.before == two.before).all()
    assert (one.after == two.after).all()


VARIANTS = [
    {},
    {"heads": 4, "encoder_layers": 3, "decoder_layers": 1},
    {"norm_first": False, "norm": "rmsnorm", "activation": "swiglu"},
    {"positions": "rotary", "final_norm": False},
    {"positions": "learned", "window": 3, "causal": False},
    {"family": "encoder-only", "decoder_layers": 0, "encoder_layers": 3},
    {"family": "decoder-only", "encoder_layers": 0, "positions": "rotary"},
]


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_head_effects_equal_single_ablations(tokenizer, changes):
    checkpoint = tiny.checkpoint(tokenizer, dtype=torch.float64, **changes)
    asked = Request(
        TEXT, decoding=Decoding(max_total_tokens=16), extra_padding=2 if "encoder" in checkpoint.config.kinds else 0
    )
    found = head_effects(checkpoint, asked)
    single = effects(checkpoint, asked, [Intervention(edits=(each.edit,)) for each in found])
    assert [each.change for each in found] == pytest.approx([each.change for each in single], abs=1e-5, rel=1e-5)
    source, target = module.tokens_of(checkpoint, asked)
    rows, off = module.ablate_each_head(checkpoint, source, target)
    rows = rows[:, module.scored_tokens(checkpoint, asked, source, target).places]
    by_code = {Ablate(Place(*site, head)).code: row for (site, head), row in zip(off, rows[1:], strict=True)}
    for each in single:
        np.testing.assert_allclose(rows[0], each.before, atol=1e-6, rtol=1e-6)  # they are float32 in the end
        np.testing.assert_allclose(by_code[each.intervention.edits[0].code], each.after, atol=1e-6, rtol=1e-6)
    assert max(abs(each.change) for each in found) > 1e-3


def test_the_skips_of_layers_cover_every_sublayer_once(tokenizer):
    skips = layer_skips(tiny.checkpoint(tokenizer, encoder_layers=3, decoder_layers=1))
    assert list(skips) == ["encoder layer 1", "encoder layer 2", "encoder layer 3", "decoder layer 1"]
    every = [edit for skip in skips.values() for edit in skip.edits]
    expected = {Skip("encoder", n, part) for n in range(3) for part in ("self", "ff")}
    expected |= {Skip("decoder", 0, part) for part in ("self", "cross", "ff")}
    assert set(every) == expected
    assert len(every) == len(expected)
    assert {(e.stack, e.layer) for e in skips["encoder layer 2"].edits} == {("encoder", 1)}


def test_large_vocabulary_is_projected_in_parts(exact_checkpoint, monkeypatch):
    request, projected = Request(TEXT, target=TARGET), []
    whole = effects(exact_checkpoint, request, EDITS[:4]), head_effects(exact_checkpoint, request)
    monkeypatch.setattr("model.inference.passes.MAX_LOGITS", 1)
    monkeypatch.setattr("model.experiments.effects.MAX_LOGITS", 1)
    real = exact_checkpoint.model.project
    monkeypatch.setattr(type(exact_checkpoint.model), "project", lambda self, x: projected.append(len(x)) or real(x))
    parts = effects(exact_checkpoint, request, EDITS[:4]), head_effects(exact_checkpoint, request)
    assert set(projected[-len(whole[1]) :]) == {1}
    for one, other in zip(whole[0], parts[0], strict=True):
        np.testing.assert_allclose(one.after, other.after, atol=1e-6)
    np.testing.assert_allclose([each.change for each in whole[1]], [each.change for each in parts[1]], atol=1e-6)


def test_the_table_says_which_heads_are_dead_and_where_they_rest(tokenizer):
    lab = tiny.checkpoint(tokenizer)
    with torch.no_grad():  # the output of head 2 of the first cross-attention reaches nothing
        lab.model.decoder[0].cross_attention.output.weight[:, lab.config.head_dim :] = 0.0
    (role,) = (RouteHead("decoder", 1, 0, 1, 0.4, 0.3, 0.5),)
    lab = dataclasses.replace(lab, route_heads=RouteHeads(50, 3, 20, 1, "abc", (role,)))
    rows = {(row["site"], row["layer"], row["head"]): row for row in table_of(lab, tiny.PAIRS[:3])}
    assert rows["cross", 1, 2]["dead"] == 1 and rows["cross", 1, 2]["change_nats"] == 0
    assert sum(row["dead"] for row in rows.values()) < len(rows) / 2
    order = sorted(rows.values(), key=lambda row: row["rank"])
    assert [row["rank"] for row in order] == list(range(1, len(rows) + 1))
    sizes = [abs(row["change_nats"]) for row in order]
    assert sizes == sorted(sizes, reverse=True)
    for row in rows.values():
        share = max(row["start"] or 0, row["end"] or 0)
        assert row["sink_share"] == (share if share >= 0.3 else None)
        assert (row["sink"] is None) == (share < 0.3)
    assert rows["decoder", 2, 1]["role_share"] == 0.4 and rows["decoder", 2, 1]["role_sentences"] == 50
    assert {row["role"] for place, row in rows.items() if place != ("decoder", 2, 1)} == {None}
    (single, *_) = table_of(lab, tiny.PAIRS[:1])
    assert single["dead"] is None
