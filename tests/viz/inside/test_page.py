"""The part "One head" of the page Inside, without a browser."""

import json

import pytest

from model.inference.request import Request
from model.trace import KINDS, Site
from tests.support.viz_helpers import HEADS, INSIDE, TRANSLATE, WHAT_IF, Lab
from viz import cache, computations
from viz.inside.stages import payload

SENTENCE = "The dog sleeps under the table."


def inside(**link: str) -> Lab:
    return Lab(INSIDE, **({"text": SENTENCE} | link))


def made(site: Site, head: int, query: int, **request):
    """The payload of a head, all from 0."""
    asked = Request(SENTENCE, **request)
    unfolded = computations.unfold(asked, "auto", site, head, query)
    return payload(unfolded, cache.checkpoint("en-fr", "auto"), cache.analyse(asked, "auto").whole, "light")


@pytest.mark.parametrize(
    ("kind", "link"),
    [("encoder", {"token": "4"}), ("decoder", {"step": "4"}), ("cross", {"step": "4"})],
)
def test_the_link_names_head_query_and_stage(kind, link):
    page = inside(kind=kind, layer="2", head="3", stage="5", **link)
    expected = json.loads(json.dumps(made(Site(kind, 1), 2, 3))) | {
        "stage": 5,
        "style": {},
        "picture": page.stages["picture"],
        "component": "stages",
    }
    assert page.stages | {"style": {}} == expected
    assert not page.warnings and not page.faults


def test_heads_layers_and_kinds_are_in_the_link():
    page = inside(stage="7")
    assert (page.stages["kind"], page.stages["layer"], page.stages["head"]) == ("encoder", 3, 2)
    for kind in KINDS[::-1]:
        assert page.pick("kind", kind).stages["kind"] == kind
    assert page.pick("layer", 1).stages["layer"] == 1
    assert page.pick("one head", 8).stages["head"] == 8
    assert (page.link["layer"], page.link["head"], page.link["stage"]) == ("1", "8", "7")
    assert page.stages["stage"] == 7 and not page.warnings


@pytest.mark.parametrize(
    ("link", "shown", "said"),
    [
        ({"stage": "99", "kind": "decoder"}, {"stage": 11}, ["There is no stage 99: this head has 11, the last is shown."]),
        ({"layer": "40", "head": "70"}, {"layer": 4, "head": 1}, ["layer 40", "head 70"]),
        ({"token": "999"}, {"query": 9}, ["There is no token 999: this sentence has 9."]),
    ],
)
def test_what_is_out_of_range_shows_the_nearest(link, shown, said):
    page = inside(**link)
    assert {name: page.stages[name] for name in shown} == shown
    assert len(page.warnings) == len(said)
    assert all(text in warning for text, warning in zip(said, page.warnings, strict=True))
    assert not page.faults


@pytest.mark.parametrize(
    ("edits", "kind", "stage"),
    [("off_cross.3.2", "cross", "mix"), ("scaling-off", "encoder", "scale"), ("skip_dec.3.self", "decoder", "residual")],
)
def test_edits_show_at_their_stage(edits, kind, stage):
    page = inside(edits=edits, kind=kind)
    assert [each["name"] for each in page.stages["stages"] if each["edited"]] == [stage]
    other = [text for text in page.html if "edit" in text]
    assert other
    assert not any(each["edited"] for each in inside(kind=kind).stages["stages"])


def test_the_place_goes_along_between_the_pages():
    page = inside(kind="cross", layer="2", head="5", step="4", stage="9")
    assert page.go(HEADS).all_heads["chosen"]["row"] == 3
    assert page.go(TRANSLATE).timeline["step"] == 4
    assert page.go(WHAT_IF).switchboard
    data = page.go(INSIDE).stages
    assert (data["kind"], data["layer"], data["head"], data["query"], data["stage"]) == ("cross", 2, 5, 4, 9)
