"""Every page on a model that only reads, and on one that only writes: what it lacks is absent, and nothing is empty."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from model import checkpoint as checkpoints
from model.config import FAMILIES
from model.task import TASKS, task_of_kinds
from model.workshop.convert.registry import convert
from tests.support import hugging_face, tiny
from tests.support.save_helpers import make_offers
from tests.support.viz_helpers import COMPARE, HEADS, INSIDE, LESSONS, POSITIONS, WHAT_IF, WHY, Lab
from viz import pages
from viz.offline import html_export
from viz.state.page_fields import DIFFERS, PARTS
from viz.variants.variant_texts import read_record

TEXT = "The red fox sees a lamp."
JUDGES = {"source_start": True, "segments": 2, "pooler": True, "follows": True}
ALONE = {"encoder-only": {"decoder_layers": 0} | JUDGES, "decoder-only": {"encoder_layers": 0}}
LACKING = {"encoder-only": ("decoder", "cross"), "decoder-only": ("encoder", "cross")}
OTHER = {"differs": "sentence", "other_text": "The old king paints a boat."}
PATCHING = OTHER | {"compare": "patching"}
VIEWS = (
    *((None, {"show": show}) for show in ("attention", "mask", "decoding", "cache")),
    *((page, {"lecture": "on", "large": large}) for page in (None, HEADS, WHAT_IF, WHY) for large in "123"),
    *((page, {}) for page in (HEADS, POSITIONS, WHAT_IF, WHY, LESSONS)),
    *((HEADS, {"sites": "all"}), (LESSONS, {"lesson": "attention"})),
    *((INSIDE, {"part": part} | lecture) for part in PARTS for lecture in ({}, {"lecture": "on"})),
    *((POSITIONS, {"lecture": "on", "large": large}) for large in "178"),
    *((WHY, {"why": "readings"} | lecture) for lecture in ({}, {"lecture": "on"})),
    *((COMPARE, OTHER | {"differs": differs}) for differs in DIFFERS),
    *((COMPARE, {"differs": "head", "lecture": "on", "large": large}) for large in "123"),
    *((COMPARE, PATCHING | lecture) for lecture in ({}, {"lecture": "on"})),
)


@pytest.fixture(scope="module", autouse=True)
def folder(tokenizer, tmp_path_factory) -> Iterator[Path]:
    """A folder with a tiny checkpoint of each family, of a language that no other has."""
    home = tmp_path_factory.mktemp("families")
    for family, sizes in ALONE.items():
        made = tiny.checkpoint(tokenizer, dtype=torch.float32, family=family, **sizes)
        checkpoints.save(dataclasses.replace(made, languages=("Danish", "Danish"), token_counts={}), home / family)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CHECKPOINTS", str(home))
        yield home


def opened(family: str, page: str | None = None, **link: str) -> Lab:
    return Lab(page, **({"checkpoint": family, "text": TEXT} | link))


def test_every_family_has_a_task():
    assert set(TASKS) == set(FAMILIES)
    for family, kinds in FAMILIES.items():
        assert task_of_kinds(kinds) is TASKS[family]
    with pytest.raises(ValueError, match="no family has the kinds of attention cross; expected those of"):
        task_of_kinds(("cross",))


@pytest.mark.parametrize("family", ALONE)
def test_every_page_opens_without_missing_parts(family):
    for page, link in VIEWS:
        lab = opened(family, page, **link)
        drawn = [c.proto.component_name for c in lab.app_test.get("bidi_component")]
        assert len(lab.faults) <= (page not in (INSIDE, POSITIONS)), (page, link)
        assert "translat" not in lab.text.lower() or lab.faults or page == LESSONS, (page, link, lab.text.lower())
        assert all("Translate" not in label for label in (b.label for b in lab.app_test.button)), (page, link)
        if "cross" in lab.text.lower():
            assert "has no" in lab.text.lower(), (page, link)
        if page == WHY and "lecture" not in link and not lab.faults:  # readings of a source where one is read
            (parts,) = (each.options for each in lab.app_test.get("button_group") if each.label == "Part")
            assert (len(parts) == 3) == (family == "encoder-only")
        if page not in (WHY, COMPARE):
            shown = lab.charts or any(name.split(".")[-1] not in ("copy_link", "tour", "watch") for name in drawn)
            assert shown or lab.faults, (page, link)


@pytest.mark.parametrize("family", ALONE)
def test_the_first_page_has_the_name_of_its_task(family):
    task = TASKS[family]
    lab = opened(family)
    assert pages.for_task(task)[0].title == task.title
    assert f"<h1>{task.question}</h1>" in " ".join(lab.html)
    assert lab.app_test.text_input(key="source").label == task.input_label
    assert lab.app_test.button(key="translate").label == task.action_label
    assert lab.timeline["language"] == "Danish"


@pytest.mark.parametrize("family", ALONE)
def test_a_missing_site_of_a_link_is_named(family):
    own = FAMILIES[family][0]
    for kind in LACKING[family]:
        if kind == "encoder":  # the default of a view is nobody's mistake
            continue
        lab = opened(family, HEADS, kind=kind, find=f"{kind}_1_1")
        assert any(re.match(f"There is no .*; this checkpoint has {own} self-attention", told) for told in lab.warnings)
        assert lab.link["kind"] == own if own != "encoder" else "kind" not in lab.link


def test_a_text_is_gone_on_with_on_the_same_timeline(tokenizer):
    lab = opened("decoder-only")
    prompt = tokenizer.encode(TEXT)
    shown = lab.timeline
    assert (shown["source"], shown["given"], shown["own"]) == ([], len(prompt), "decoder")
    assert lab.translation.startswith(TEXT)
    assert shown["step"] == np.argmin(shown["probability"][len(prompt) : -1]) + len(prompt) + 1  # the least sure
    assert opened("decoder-only", step="2").timeline["step"] == 2
    two = opened("decoder-only", text="The red fox. A lamp.")
    assert two.translation.startswith("The red fox. A lamp.") and not two.faults


def test_the_first_blank_is_shown_first(folder, tmp_path):
    kept = convert(hugging_face.save("bert", tmp_path / "source"), folder / "bert")
    shown = opened("bert", text="The red fox ___ a lamp.")
    assert shown.timeline["step"] == 5 and shown.timeline["inputs"][4]["t"] == "[MASK]"
    candidates = shown._mounted(".candidates")
    assert candidates["open"] == [n == 4 for n in range(9)]
    assert candidates["rows"][4][0][:2] == candidates["chosen"][4][:2]  # the likeliest of all
    assert shown.translation.startswith("the red fox ") and "___" not in shown.translation
    shown.data.room.question = {"number": 1, "guess": False, "step": 0}
    question = shown.run()._mounted(".frame_component")["question"]
    assert question["asks"] == "Which word fills the blank?"
    assert [question[part] for part in ("before", "gap", "after")] == ["The red fox ", "▁▁▁", " a lamp."]
    assert question["answer"] == candidates["chosen"][4][0].removeprefix("·")
    assert opened("bert", step="2", text="The red fox ___ a lamp.").timeline["step"] == 2
    assert kept.name == "bert"


@pytest.mark.parametrize("family", ALONE)
def test_every_page_is_saved_as_what_it_is(family):
    task = TASKS[family]
    for name in (page.name for page in pages.PAGES):
        lab = opened(family, f"viz/{name.replace('-', '_')}/page.py" if name != "translate" else None, **OTHER)
        given = lab.save
        sentence, facts = given["caption"]["title"], given["caption"]["facts"]
        if not pages.find(name).has_sentence:
            assert sentence == f"{pages.find(name).title} of {lab.view.checkpoint}"
        else:
            assert sentence.startswith(f"“{TEXT}” → “") if task.has_decoder else sentence == f"“{TEXT}”"
        if pages.find(name).has_step:
            assert facts["step"].startswith("step " if task.has_decoder else "token 2 of "), facts
        labels = [offer["label"] for offer in given["offers"]]
        has_content = name != "variants" or read_record().record is not None
        is_list = name == "lessons"  # without numbers and without a file: only lesson 0 has one
        numbers, file = has_content and not is_list, name in html_export.names() and has_content and not is_list
        assert ("One HTML file, works offline" in labels) is file
        assert ("What is shown, as CSV" in labels) is numbers
        wanted = ["One HTML file, works offline"] * file + ["What is shown, as CSV"] * numbers
        make_offers(lab, name, task, wanted, ("timeline", "candidates"))
