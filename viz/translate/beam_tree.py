"""The tree of a decoding: every path alive, finished or given up at each step; a click chooses the one that is looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from model.decoding.hypotheses import Tree, length_penalty
from viz.shared import mount

if TYPE_CHECKING:
    from model.text.tokenizer import Tokenizer

ENDS = {"finished": "finished", "limit": "stopped at the limit", "pruned": "given up", "grown": "goes on"}  # by status


def payload(tree: Tree, path: tuple[int, ...], tokenizer: Tokenizer, alpha: float | None, begun: int = 0) -> dict[str, Any]:
    """All that the browser needs, as JSON values; `alpha` is the length penalty's exponent, or None. Scores
    are summed from the first token behind the `begun` that are gone on with.

    Each node: parent `p`, step `s`, token `t`, score `sc`, status `st`, the text up to it `x`, and `no`, what an ended
    hypothesis is ranked by. `ended` holds the nodes of the hypotheses, the best first, `path` those of the one shown.
    """
    nodes = tree.nodes
    numbers = {node.path: number for number, node in enumerate(nodes)}

    given = {node.path: node.score for node in nodes if node.step == begun}

    def rank(number: int) -> float:
        node = nodes[number]
        return node.score if alpha is None else node.score / length_penalty(node.step, alpha)

    return {
        "nodes": [
            {
                "p": node.parent,
                "s": node.step,
                "t": tokenizer.piece(node.token).removeprefix("·") or "·",
                "sc": round(node.score - given.get(node.path[:begun], node.score if begun else 0.0), 6),
                "st": node.status,
                "x": tokenizer.decode(node.path),
                "no": _ranked(node.score, node.step, alpha) if node.status in ("finished", "limit") else None,
            }
            for node in nodes
        ],
        "path": [numbers[path[:n]] for n in range(1, len(path) + 1) if path[:n] in numbers],
        "ended": sorted((numbers[h.ids] for h in tree), key=rank, reverse=True),
        "leaves": sum(node.status != "grown" for node in nodes),
        "ends": ENDS,
    }


def _ranked(score: float, length: int, alpha: float | None) -> float | None:
    return None if alpha is None else round(score / length_penalty(length, alpha), 6)


_COMPONENT = mount.Component(__file__, '<div class="tree"></div>', picture="Tree of hypotheses")


def beam_tree(data: dict[str, Any], on_path: Callable[[int, bool], None], key: str = "beam_tree") -> None:
    """Mounts the component; `on_path` is called, before the next run, with the number of the node that was clicked, and
    whether it was clicked in the list of whole hypotheses, which says nothing of a step."""
    node = mount.whole(0, len(data["nodes"]) - 1)
    events = {"path": (node, lambda n: on_path(n, False)), "whole": (node, lambda n: on_path(n, True))}
    _COMPONENT.mount(key, data, events)
