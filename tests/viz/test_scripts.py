"""The scripts of the components: payloads have what they read, no markup is made, pure parts run in node."""

import json
import math
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import playwright
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from model import checkpoint as checkpoints
from tests.support import tiny
from tests.support.viz_helpers import COMPARE, HEADS, INSIDE, LESSONS, POSITIONS, ROOT, TRAINING, WHAT_IF, WHY, Lab
from viz.kit import mount

SCRIPTS = sorted((ROOT / "viz").rglob("*.js"))
STORE = ROOT / "viz" / "kit" / "browser_store.js"
MAINS = [path for path in SCRIPTS if "export default" in path.read_text(encoding="utf-8") and path != STORE]
DOORS = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "srcdoc", "Function(")
TALK_PAGE = ROOT / "viz" / "offline" / "talk_page.js"
SHARED = (ROOT / "viz" / "kit" / "mount.js").resolve()
NODE = Path(playwright.__file__).parent / "driver" / "node"  # the one that the browser tests bring along

# What the scripts call the things that are in a payload, and where these are; `*` stands for each.
NAMES: dict[str, dict[str, str]] = {
    "timeline": {"token": "source.*"},
    "beam_tree": {"node": "nodes.*", "child": "nodes.*", "nodes[n]": "nodes.*"},
    "all_heads": {"grid": "grids.*", "metric": "metrics.*"}
    | {name: name for name in ("chosen", "together")}
    | {"agreement": "chosen.agreement"},
    "stages": {"each": "stages.*", "table": "stages.*.tables.*", "lines": "stages.*.code.*", "s": "stages.*.shapes.*"},
    "tokens": {"line": "lines.*", "word": "lines.*.words.*"},
    "blueprint": {"block": "blocks.*", "it": "blocks.*"},
    "switchboard": {"grid": "grids.*", "g": "grids.*"},
    "button_groups": {"group": "groups.*"},
    "change_list": {"move": "moves.*"},
    "route": {"link": "links.*"},
    "sum": {"grid": "grids.*", "row": "rows.*"},
    "patch_grids": {"grid": "grids.*"},
    "player": {"grid": "grids.*", "sentence": "sentence", "task": "task"},
    "side_by_side": {"grid": "grids.*", "difference": "difference"},
    "judged": {"each": "labels.*"},
    "word_table": {"row": "rows.*"},
}
# What a script keeps on a thing itself, and what it reads of a plate, which stands for layers that are not open.
OWN = {"grid": {"cells", "raw", "off"}, "it": {"from", "to", "opens"}}
NOT_DRAWN = {
    "train_one": {"step", "grids", "chosen", "together"}
}  # read by parts of the player's script that it does not draw
OPENED = [
    ("viz/translate/page.py", {"show": "decoding", "decode": "beam", "talk": "masks"}),
    ("viz/translate/page.py", {"show": "cache"}),
    *(("viz/translate/page.py", {"lecture": "on"} | large) for large in ({"large": "2"}, {})),
    (HEADS, {"sites": "all"}),
    (HEADS, {"over": "corpus", "text": "The dog sleeps."}),
    *((INSIDE, {"part": part}) for part in ("stages", "writers", "tokens", "map", "embeddings")),
    *((WHAT_IF, link) for link in ({}, {"lecture": "on"}, {"lecture": "on", "large": "2"})),
    *((WHY, link) for link in ({}, {"why": "sum"}, {"why": "readings", "lecture": "on"}, {"why": "readings"})),
    (COMPARE, {"text": "The dog is tired.", "kind": "cross"}),
    (COMPARE, {"text": "I am tired.", "compare": "patching"}),
    *((POSITIONS, {"lecture": "on", "large": large}) for large in ("1", "8")),
    *((LESSONS, {"lesson": lesson}) for lesson in ("cell", "attention")),
    (LESSONS, {"learn": "homework"}),
    (WHY, {"assignment": "first-contact", "task": "6"}),
    (WHY, {"assignment": "first-contact", "task": "6", "author": "on"}),
    (TRAINING, {}),
    (TRAINING, {"training": "train_one", "lecture": "on"}),
    ("viz/translate/page.py", {"checkpoint": "judges"}),
]


def reads(script: str, name: str) -> set[str]:
    """The fields that a script reads of what it calls by a name: `name.field`, `name?.field`, `const { field } = name`."""
    called = re.escape(name)
    at = r"(?:(?<![\w\"'-])(?<![\w)\]]\.)|(?<=state\.)|(?<=args\.))"  # not a part of something else
    fields = set(re.findall(rf"{at}{called}\??\.(\w+)\b(?!\s*\()", script))
    for inner in re.findall(rf"\{{([^{{}}]*)\}}(?: = | of ){called}s?(?![\w.])", script):
        fields |= {field.split(":")[0].strip() for field in inner.split(",")}
    return fields


def within(data: Any, path: str) -> list[Any]:
    """Returns the values at a path of a payload."""
    found = [data]
    for part in path.split("."):
        found = [each for one in found for each in (one if part == "*" else [one.get(part) or {}])]
    return found


def missing(name: str, payload: dict[str, Any], script: Path) -> dict[str, set[str]]:
    """Returns the fields that a script reads and the payload lacks, by the name of the value in the script."""
    lacking = {"data": reads(mount.joined(script), "data") - set(payload) - NOT_DRAWN.get(name, set())}
    own = mount.joined(script, [SHARED])
    for called, path in NAMES.get(name, {}).items():
        held = [set(each) for each in within(payload, path)]
        there = set.intersection(*held) if held else set()
        lacking[called] = reads(own, called) - OWN.get(called, set()) - {"length"} - there
    return {called: fields for called, fields in lacking.items() if fields}


CHECKS: dict[str, mount.Check] = {}  # of the events of all components that the fixture below mounts
SHOWN: dict[str, str] = {}  # the texts of those pages and components
OTHER_FORMS = re.compile(  # of a head's name, and of a probability: sums and metrics have a sign or a unit
    r"\b[Ll]ayer \d+\W+(?:and )?head \d|\bL\d+ ?[Hh]\d|attention \d+\.\d|\b(?:Enco|Deco|Cro)\w+ \d+\.\d|(?:coder|cross)\d|"
    r"\b[Hh]ead \d+(?:\.\d+)? (?:puts|writes|looks|wrote)|(?<![\w.,+−-])[01]\.\d{3,}(?!\d| nats| logits| s\b| ms| added)"
)


@pytest.fixture(scope="module")
def payloads(tokenizer, tmp_path_factory) -> Iterator[dict[str, dict[str, Any]]]:
    """The payload of every component on its page, by the component's name; a classifier has some of its own."""
    home, found, shown = tmp_path_factory.mktemp("judges"), {}, mount.Component.mount
    checkpoints.save(tiny.classifier(tokenizer), home / "judges")

    def noted(component, key, data, events=None, *others, **options):
        CHECKS.update({f"{key} {name}": check for name, (check, _) in (events or {}).items()})
        shown(component, key, data, events, *others, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CHECKPOINTS", str(home))
        patch.setattr(mount.Component, "mount", noted)
        for page, link in OPENED:
            lab = Lab(page, **({"text": "The dog sleeps."} | link))
            SHOWN[f"{page} {link}"] = json.dumps(lab.text, ensure_ascii=False)
            assert lab.save
            if "lecture" in link:
                lab.open("present panel 0")
            for element in lab.app_test.get("bidi_component"):
                name = element.proto.component_name.rpartition(".")[2]
                if name not in ("browser_store", "stored_part"):
                    found[name] = lab.payload(element.proto)
                    SHOWN[f"{page} {link} {name}"] = json.dumps(found[name], ensure_ascii=False)
        yield found


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(("cross", "encoder"))
FIELDS = ("kind", "layer", "head", "query", "key", "step", "token", "text", "side", "to", "merge", "mass", "number")
JUNK = st.recursive(PLAIN, lambda each: st.lists(each, max_size=2) | st.dictionaries(st.sampled_from(FIELDS), each))


@settings(derandomize=True, deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_junk_of_a_browser_is_never_taken(payloads, data):
    name, junk = data.draw(st.sampled_from(sorted(CHECKS))), data.draw(JUNK)
    taken = mount._checked(CHECKS[name], lambda: junk)
    for part in taken or ():
        assert not isinstance(part, int | float) or -1 <= part < 100_000, (name, junk)
    for wrong in (dict.fromkeys(FIELDS, 10**9), [], 10**9, -1, math.nan, {"kind": "other", "layer": 1, "head": 1}):
        taken = mount._checked(CHECKS[name], lambda wrong=wrong: wrong)
        assert not any(part in (10**9, "other") for part in taken or ()), name


def test_heads_and_probabilities_have_one_form(payloads):
    lengths = re.compile(r"\b(?:mean|spread|length)[a-z ]* \d[\d.]*(?: to [\d.]+)?", re.IGNORECASE)
    scores = re.compile(r"q · k = [\d.]+|[\d.]+ / √\d+ = [\d.]+|exp\([\d.]+\)|a score of\s+[\d.]+")  # may be under 2, too
    found = {
        where: scores.sub("", lengths.sub("", " | ".join(re.findall(r'"([^"]*)"', data)))) for where, data in SHOWN.items()
    }
    assert {where: OTHER_FORMS.findall(text) for where, text in found.items() if OTHER_FORMS.search(text)} == {}


def test_every_component_is_mounted_somewhere(payloads):
    assert set(payloads) == {path.stem for path in MAINS}


@pytest.mark.parametrize("path", MAINS, ids=lambda path: path.stem)
def test_whatever_a_script_reads_is_in_its_payload(payloads, path):
    payload = payloads[path.stem]
    assert missing(path.stem, payload, path) == {}
    for key in reads(mount.joined(path), "data") - NOT_DRAWN.get(path.stem, set()):
        assert missing(path.stem, {name: value for name, value in payload.items() if name != key}, path)


@pytest.mark.parametrize("path", MAINS, ids=lambda path: path.stem)
def test_the_joined_script_is_one_module(path, tmp_path):
    """No name is declared twice by files that stand together in the browser."""
    whole = tmp_path / "whole.mjs"
    whole.write_text(mount.joined(path), encoding="utf-8")
    done = subprocess.run([NODE, "--check", whole], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_pure_parts():
    tests = sorted((ROOT / "tests" / "viz" / "js").glob("*.test.mjs"))
    command = [NODE, "--test", "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", *tests]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert tests and done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_is_short_and_makes_no_markup_from_text(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    frames = ["srcdoc"] if path == TALK_PAGE else []  # of HTML files that the lab wrote, under one policy
    assert [door for door in DOORS if door in text] == frames
    if path.resolve() == SHARED:
        assert text.count("node.textContent = text") == 2
