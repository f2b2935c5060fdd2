"""The tree of a decoding: every path alive, finished or given up at each step. A click chooses a path."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from model.decoding.hypotheses import Tree, length_penalty
from model.decoding.strategy import STRATEGIES
from viz.classroom.hall_keys import TREE as TREE_PICTURE
from viz.decoding_steps import decoding_controls, lecture_keys
from viz.kit import mount
from viz.kit.panel import Panel, Picture
from viz.state import session
from viz.state.view import YOURS

if TYPE_CHECKING:
    from model.text.tokenizer import Tokenizer
    from viz.kit.mount import Event
    from viz.page_context import PageContext

ENDS = {"finished": "finished", "limit": "stopped at the limit", "pruned": "given up", "grown": "goes on"}  # by status


def payload(tree: Tree, path: tuple[int, ...], tokenizer: Tokenizer, alpha: float | None, begun: int = 0) -> dict[str, Any]:
    """Returns the JSON values of the component. `alpha` is the exponent of the length penalty, or None. Scores are summed
    from the first token behind the `begun` tokens of the visitor's text.

    Each node: parent `p`, step `s`, token `t`, score `sc`, status `st`, its text `x`, and `no`, the rank score of an ended
    hypothesis. `ended` has the nodes of the hypotheses, the best first, `path` those of the visible one.
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
        "large": False,
    }


def _ranked(score: float, length: int, alpha: float | None) -> float | None:
    return None if alpha is None else round(score / length_penalty(length, alpha), 6)


COMPONENT = mount.Component(__file__, '<div class="tree"></div>', picture="Tree of hypotheses")


def events(tree: Tree, on_path: Callable[[int, bool], None]) -> dict[str, Event]:
    """Returns the events. `on_path` gets the number of a clicked node, and True if the click was in the list of hypotheses,
    which names no step."""
    node = mount.integer(0, len(tree.nodes) - 1)
    return {"path": (node, lambda n: on_path(n, False)), "whole": (node, lambda n: on_path(n, True))}


def _payload(context: PageContext, result: Any) -> dict[str, Any]:
    analysis, decoding = context.analysis, context.request.decoding
    alpha = decoding.alpha if STRATEGIES[decoding.strategy].has_length_penalty else None
    tokenizer = context.loaded.target_tokenizer
    return payload(analysis.tree, analysis.hypothesis.ids, tokenizer, alpha, analysis.prompt_length)


def _events(context: PageContext, result: Any) -> dict[str, Event]:
    tree = context.analysis.tree  # without the arrays: a widget holds it between runs
    return events(tree, lambda number, is_listed: _show(tree, number, is_listed))


def _show(tree: Tree, number: int, is_listed: bool) -> None:
    """Shows the best path through a node, at its step; a listed hypothesis keeps the step."""
    node = tree.nodes[number]
    paths = (*tree, *tree.pruned)
    path = next(h.ids for h in paths if h.ids[: node.step] == node.path)
    is_best = not session.current_view().branches and path == tree[0].ids
    session.change(path=() if is_best else path, **({} if is_listed else {"step": max(node.step - 1, 0)}))


def _is_visible(context: PageContext) -> bool:
    has_tree = context.analysis.task.has_decoder and context.view.target is None and context.view.strategy != YOURS
    return has_tree and decoding_controls.shows_decoding(context)


TREE = Panel(
    "translate.tree",
    "Tree of hypotheses",
    COMPONENT,
    _payload,
    _events,
    reads=(),
    follow=lambda context, result: {"step": context.view.step + 1},
    is_visible=_is_visible,
    pictures=(
        Picture("Tree", ".tree", lambda context, result: {"large": True}, fields={"show": "decoding"}, number=TREE_PICTURE),
    ),
    bar=lecture_keys.draw_fact,
    keys=lecture_keys.add_keys,
    file=None,
)
