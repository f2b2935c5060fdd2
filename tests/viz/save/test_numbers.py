"""The tables of every page hold what is shown, and the lines of Python that go with them compute the same numbers."""

import dataclasses
import functools
import io
import itertools
import zipfile
from typing import Any

import numpy as np
import pytest

from model import checkpoint as checkpoints
from model.export import read
from model.export.checks import Lab
from model.export.checks import parse as parse_checks
from model.inference import analyse
from tests.support import tiny
from viz import cache, page_context, pages
from viz.kit.panel import layout_of
from viz.page_context import PageContext, Places
from viz.save.saved_files import HOOKS_END, analysis_file, offers
from viz.state.links import parse

HOMES = {page.name: layout_of(page) for page in pages.PAGES}
LOAD = functools.cache(analyse.load)
TEXT = "The dog didn't cross the street because it was too shy."
SHORT = "The red fox sleeps."
EDITS = "off_cross.3.5~mean_enc.2.1~patch_enc.2_3~donor_The old fox sleeps."


def shown(**link: str) -> PageContext:
    """What a page would draw of a link, on the shipped checkpoint."""
    view, faults = parse({"text": SHORT, "device": "cpu", **link})
    assert faults == ()
    data = page_context.build(view)
    assert data.faults == ()
    return dataclasses.replace(
        data, view=data.view.within(len(data.analysis.trace.predicted_axis)), places=Places(None, None)
    )


def numbers(table: Any, *columns: str) -> np.ndarray:
    """The numbers of some columns, row by row; without names, of all but the first, for a grid; nan where it is blank."""
    at = [table.columns.index(name) for name in columns] or range(1, len(table.columns))
    return np.array([[np.nan if row[n] is None else row[n] for n in at] for row in table.rows], dtype=np.float64)


def same(found: np.ndarray, expected: Any) -> bool:
    """Equal, number by number, wherever the table has any."""
    expected = np.asarray(expected, dtype=np.float64).reshape(found.shape)
    there = ~np.isnan(found)
    assert there.any()
    return np.array_equal(found[there], expected[there])


def run(code: str) -> dict[str, Any]:
    made: dict[str, Any] = {}
    exec(compile(code, "view.py", "exec"), made)
    return made


# Page, link, and for each table (by the beginning of its name) its columns and the same in the names that the lines make.
CODES = {"encoder": "enc", "decoder": "dec", "cross": "cross"}
MAPS = {f"attention-{code}": ((), f"maps[{kind!r}].values") for kind, code in CODES.items()}
STEPS = {"steps": (("probability",), "probabilities")}
CHANGE = {
    "change": (
        ("probability_before", "probability_after"),
        "np.stack([before, np.append(after, [np.nan] * (len(before) - len(after)))], 1)",
    )
}
KEPT = {
    "key-value-cache": (
        ("bytes_kept", "multiplications_with", "multiplications_without"),
        "[[result.nbytes(t), *both] for t, both in enumerate(zip(result.cached, result.uncached), 1)]",
    )
}
CANDIDATES = {"candidates": (("id", "log_probability"), "[[i, analysis.trace.log_probs[step, int(i)]] for i in table_ids]")}
HEAD = {
    "heads": (
        ("entropy", "largest"),
        "[[numbers[s][m][h] for m in ('entropy', 'largest')] for k in trace.kinds for s in trace.sites(k) "
        "for h in range(len(trace.patterns[s]))]",
    )
}
CONTRIBUTION = {"contribution-": ((), "values")} | HEAD
LENS = {"logit-lens": (("probability", "rank"), "np.stack([probability, rank], -1)")}
SUMS = {"sum-": (("nats",), "[v for _, v in parts] + [result.remainder, result.difference]")}
ROUTES = {"links": (("effect", "weight"), "[each[1:] for each in links]")}
SUMS |= {"by-token": (("nats",), "[v for values in by_token.values() for v in values]")}
TRAINED = {"training-heads": (("entropy",), "np.concatenate([values.ravel() for values in by_head.values()])")}
TRAINED |= {"training-validations": (("step", "dev_loss"), "losses")}
PATCHES = {"patches": (("difference_of_logits",), "[patched.before, patched.other, *pieces.values()]")}
SIZED = {"sizes": (("parameters",), "[*sizes.values()]")}
EFFECTS = {"heads-off": (("change_of_log_probability",), "[each.change for each in costs]")}
BOTH = {"before-": ((), "map_before.values"), "after-": ((), "map_after.values")}
POSITIONS = {"{}-encodings": ((), "encodings"), "{}-by-distance": (("mean",), "by_distance")}
SIDES = {"first-": ((), "first.values"), "second-": ((), "second.values")}
VIEWS: list[tuple[str, dict[str, str], dict[str, tuple[tuple[str, ...], str]]]] = [
    ("translate", {"text": TEXT, "step": "8"}, MAPS | STEPS | CANDIDATES),
    ("translate", {"head": "mean", "decode": "beam", "width": "3", "step": "2"}, MAPS | STEPS | CANDIDATES),
    ("translate", {"decode": "sample", "seed": "7", "temperature": "1.2"}, MAPS | STEPS | CANDIDATES),
    ("translate", {"show": "cache"}, STEPS | CANDIDATES | KEPT),
    ("translate", {"target": "Le renard « dort »."}, MAPS | STEPS | CANDIDATES),
    ("translate", {"edits": EDITS}, MAPS | STEPS | CHANGE),
    ("translate", {"edits": "window-3", "causal": "off", "mode": "again"}, MAPS | STEPS | CHANGE),
    ("translate", {"text": "Nine owls sleep. Ten.", "sentence": "2", "pad": "2"}, MAPS | STEPS | CANDIDATES),
    ("heads", {"kind": "cross"}, {"weights-": ((), "values")} | HEAD),
    ("heads", {"measure": "rollout", "words": "merged", "head": "mean"}, {"rollout-": ((), "values")} | HEAD),
    ("heads", {"measure": "contribution", "average": "layers", "kind": "decoder"}, CONTRIBUTION),
    (
        "heads",
        {"combine": "max", "head": "mean", "kind": "cross", "words": "merged"},
        {"weights-cross": ((), "values")} | HEAD,
    ),
    ("heads", {"combine": "max", "average": "layers", "measure": "contribution"}, CONTRIBUTION),
    ("heads", {"average": "head", "head": "2", "kind": "decoder", "measure": "contribution"}, CONTRIBUTION),
    (
        "heads",
        {"combine": "max", "average": "head", "head": "2", "words": "merged", "measure": "contribution"},
        CONTRIBUTION,
    ),
    ("heads", {"measure": "contribution", "kind": "decoder", "causal": "off", "mode": "again"}, CONTRIBUTION),
    ("inside", {"kind": "cross", "step": "2"}, {}),
    ("inside", {"part": "writers", "kind": "decoder", "step": "3"}, {"score-": ((), "values")}),
    ("inside", {"part": "map"}, {"blocks": (("parameters",), "[*each.values()]")} | SIZED),
    ("inside", {"part": "map", "size": "gpt2", "size_n": "3"}, SIZED),
    ("inside", {"part": "scale"}, {"scaling": (("variance",), "np.stack([divided.variance, undivided.variance], 1)")}),
    ("inside", {"part": "length", "kind": "decoder", "near_w": "2"}, {"linear-": ((), "linear"), "window-": ((), "window")}),
    ("inside", {"part": "lens", "edits": EDITS}, LENS),
    ("inside", {"part": "lens", "lens_rows": "sublayer"}, {"logit-lens-sublayers": LENS["logit-lens"]}),
    ("inside", {"part": "tokens"}, {"tokens": (("id",), "ids")}),
    ("inside", {"part": "embeddings", "near": "fox"}, {"neighbours": (("cosine",), "cosines")}),
    ("positions", {}, {k.format("sinusoidal"): v for k, v in POSITIONS.items()}),
    ("positions", {"scheme": "rotary", "pe_k": "3"}, {k.format("rotary"): v for k, v in POSITIONS.items()}),
    ("positions", {"scheme": "learned", "kind": "decoder"}, {k.format("learned"): v for k, v in POSITIONS.items()}),
    ("what-if", {"edits": EDITS, "mode": "again", "kind": "cross"}, CHANGE | EFFECTS | BOTH),
    ("why", {"step": "2", "why": "sum"}, SUMS),
    ("why", {"step": "2"}, ROUTES),
    ("why", {"why": "readings", "step": "2"}, {"readings": (("importance",), "np.ravel([importance[n] for n in shares])")}),
    ("compare", {"text": TEXT, "kind": "cross"}, SIDES | {"difference-": ((), "difference.values")}),
    ("compare", {"differs": "checkpoint", "other_checkpoint": "en-fr-learned"}, SIDES),
    ("training", {"grown": "entropy"}, TRAINED),
    ("compare", {"differs": "step"}, {"first-": ((), "first"), "second-": ((), "second")}),
    ("compare", {"differs": "sentence", "other_text": "The old fox sleeps.", "compare": "patching"}, PATCHES),
]


@pytest.fixture
def loaded_once(monkeypatch):
    """The lines load what the pages have loaded: what they compute with it is their own."""
    monkeypatch.setattr(analyse, "load", LOAD)


@pytest.mark.parametrize("number", range(len(VIEWS)))
@pytest.mark.every(2)
def test_the_lines_of_a_view_compute_its_numbers(number, loaded_once):
    page, link, expected = VIEWS[number]
    view = shown(**link)
    tables = HOMES[page].tables(view)
    names = [table.name for table in tables]
    assert tables and len(set(names)) == len(names)
    for table in tables:
        assert table.rows and table.csv()
    made = run(HOMES[page].python(view)) | {"np": np}
    for name, (columns, expression) in expected.items():
        found = [table for table in tables if table.name.startswith(name)]
        assert found, (name, names)
        if name == "candidates":
            made["table_ids"] = numbers(found[0], "id")[:, 0]
        assert same(numbers(found[0], *columns), eval(expression, made)), name


def test_every_stage_of_a_head_is_there(loaded_once):
    view = shown(part="stages", kind="encoder", token="3")
    made = run(HOMES["inside"].python(view))
    tables = {table.name: table for table in HOMES["inside"].tables(view)}
    found = 0
    for number, (stage, each) in enumerate(made["stages"].items(), 1):
        for values in each.values():
            own = [numbers(table) for name, table in tables.items() if name.startswith(f"{number:02}-{stage}-")]
            assert any(np.array_equal(table[: len(values)], values) for table in own)
            found += 1
    assert found == len(tables)


def test_the_whole_analysis_is_a_file_with_its_scores():
    view = shown(text=SHORT)
    found = read(analysis_file(view.analysis.request, "cpu", ".npz"))
    assert found == read(analysis_file(view.analysis.request, "cpu", ".json"))
    assert found.checkpoint == "en-fr" and found.request == view.analysis.request
    for site, pattern in view.analysis.trace.patterns.items():
        assert np.array_equal(found.patterns[site], pattern) and found.scores[site].shape == pattern.shape


@pytest.fixture
def families(tokenizer, tmp_path, monkeypatch):
    """Checkpoints of a model that lacks one side."""
    for name, changes in {"encoder-only": {"decoder_layers": 0}, "decoder-only": {"encoder_layers": 0}}.items():
        checkpoints.save(tiny.checkpoint(tokenizer, family=name, **changes), tmp_path / name)
    monkeypatch.setenv("CHECKPOINTS", str(tmp_path))
    cache.clear_all()
    yield ("encoder-only", "decoder-only")
    cache.clear_all()


def test_a_model_of_one_stack_gives_its_numbers(families, loaded_once):
    links = [("translate", {}), ("heads", {}), ("what-if", {}), ("why", {}), ("positions", {})]
    links += [("inside", {"part": part}) for part in ("stages", "writers", "scale", "tokens")]
    for family, (page, link) in itertools.product(families, links):
        view = shown(checkpoint=family, layer="1", head="1", kind=family[:7], text="The red fox.", **link)
        tables = HOMES[page].tables(view)
        assert tables and all(table.rows for table in tables)
        assert run(HOMES[page].python(view))["analysis"].translation == view.analysis.translation


def test_everything_to_be_had_of_a_view_is_made(loaded_once):
    view = shown(text=TEXT, kind="cross", step="11")
    translate = HOMES["translate"]
    found = [offer.make() for offer in offers(view, "translate", translate)]
    name = "attention-en-fr-l3-h2-step11-the-dog-didnt-cross-the-street"
    made = {file.name.removeprefix(name): file.content for file in found}
    assert set(made) == {".zip", ".npz", HOOKS_END, ".json", ".html", ".py", ".checks"}
    with zipfile.ZipFile(io.BytesIO(made[".zip"])) as archive:
        assert archive.testzip() is None
        tables = {table.name: table for table in translate.tables(view)}
        assert archive.namelist() == [f"{name}.csv" for name in tables]
        assert all(archive.read(f"{name}.csv") == table.csv() for name, table in tables.items())
    assert run(made[".py"].decode())["analysis"].translation == view.analysis.translation
    lab = Lab(view.loaded)
    said = parse_checks(made[".checks"].decode())
    assert len(said) == 10 and all(check.measure(lab).holds for check in said)
