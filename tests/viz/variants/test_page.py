"""The page Variants, on the record of real runs of tiny models: whole, in part, damaged, and not there."""

import csv
import dataclasses
import io
import re
import zipfile
from base64 import b64decode

import numpy as np
import pytest

from model.__main__ import main
from model.trace import Site
from model.variants.designs import BASE, SEEDS, VARIANTS
from model.variants.record import FILE, Variants, read
from tests.support import tiny
from tests.support.component_helpers import cells_of
from tests.support.training_helpers import BRIEF_VARIANT
from tests.support.viz_helpers import VARIANTS as PAGE
from tests.support.viz_helpers import Lab
from viz import cache
from viz.state.page_fields import OF_VARIANTS
from viz.variants import variant_maps, variant_texts
from viz.variants.variant_maps import request_of
from viz.variants.variant_texts import MAKE

BRIEF = BRIEF_VARIANT | {"encoder_layers": 2, "validate_every": 1}
TEXT = "The red fox sees a lamp."


@pytest.fixture(scope="session")
def shipped(pair_files, tmp_path_factory):
    """The folder that is made for the lab: two seeds of the base and one of a single head, trained, paired and shipped."""
    folder, (train, dev) = tmp_path_factory.mktemp("variants"), map(str, pair_files)
    asked = ["variants", "--data", train, "--dev", dev, "--test", dev, "--out", str(folder / "runs"), "--device", "cpu"]
    asked += tiny.options(**BRIEF)
    assert main([*asked, "--only", BASE, "--seed", "1,2"]) == 0
    assert main([*asked, "--only", "heads-1", "--seed", "1"]) == 0
    assert main([*asked, "--only", BASE, "--seed", "1,2", "--same-heads", "3"]) == 0
    assert main([*asked, "--ship", str(folder / "shipped")]) == 0
    return folder / "shipped"


@pytest.fixture
def record(shipped) -> Variants:
    return read(shipped / FILE)


@pytest.fixture
def there(shipped, monkeypatch):
    """The lab has the record and its checkpoints."""
    monkeypatch.setenv("CHECKPOINTS", str(shipped))
    cache.clear_all()
    yield shipped
    cache.clear_all()


def opened(**link: str) -> Lab:
    return Lab(PAGE, text=TEXT, device="cpu", **link)


def rows_of(lab: Lab) -> list[str]:
    """The rows of the table of designs."""
    (table,) = [text for text in lab.html if "<tbody>" in text]
    return [re.sub(r"<[^>]+>", " ", row) for row in re.findall(r"<tr.*?</tr>", table.partition("<tbody>")[2])]


def test_the_table_has_every_design_with_its_mean(there, record):
    lab = opened()
    rows = rows_of(lab)
    for row, design in zip(rows, VARIANTS.values(), strict=True):
        assert design.title in row
    base = record.find(BASE)
    assert [run.seed for run in base.runs] == [1, 2]
    assert f"{np.mean([run.bleu for run in base.runs]):.2f}" in rows[0]
    assert "not scored yet" in rows[1] and variant_texts.FEW in rows[list(VARIANTS).index("heads-1")]
    (warning,) = lab.warnings
    assert warning.startswith(f"{len(VARIANTS) * len(SEEDS) - 3} of {len(VARIANTS) * len(SEEDS)} runs are not there yet")
    assert MAKE in warning
    assert f"{record.target_tokens:,} target tokens" in lab.text


def charts_of(lab: Lab) -> list[dict]:
    return lab._mounted(".charts")["charts"]


def test_the_chart_draws_each_seed_and_their_mean(there, record):
    for score in ("bleu", "chrf", "dev_loss"):
        (chart,) = charts_of(opened(score=score))
        base = [getattr(run, score) for run in record.find(BASE).runs]
        found = [trace["x"] for trace in chart["figure"]["data"]]
        assert pytest.approx(base) in found and [pytest.approx(np.mean(base))] * 2 in found
    (chart,) = charts_of(opened(by="speed"))
    assert chart["figure"] is None and "not measured yet" in chart["note"]
    assert charts_of(opened(by="parameters"))[0]["figure"]
    assert [chart["title"].removesuffix(": not scored yet") for chart in charts_of(opened(about="curves"))] == [
        each.title for each in VARIANTS.values()
    ]


@pytest.mark.parametrize(("link", "part"), [({"about": "heads"}, "heads"), ({"large": "3"}, "maps"), ({}, "scores")])
def test_a_lecture_shows_the_part_of_the_link(there, link, part):
    view = opened(lecture="on", **link).view
    assert (view.of_variants, OF_VARIANTS[view.large - 1]) == (part, part)


def test_a_click_adds_or_removes_a_variant():
    names = tuple(VARIANTS)
    assert variant_maps.toggled(names[:2], names[1]) == names[:1]
    assert variant_maps.toggled(names[1:2], names[0]) == names[:2]
    assert variant_maps.toggled(names[:4], names[5]) == (*names[:3], names[5])


def test_a_missing_head_is_named_beside_the_maps(there, record):
    lab = opened(about="maps", beside="base~heads-1", beside_kind="encoder", beside_layer="1", beside_head="2")
    assert len(lab.maps) == 1
    assert "It has one head, so there is no head 2." in lab.text
    shown = cells_of(lab.maps[0])
    known = (
        cache.analyse(request_of(TEXT, variant_maps.available(record)[BASE]), "cpu")
        .full_pass.view(Site("encoder", 0), 1)
        .values
    )
    np.testing.assert_allclose(shown, known, atol=1e-6)
    assert "Not in this lab: As in 2017" in lab.text
    lab.pick("beside_head", None)
    assert lab.link["beside_head"] == "mean" and len(lab.maps) == 2
    assert "It has no cross-attention in layer 2." in opened(about="maps").text


def test_the_numbers_are_those_of_the_record(there, record):
    for part, names in (("scores", {"variants", "runs"}), ("heads", {"pairs", "roles"})):
        lab = opened(about=part)
        lab.data.saved_file = (0, "7")
        content = b64decode(lab.run().save["file"]["bytes"])
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert {name.removesuffix(".csv") for name in archive.namelist()} == names
            if part == "scores":
                _, *rows = csv.reader(io.StringIO(archive.read("runs.csv").decode("utf-8-sig")))
                runs = [(each.name, run.seed, run.bleu) for each in record.variants for run in each.runs]
                assert [(r[0], int(r[1]), float(r[2])) for r in rows] == runs


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda text: text[:-30], f"{FILE} is no valid JSON"),
        (lambda text: text.replace('"schema": 2', '"schema": 9'), f"{FILE}: 'schema' is 9; expected 2. Make it anew"),
        (None, f"No variants have been trained yet: “{MAKE}”"),
    ],
)
@pytest.mark.parametrize("part", ["scores", "maps"])
def test_a_missing_or_damaged_record_is_one_sentence(shipped, tmp_path, monkeypatch, damage, said, part):
    monkeypatch.setenv("CHECKPOINTS", str(tmp_path))
    monkeypatch.setattr("model.variants.record.search_folders", lambda: (tmp_path,))
    if damage:
        (tmp_path / FILE).write_text(damage((shipped / FILE).read_text()))
    lab = opened(about=part)
    (told,) = [*lab.faults, *lab.sentences("lab-variants-none")]
    assert told.startswith(said) and MAKE in told
    assert bool(lab.faults) == bool(damage)
    assert lab.charts == []


def seeded(record: Variants, name: str, *bleus: float):
    own = record.find(BASE)
    runs = tuple(dataclasses.replace(own.runs[0], seed=n, bleu=bleu) for n, bleu in enumerate(bleus, 1))
    return dataclasses.replace(own, name=name, title=VARIANTS[name].title, runs=runs)


def test_verdicts_follow_the_spread(record):
    known = {BASE: (30, 31, 32), "gelu": (31, 32, 33), "swiglu": (33, 40, 33), "modern": (36, 37, 38), "heads-1": (40,)}
    base, near, wide, far, lone = (seeded(record, name, *bleus) for name, bleus in known.items())
    whole = dataclasses.replace(record, variants=(base, near, wide, far, lone))
    told = [variant_texts.reading(whole, each, "bleu") for each in whole.variants]
    assert told == ["the base", variant_texts.WITHIN, variant_texts.UNSURE, "clearly better", variant_texts.FEW]
    worse = dataclasses.replace(whole, variants=(far, base), base="modern")
    assert variant_texts.reading(worse, base, "bleu") == "clearly worse"
    assert variant_texts.verdict(whole, "bleu") == "BLEU: As today (+6.00) differs clearly from the base (Pre-norm, 4 heads)"
    assert "1 within the spread, 1 apart, not sure, 1 with too few seeds." in variant_texts.honest(whole, "bleu")
    assert variant_texts.seeds(whole) == "1 to 3 seeds each"
    three = dataclasses.replace(record, variants=(base, near, wide))
    assert variant_texts.verdict(three, "bleu") == "BLEU: no design differs clearly from the base (Pre-norm, 4 heads)"
    assert "of equal designs 10% do that" in variant_texts.honest(three, "bleu")
    few = dataclasses.replace(record, variants=(base, lone))
    assert "no difference can be told yet" in variant_texts.verdict(few, "bleu")
    assert "not trained yet" in variant_texts.verdict(dataclasses.replace(record, variants=(near,)), "bleu")
