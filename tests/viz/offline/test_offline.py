"""A page as one HTML file: it holds what the page draws, nothing gets in, and the command line writes it."""

import base64
import dataclasses
import hashlib
import itertools
import json
import re
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model import Decoding, Intervention, Request, Site, analyse
from model.__main__ import main
from model.checkpoint import find_folder
from tests.support import tiny
from tests.support.command_line_helpers import fails
from viz import computations, page_context
from viz.heads import all_heads
from viz.offline import document, html_export
from viz.state.links import link, parse
from viz.state.view import View
from viz.what_if.switchboard import BOARD

TARGET = "Lo varun mira."  # untrained, it would write on and on
HOSTILE = "The </script><script>alert(1)</script> <img src=x onerror=alert(1)> fox."


class Read(HTMLParser):
    """The tags of a file, and the text of those with an id."""

    def __init__(self, file: bytes) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: dict[str | None, str] = {}
        self.policy = ""
        self._at: str | None = None
        self.feed(file.decode())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        given = dict(attrs)
        self._at = given.get("id") or tag
        if "http-equiv" in given:
            self.policy = given["content"]

    def handle_data(self, data):
        self.texts[self._at] = self.texts.get(self._at, "") + data


def contents(file: bytes) -> dict:
    """Returns the content of a file, with numbers and long texts in place of their references."""
    read = Read(file)
    view, raw = (zlib.decompress(base64.b64decode(read.texts[name])) for name in ("view", "numbers"))
    view = json.loads(view)
    whole = np.frombuffer(raw, np.uint8).reshape(4, -1).T.copy().view("<i4").ravel() / document.STEPS
    numbers = np.split(whole, np.cumsum(view["counts"])[:-1])

    def restored(value):
        if isinstance(value, list):
            return [restored(each) for each in value]
        if not isinstance(value, dict):
            return value
        if document.REFERENCE in value:
            kind, n, *columns = value[document.REFERENCE]
            kept = view["texts"] if kind == "texts" else numbers
            return kept[n].reshape(-1, *columns).tolist() if columns else kept[n]
        return {key: restored(each) for key, each in value.items()}

    return restored({name: each for name, each in view.items() if name != "texts"})


def chosen(view: dict, choice: int, *values) -> dict:
    """The parts of a file after a choice."""
    made = json.loads(json.dumps(view["parts"], default=lambda array: array.tolist()))
    options = view["choices"][choice]
    return patched(made, options["patches"][options["options"][json.dumps(values, separators=(",", ":"))][0]])


def patched(made: dict, patch: list) -> dict:
    """Parts with a patch: each of its paths leads to something that is there."""
    for path, value in patch:
        at = made
        for key in path[:-1]:
            at = at[key]
        assert path[-1] in (at if isinstance(at, dict) else range(len(at)))
        at[path[-1]] = value
    return made


@pytest.fixture(scope="module")
def make_file(tiny_checkpoint):
    """Makes the file of a page on the made-up checkpoint."""

    def make(name: str, text: str = "The fox sees a boat.", query: str = "", **changes) -> bytes:
        request = Request(text, target=TARGET)
        query = query or ("?lesson=attention" if name == "lessons" else "")
        view = html_export.make_view(request, "tiny", query, **({"layer": 0, "head": 0} | changes))
        loaded = dataclasses.replace(tiny_checkpoint, folder=find_folder("en-fr") if name == "training" else None)
        return html_export.file_of(name, html_export.make_context(loaded, analyse(tiny_checkpoint, request), view))

    return make


@pytest.mark.parametrize("name", [name for name in html_export.names() if name != "compare"])
def test_a_file_holds_its_policy_and_no_foreign_source(make_file, name):
    read = Read(file := make_file(name, HOSTILE))
    assert len(set(parts := re.findall(r'<div class="part-(\w+)"', file.decode()))) == len(parts) > 3 * (name == "training")
    assert "img" not in read.tags and "link" not in read.tags
    assert read.tags.count("script") == 1 + read.tags.count("template") + 2  # with a style for each part, and the data twice
    assert set(re.findall(r"https?://[^\s\"'`)]*", file.decode())) <= {"http://www.w3.org/2000/svg"}
    for tag in ("script", "style"):
        text = re.search(rf"<{tag}>(.*?)</{tag}>", file.decode(), re.S)[1]
        assert f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in read.policy
    assert read.policy.startswith("default-src 'none'; ") and "unsafe" not in read.policy
    assert read.texts.get("dd", "").startswith(HOSTILE) != (name == "training")  # which shows no sentence


def test_file_prints_on_landscape_paper_and_holds_no_typeface(make_file):
    file = make_file("heads").decode()
    assert 'id="print"' in file and "@page { size: A4 landscape" in file
    assert "@font-face" not in file and "font-src" not in file
    parts = contents(make_file("translate"))["parts"]
    assert parts["candidates"]["fault"] == "" and parts["timeline"]["guess"] is False
    assert contents(make_file("heads", query="find=cross_1_1"))["parts"]["all_heads"]["find"] is None


def test_the_same_view_gives_the_same_bytes(make_file):
    assert make_file("heads", "The fox.") == make_file("heads", "The fox.") != make_file("heads", "The fox.", kind="cross")


def test_any_head_of_a_file_equals_the_trace(make_file, tiny_checkpoint):
    view = contents(make_file("heads", kind="cross"))
    analysis = analyse(tiny_checkpoint, Request("The fox sees a boat.", target=TARGET))
    for kind, layer, head in [("cross", 1, 2), ("encoder", 2, 1), ("decoder", 1, None)]:
        found = chosen(view, 0, kind, layer, head, "none", "mean")["all_heads"]["chosen"]
        site = next(site for site in analysis.full_pass.sites(kind) if site.layer == layer - 1)
        shown = analysis.full_pass.view(site, None if head is None else head - 1)
        assert (found["kind"], found["layer"], found["head"]) == (kind, layer, head)
        assert found["keys"] == list(shown.keys)
        np.testing.assert_allclose(found["values"], shown.values.ravel(), atol=0.5001 / document.STEPS)
        assert [f"{v:.5f}" for v in np.float32(found["values"])] == [f"{v:.5f}" for v in shown.values.ravel()]
    patterns = analysis.full_pass.patterns
    for average, head, expected in (
        ("none", None, patterns[Site("cross", 1)]),
        ("head", 2, np.stack([patterns["cross", n][1] for n in (0, 1)])),
        ("layers", None, np.concatenate([patterns["cross", n] for n in (0, 1)])),
    ):
        found = chosen(view, 0, "cross", 2, head, average, "max")["all_heads"]["chosen"]
        np.testing.assert_allclose(found["values"], expected.max(0).ravel(), atol=0.5001 / document.STEPS)
        assert found["readAs"].endswith("Rows need not add up to 1")


def test_all_that_can_be_chosen_is_there_once(make_file):
    view = contents(make_file("heads", kind="cross", head=None, together=True))
    for choice in view["choices"]:
        own = json.dumps([view["state"][field] for field in choice["fields"]], separators=(",", ":"))
        assert own in choice["options"]
        assert len({json.dumps(each, default=np.ndarray.tolist) for each in choice["patches"]}) == len(choice["patches"])
    (place, _, together, _) = view["choices"]
    assert place["patches"][place["options"]['["cross",1,null,"none","mean"]'][0]] == []
    assert together["patches"][together["options"]["[true]"][0]] == []
    assert together["patches"][together["options"]["[false]"][0]] == [[["all_heads", "together"], None]]


def test_what_a_choice_does_not_change_is_computed_once(make_file, monkeypatch):
    compute, calls = all_heads.grids, []
    monkeypatch.setattr(all_heads, "grids", lambda *args: calls.append(args) or compute(*args))
    file = make_file("heads")
    assert sum(len(choice["patches"]) for choice in contents(file)["choices"]) > 10
    assert len(calls) == 2  # of each theme


def test_translate_follows_layer_and_head(make_file, tiny_checkpoint):
    view = contents(make_file("translate"))
    whole = analyse(tiny_checkpoint, Request("The fox sees a boat.", target=TARGET)).full_pass
    found = chosen(view, 0, 2, 2)
    np.testing.assert_allclose(found["timeline"]["cross"], whole.view(Site("cross", 1), 1).values, atol=1e-5)
    assert found["timeline"]["where"]["cross"] == "cross 2.2"
    for map, kind in zip(found["file_maps"]["maps"], whole.kinds, strict=True):
        values = whole.view(Site(kind, 1), 1).values
        np.testing.assert_allclose(map["values"], values.ravel(), atol=0.5001 / document.STEPS)
    assert view["choices"][0]["options"]["[2,null]"][1] == {"layer": "2", "head": "mean"}


def test_a_large_model_has_one_layer_in_a_file(tokenizer):
    sizes = {"d_model": 64, "heads": 16, "encoder_layers": 5, "decoder_layers": 5}
    checkpoint, request = tiny.checkpoint(tokenizer, **sizes), Request("The fox.", target=TARGET)
    view = html_export.make_view(request, "tiny", layer=2, head=1)
    context = html_export.make_context(checkpoint, analyse(checkpoint, request), view)
    view = contents(html_export.file_of("translate", context))
    assert list(view["choices"][0]["options"]) == [f"[3,{head}]" for head in ("null", *range(1, 17))]
    assert [pick["label"] for pick in view["picks"]] == ["Head of layer 3 of 5, the one that this file holds"]


@pytest.mark.parametrize("family", ["encoder-only", "decoder-only"])
def test_a_view_is_fitted_to_its_family_as_on_the_page(tokenizer, family):
    lacking = {"encoder-only": "decoder_layers", "decoder-only": "encoder_layers"}[family]
    checkpoint, request = tiny.checkpoint(tokenizer, family=family, **{lacking: 0}), Request("The fox.")
    analysis = analyse(checkpoint, request)
    context = html_export.make_context(checkpoint, analysis, html_export.make_view(request, "tiny", layer=1, guess=True))
    assert context.view.kind in checkpoint.config.kinds and context.view.guess
    assert f"<h1>{analysis.task.title}</h1>".encode() in html_export.file_of("translate", context)
    cached = dataclasses.replace(context, view=dataclasses.replace(context.view, show="cache"))
    for each in (context, cached):  # a file has the maps, whatever the page shows
        content = contents(html_export.file_of("translate", each))
        assert content["large"] == [["timeline", ".timeline"], ["file_maps", ".maps"]]
    with pytest.raises(ValueError, match=r"There is no cross-attention; this checkpoint has .* self-attention\."):
        html_export.make_context(checkpoint, analysis, html_export.make_view(request, "tiny", kind="cross"))


def test_head_effects_are_not_measured_again():
    context = page_context.build(View(source="I am tired.", intervention=Intervention().with_edit("off_cross.3.5")))
    plain = dataclasses.replace(context.request, intervention=Intervention())
    call, kinds = computations.HEAD_EFFECTS, context.analysis.trace.kinds
    known = [computations.result(plain, context.view.device, call(kind), lambda share: None) for kind in kinds]
    assert all(one is other for one, other in zip(BOARD.result(context), itertools.chain(*known), strict=True))


VALUES = st.recursive(
    st.integers() | st.none(), lambda each: st.lists(each, max_size=3) | st.dictionaries(st.sampled_from("abc"), each)
)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.fixed_dictionaries({"a": VALUES, "b": VALUES}), st.fixed_dictionaries({"a": VALUES, "b": VALUES}))
def test_a_difference_makes_one_value_of_the_other(one, other):
    patch = document.difference(one, other)
    assert patched(json.loads(json.dumps(one)), patch) == other and (patch == []) == (one == other)


def test_the_link_of_a_file_asks_for_its_request(tiny_checkpoint):
    asked = Request(
        "The fox sees. The king paints.",
        "tiny",
        decoding=Decoding("sample", temperature=0.5, seed=3),
        intervention=Intervention(causal_mask=False).with_edit("off_cross.1.2"),
        mode="again",
    )
    view = html_export.make_view(asked, "tiny", "heads?order=entropy", step=1)
    again, faults = parse(link(view))
    assert (again.request(), faults) == (asked, ())
    assert (again.order, again.step) == ("entropy", 1)
    with pytest.raises(ValueError, match="The link's layer is “x”; expected"):
        html_export.make_view(asked, "tiny", "layer=x")


def test_a_file_from_the_command_line(home, tmp_path, capsys):
    file = tmp_path / "fox.html"
    command = ["export", "The fox.", "--html", str(file), "--checkpoint", str(home), "--device", "cpu", "--target", TARGET]
    assert main([*command, "--page", "heads", "--site", "enc", "--layer", "2", "--head", "mean"]) == 0
    state = contents(file.read_bytes())["state"]
    assert (state["kind"], state["layer"], state["head"]) == ("encoder", 2, None)
    capsys.readouterr()
    assert "fox.html is there already; give another name" in fails(capsys, *command)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--html", "{}/nowhere/fox.html"], "there is no folder"),
        (["--html", "{}/" + "x" * 300 + ".html"], "cannot be written"),
        (["--page", "posit"], "Page 'posit' cannot be exported; expected one of tran"),
        (["--head", "0"], "the head is '0'; expected a number from 1, or mean"),
        (["--layer", "9"], "There is no layer 9; expected one of 1 to "),
        (["--site", "middle"], "the attention is 'middle'; expected one of encoder, decoder, cross"),
    ],
)
def test_a_refused_export_is_one_line(home, tmp_path, capsys, options, message):
    before = sorted(tmp_path.iterdir())
    asked = [each.format(tmp_path) for each in ("--html", "{}/fox.html", *options)]
    assert message in fails(capsys, "export", "The fox.", "--checkpoint", str(home), "--device", "cpu", *asked)
    assert sorted(tmp_path.iterdir()) == before
