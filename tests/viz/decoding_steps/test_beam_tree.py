"""What the tree is given, and what is taken from it. Clicking is tested in a browser."""

import pytest

from model.config import END
from model.decoding.hypotheses import Hypothesis, Tree
from model.decoding.strategy import Decoding
from model.inference.analyse import analyse
from model.inference.request import Request
from tests.support.component_helpers import Mounted
from viz.decoding_steps.beam_tree import events, payload

TEXTS = ["The red fox takes a lamp.", "The old king sees a boat.", "Don't!"]
BEAM = Decoding("beam", max_total_tokens=8, width=4)
WAYS = [
    Decoding(max_total_tokens=8),
    BEAM,
    Decoding("beam", max_total_tokens=3, width=8, alpha=2.5),
    Decoding("sample", max_total_tokens=8, seed=7),
]
LONG = Hypothesis((5, 6, 7, END), (-0.5, -1.0, -0.25, -1.25))  # -3 over 1.5
SHORT = Hypothesis((5, END), (-0.5, -1.25))  # -1.75 over 7/6
LIMIT = Hypothesis((5, 8, 9, 9), (-0.5, -2.0, -2.0, -1.5))
GIVEN_UP = Hypothesis((8, 9), (-3.0, -0.5))
TREE = Tree((SHORT, LONG, LIMIT), (GIVEN_UP,))


def way(nodes: list[dict], number: int) -> list[int]:
    """The numbers of the nodes from the root to one of them."""
    found = [number]
    while (parent := nodes[found[-1]]["p"]) is not None:
        found.append(parent)
    return found[::-1]


def test_nodes_by_hand(tokenizer):
    data = payload(TREE, LONG.ids, tokenizer, 1.0)
    found = [(n["p"], n["s"], n["sc"], n["st"], n["no"]) for n in data["nodes"]]
    assert found == [
        (None, 1, -0.5, "grown", None),
        (0, 2, -1.75, "finished", -1.5),  # over (5 + 2) / 6
        (0, 2, -1.5, "grown", None),
        (2, 3, -1.75, "grown", None),
        (3, 4, -3.0, "finished", -2.0),  # over (5 + 4) / 6
        (0, 2, -2.5, "grown", None),
        (5, 3, -4.5, "grown", None),
        (6, 4, -6.0, "limit", -4.0),
        (None, 1, -3.0, "grown", None),
        (8, 2, -3.5, "pruned", None),
    ]
    assert (data["path"], data["ended"], data["leaves"]) == ([0, 2, 3, 4], [1, 4, 7], 4)
    pieces = [tokenizer.piece(i).removeprefix("·") for i in (5, END, 6, 7, END, 8, 9, 9, 8, 9)]
    assert [n["t"] for n in data["nodes"]] == pieces
    assert [data["nodes"][n]["x"] for n in data["ended"]] == [tokenizer.decode(h.ids) for h in TREE]
    for alpha, ranked in ((1.0, 3), (0.0, 3), (None, 0)):  # only paths that have ended have a rank
        nodes = payload(TREE, SHORT.ids, tokenizer, alpha)["nodes"]
        assert sum(node["no"] is not None for node in nodes) == ranked
        assert all(node["no"] in (None, node["sc"]) for node in nodes) == (alpha != 1.0)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("decoding", WAYS, ids=lambda d: f"{d.strategy} {d.width} {d.alpha}")
def test_every_prefix_of_a_path_has_one_node(tiny_checkpoint, text, decoding):
    analysis, tokenizer = analyse(tiny_checkpoint, Request(text, decoding=decoding)), tiny_checkpoint.target_tokenizer
    alpha = decoding.alpha if decoding.strategy == "beam" else None
    data = payload(analysis.tree, analysis.hypothesis.ids, tokenizer, alpha)
    nodes = data["nodes"]
    ended = {h.ids for h in analysis.tree}
    paths = [*analysis.tree, *analysis.tree.pruned]
    beginnings = {each.ids[:n]: each for each in paths for n in range(1, len(each.ids) + 1)}
    numbers = {node.path: number for number, node in enumerate(analysis.tree.nodes)}
    assert numbers.keys() == beginnings.keys()
    assert len(nodes) == len(beginnings)
    for ids, each in beginnings.items():
        node = nodes[numbers[ids]]
        goes_on = any(other[: len(ids)] == ids for other in beginnings if len(other) > len(ids))
        ends = ("finished" if ids[-1] == END else "limit") if ids in ended else "pruned"
        assert node["p"] == numbers.get(ids[:-1])
        assert node["s"] == len(ids)
        assert node["sc"] == pytest.approx(sum(each.log_probs[: len(ids)]), abs=0.51e-4)
        assert node["st"] == ("grown" if goes_on else ends)
        assert node["x"] == tokenizer.decode(ids)
        assert node["t"] == (tokenizer.piece(ids[-1]).removeprefix("·") or "·")
        assert [nodes[n]["s"] for n in way(nodes, numbers[ids])] == list(range(1, len(ids) + 1))
    assert data["leaves"] == len(nodes) - len({node["p"] for node in nodes} - {None})


@pytest.mark.parametrize(("name", "whole"), [("path", False), ("whole", True)])
def test_only_a_node_of_the_tree_is_accepted(monkeypatch, name, whole):
    browser, heard = Mounted(monkeypatch), []
    browser.events = events(TREE, lambda number, is_listed: heard.append((number, is_listed)))
    for number in (0, 9, 10, -1, None):
        browser.report(name, number)
    assert heard == [(0, whole), (9, whole)]
