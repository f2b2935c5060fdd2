"""The scripts of the static site make the payloads, routes and addresses that Python makes."""

from __future__ import annotations

import base64
import json
import re
import subprocess
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import numpy as np
import pytest
from safetensors.numpy import load

from model import Decoding, Request, analyse
from model.checkpoint import find_folder
from model.experiments.routes import find_route
from model.export.schema import intervention
from model.network.transformer import build
from tests.support.viz_helpers import ROOT
from tests.viz.offline.test_engine import NODE, difference, run, sentences
from viz import page_context
from viz.classroom.talk import Stop, read_stop, stop_values
from viz.decoding_steps import beam_tree, candidates, head_map, timeline
from viz.homework import task_checks
from viz.homework.assignment import AssignmentTask, _task_values, pack, ready_assignments, values_of
from viz.kit import glosses
from viz.lessons import lessons
from viz.offline.html_export import make_context, make_view
from viz.offline.site import constants, site_files, site_page, trace_schema
from viz.state.links import parse

TEXTS = (*sentences(40)[::5], "He never drinks coffee in the evening.")
ROUTES = (("The dog didn't eat the apple because it was too hard.", 10), ("She bought a red car.", 3))
ADDRESSES = (
    "text=She+bought+a+red+car.&step=4&layer=2&head=mean&map=encoder&edits=off_cross.3.2&decode=beam&rows=shifted&rival=7",
    "branch=594-1494&path=594&causal=off&show=decoding",
    "layer=99&head=x&map=nothing&target=Bonjour&second=a&utm_source=elsewhere",
)
LESSON_STATES = (  # a lesson, and what a visitor changes
    *(("unsure", {}), ("unsure", {"step": "1"}), ("unsure", {"step": "3"})),
    *(("heads", {}), ("heads", {"head": "4"}), ("heads", {"head": "mean"}), ("heads", {"head": "4", "step": "1"})),
    *(("mask", {}), ("mask", {"causal": "off"}), ("mask", {"edits": "off_cross.1"})),
    *(("beam", {}), ("beam", {"decode": "beam"}), ("beam", {"decode": "beam", "edits": "off_cross.1"})),
    *(("ablation", {}), ("ablation", {"edits": "off_cross.1"}), ("ablation", {"edits": "off_cross.1.1"})),
    *(
        ("ablation", {"edits": "off_cross"}),
        ("ablation", {"edits": "off_cross.1~off_cross.2"}),
        ("ablation", {"edits": "off_enc.2"}),
    ),
    *(("cell", {}), ("cell", {"edits": "block_cross_11-12"}), ("cell", {"edits": "block_cross_11-all"})),
    *(
        ("cell", {"edits": "block_cross_11-3"}),
        ("cell", {"edits": "block_cross.2.1_11-12"}),
        ("cell", {"edits": "off_cross.1"}),
    ),
)
LINKS = ("first-contact", pack(ready_assignments()["small-research"].for_students()), "nothing", "~x", "~", "~" + "A" * 99)


def task_states() -> list[tuple[AssignmentTask, Stop]]:
    """Tasks of the ready assignments, each with its start and its solution, and one with every form of a check."""
    apple = {"text": ROUTES[0][0], "mode": "again", "step": "11"}
    start, cut = (Stop("why", urlencode(apple | more)) for more in ({}, {"edits": "block_cross_11-12"}))
    two = Stop("why", urlencode(apple | {"edits": "block_cross_11-12~off_cross.3.5"}))
    head = Stop("heads", urlencode(apple | {"kind": "cross", "layer": "3", "head": "2"}))
    lines = (
        'step 11 writes "il" with probability at least 0.9 in this view',
        "the translation of this view is \"Le chien n'a pas mangé la pomme parce qu'il était trop dur.\"",
    )
    looks = 'head this head puts at least 0.5 of "elle" on "</s>" in this view'
    forms = [AssignmentTask("view", "?", start, check=line, max_edits=1, edit_kind="block") for line in lines]
    ready = [task for each in ready_assignments().values() for task in each.tasks if task.solution]
    states = [(task, stop) for task in ready for stop in (task.start, task.solution)]
    return [*states, *((task, stop) for task in forms for stop in (start, cut, two)), (replace(forms[0], check=looks), head)]


BOUND = 2e-4  # of a number: a stored weight is rounded to 12 bits, a payload of Python to four or five decimals


def shown(analysis, loaded, layer: int, head: int | None, kind: str) -> dict[str, Any]:
    """Returns the payloads of the app."""
    query = f"step=1&layer={layer + 1}&head={'mean' if head is None else head + 1}&map={kind}"
    context = make_context(loaded, analysis, make_view(analysis.request, "en-fr", query))
    alpha = analysis.request.decoding.alpha
    tree = beam_tree.payload(analysis.tree, analysis.hypothesis.ids, loaded.target_tokenizer, alpha)
    return {
        "timeline": timeline.payload(analysis, loaded, layer, head, "light"),
        "candidates": candidates.payload(analysis, loaded.target_tokenizer, language="French"),
        "head_map": head_map._payload(context, None) | head_map._thumbnails(context, None),
        "tree": tree if analysis.request.decoding.has_width else None,
    }


DIFFERENT = {  # fields that the site leaves out or names differently, each for a reason
    "timeline": {"trace", "doubt", "how", "source"},  # the rate of bad translations and rare words need the corpus
    "candidates": {"trace"},
    "head_map": {"trace", "id", "acts", "names", "pictures", "step", "picture"},
    "tree": set(),
}


def differences(one: Any, other: Any, place: str = "") -> list[str]:
    """Returns where two JSON values differ by more than `BOUND`."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = {key for key in one.keys() | other.keys() if key not in ("ids",)}
        return [found for key in sorted(keys) for found in differences(one.get(key), other.get(key), f"{place}.{key}")]
    if isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        return [
            found for n, pair in enumerate(zip(one, other, strict=True)) for found in differences(*pair, f"{place}[{n}]")
        ]
    if place.endswith(("values", "bytes")):
        kind, bound = ("<f4", BOUND) if place.endswith("values") else ("u1", 1)
        arrays = [np.frombuffer(base64.b64decode(each), kind).astype(float) for each in (one, other)]
        return [] if len(arrays[0]) == len(arrays[1]) and np.abs(arrays[0] - arrays[1]).max() <= bound else [place]
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (one, other))
    if numbers:
        bound = 1e-3 if re.search(r"\]\[[23]\]$", place) else BOUND  # a logit has three decimals in the app
        return [] if abs(one - other) <= bound * max(1, abs(one)) else [f"{place}: {one} {other}"]
    return [] if one == other else [f"{place}: {one!r} {other!r}"[:200]]


def stored_trace(analysis, loaded) -> dict[str, Any]:
    """Returns a trace as the page stores it, with its weights in two parts of base64."""
    sites, parts = list(analysis.trace.patterns), []
    for chosen in (sites[5:7], sites[:5] + sites[7:]):
        weights = base64.b64encode(trace_schema.stored_weights(analysis.trace, chosen)).decode()
        parts.append({"sites": [f"{site.kind} {site.layer}" for site in chosen], "weights": weights})
    return {"trace": trace_schema.trace_of(analysis, loaded), "parts": parts}


@pytest.fixture(scope="module")
def found(shipped) -> dict[str, Any]:
    """The results of the scripts, and what Python has for them."""
    first = analyse(shipped, Request(TEXTS[0]))
    site = constants.site(shipped, first)
    requests, expected = [], []
    for number, text in enumerate(TEXTS):
        edits = "" if number % 3 else "off_cross.3.5~causal-off" if number % 2 else "block_cross.2_2-1"
        decoding = Decoding("beam") if number % 4 == 1 else Decoding()
        request = Request(
            text, decoding=decoding, mode="again", intervention=intervention(edits.split("~") if edits else [])
        )
        analysis = analyse(shipped, request)
        place = {"layer": number % 4, "head": None if number % 3 == 2 else number % 8}
        place["kind"] = ("encoder", "decoder", "cross")[number % 3]
        base = None if analysis.baseline is None else stored_trace(analysis.baseline, shipped)
        stored = stored_trace(analysis, shipped)
        made = {
            "text": text,
            "edits": edits.split("~") if edits else [],
            "width": decoding.width if decoding.has_width else 1,
        }
        requests.append(made | place | {"stored": stored, "baseline": base})
        expected.append(shown(analysis, shipped, **place))
    choices, routes = [], []
    for text, row in ROUTES:
        analysis = analyse(shipped, Request(text))
        order = np.argsort(-analysis.trace.log_probs[row])
        token, rival = (int(each) for each in order[:2])
        choices.append({"text": text, "row": row, "token": token, "rival": rival})
        routes.append(find_route(shipped, analysis, row, token, rival))
    starts = {task["name"]: dict(parse_qsl(task["start"])) for task in site["tasks"]}
    given = {"site": site, "glosses": glosses.TEXT, "requests": requests, "routes": choices, "addresses": ADDRESSES}
    given["homework"] = [[json.loads(json.dumps(_task_values(task))), stop_values(stop)] for task, stop in task_states()]
    given["links"] = LINKS
    given["lessons"] = [[name, urlencode(starts[name] | changed)] for name, changed in LESSON_STATES]
    command = [NODE, str(ROOT / "tests" / "support" / "run_site.mjs"), str(find_folder("en-fr"))]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) | {"expected": expected, "expected_routes": routes}


@pytest.mark.parametrize("source", ["engine", "python"])
def test_components_get_the_payloads_of_the_app(found, source):
    """Each component gets what the app gives it, from the trace of the engine and from that of Python."""
    for text, drawing, expected in zip(TEXTS, found["drawings"], found["expected"], strict=True):
        for name, payload in expected.items():
            if payload is None:
                continue
            left_out = DIFFERENT[name] | ({"before"} if source == "python" else set())
            wanted = {key: value for key, value in payload.items() if key not in left_out}
            given = {key: value for key, value in drawing[source][name].items() if key not in left_out}
            wanted = json.loads(json.dumps(wanted))
            assert not differences(wanted, given), (text, name, differences(wanted, given)[:5])


def test_the_route_is_that_of_python(found):
    for route, expected in zip(found["routes"], found["expected_routes"], strict=True):
        cells = [(link["kind"], link["query"], link["key"], link["hop"]) for link in route["links"]]
        assert cells == [(*link.cell, link.hop) for link in expected.links]
        pairs = [(link["effect"], own.effect) for link, own in zip(route["links"], expected.links, strict=True)]
        pairs += [(link["zeroed"], own.zeroed) for link, own in zip(route["links"], expected.links, strict=True)]
        pairs += [(link["headEffect"], own.head[2]) for link, own in zip(route["links"], expected.links, strict=True)]
        pairs += [(route["difference"], expected.difference), (route["completeness"], expected.completeness)]
        pairs += [(route["faithfulness"], expected.faithfulness), (route["control"], expected.control)]
        for own, wanted in pairs:
            assert own == pytest.approx(wanted, rel=2e-3, abs=2e-3)
        assert route["others"] == expected.tested - len(expected.links)


def test_lesson_checks_agree_with_those_of_python(found):
    """The same states give the same verdicts; each lesson is solved by one of them."""
    assert {name for name, _ in LESSON_STATES} == set(constants.TASKS)
    solved = set()
    for (name, changed), verdict in zip(LESSON_STATES, found["verdicts"], strict=True):
        lesson = lessons.find(name)
        view, faults = parse(dict(parse_qsl(urlsplit(lesson.href).query)) | changed)
        assert faults == ()
        expected = lesson.verdict(lessons.Seen(lesson.page, page_context.build(view)))
        assert verdict["solved"] == expected.solved, (name, changed, verdict, expected)
        assert verdict["said"].endswith((".", "”"))
        if expected.solved:
            solved.add(name)
    assert solved == set(constants.TASKS)


def test_addresses_are_links_of_the_app(found):
    first, second, third = found["addresses"]
    for address, query in ((first, ADDRESSES[0]), (second, ADDRESSES[1])):
        assert not address["faults"]
        view, faults = parse(dict(pair.split("=", 1) for pair in re.sub(r"\+", " ", query).split("&")))
        again, faults_again = parse(dict(pair.split("=", 1) for pair in address["written"].replace("+", " ").split("&")))
        assert (faults, faults_again) == ((), ())
        assert again == view
    assert third["kept"] == [["target", "Bonjour"], ["second", "a"]]
    assert len(third["faults"]) == 4 and all(fault.endswith(".") for fault in third["faults"])
    assert "target, second" in third["faults"][-1] and "utm" not in " ".join(third["faults"])


def test_a_small_model_opens_at_its_last_layer(shipped):
    config = replace(shipped.config, encoder_layers=2, decoder_layers=2)
    small = replace(shipped, config=config, model=build(config).eval())
    analysis = analyse(small, Request(TEXTS[0]))
    stored = json.loads(site_page._first_translation(small, analysis, constants.site(small, analysis))["view"])
    assert stored["site"]["start"]["layer"] == 1
    assert stored["stored"]["opening"] == ["decoder 1", "cross 1"]


def test_the_folder_is_small_and_asks_nobody(shipped, tmp_path):
    files = site_files.site_files(shipped, find_folder("en-fr"))
    assert sum(map(len, files.values())) < 25e6
    page = files["index.html"].decode()
    assert len(page) < 120_000
    assert any(name.startswith("site/later-") for name in files)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert "default-src 'none'" in policy and "connect-src 'self'" in policy and "unsafe" not in policy
    texts = [name for name in files if name.endswith((".js", ".html"))]
    assert not [name for name in texts if re.search(r"(?:src|href|from|fetch)\W{1,3}https?://", files[name].decode())]
    half = site_files.site_files(shipped, find_folder("en-fr"), "int8", "https://example.org/lab", reference=True)
    assert all(link in half["index.html"].decode() for link in ('href="api/index.html"', 'href="https://example.org/lab"'))
    assert "api/" not in page and "example.org" not in page
    (weights,) = (content for name, content in half.items() if name.startswith("model/weights-"))
    rounded = site_files.with_weights(shipped, load(weights))
    assert sum(
        "hidden" in lesson for lesson in constants.site(rounded, analyse(rounded, Request(TEXTS[0])))["findings"].values()
    )
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((find_folder("en-fr") / name).read_bytes())
    (tmp_path / "model.safetensors").write_bytes(weights)
    for request, result in zip(TEXTS, run(tmp_path, [{"text": text} for text in TEXTS])["results"], strict=True):
        assert difference(result, analyse(rounded, Request(request))) < BOUND
    assert sum(map(len, half.values())) < 0.55 * sum(map(len, files.values()))


def test_another_design_is_refused(shipped, tmp_path):
    with pytest.raises(ValueError, match="the site needs 'sinusoidal'"):

        class Other:
            name = "mine"
            config = type("Config", (), site_files.NEEDED | {"positions": "rotary"})

        site_files.check(Other())


def test_tasks_have_the_verdict_of_the_lab(found):
    judged = 0
    for (task, stop), result in zip(task_states(), found["tasks"], strict=True):
        if result is None or result["verdict"] is None:
            continue  # the site says that it cannot
        expected = task_checks.judge(task, stop, "cpu")
        assert result["verdict"]["solved"] == expected.solved, (task.check, stop, result, expected)
        stored = task_checks.judge(task, read_stop(result["stop"], "the answer"), "cpu")
        assert stored.solved == expected.solved, (task.check, result["stop"], stored)
        judged += 1
    assert judged >= 20


def test_assignments_of_links_are_read(found):
    ready = {name: json.loads(json.dumps(values_of(each.for_students()))) for name, each in ready_assignments().items()}
    assert found["read"][:2] == [ready["first-contact"], ready["small-research"]]
    for message in found["read"][2:]:
        assert message.endswith(".") or "expected" in message
