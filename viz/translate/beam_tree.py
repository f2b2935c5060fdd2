"""The tree of a decoding: every path alive, finished or given up at each step; a click chooses the one that is looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.decoding.hypotheses import Tree, length_penalty
from viz import state, theme

if TYPE_CHECKING:
    from model.text.tokenizer import Tokenizer

_HERE = Path(__file__).parent


def payload(
    tree: Tree, path: tuple[int, ...], tokenizer: Tokenizer, alpha: float | None, mode: theme.Mode
) -> dict[str, Any]:
    """All that the browser needs, as JSON values; `alpha` is the length penalty's exponent, or None.

    Each node: parent `p`, step `s`, token `t`, score `sc`, status `st`, the text up to it `x`, and `no`, what an ended
    hypothesis is ranked by. `ended` holds the nodes of the hypotheses, the best first, `path` those of the one shown.
    """
    nodes = tree.nodes
    numbers = {node.path: number for number, node in enumerate(nodes)}

    def rank(number: int) -> float:
        node = nodes[number]
        return node.score if alpha is None else node.score / length_penalty(node.step, alpha)

    return {
        "nodes": [
            {
                "p": node.parent,
                "s": node.step,
                "t": tokenizer.piece(node.token).removeprefix("·") or "·",
                "sc": round(node.score, 4),
                "st": node.status,
                "x": tokenizer.decode(node.path),
                "no": _ranked(node.score, node.step, alpha) if node.status in ("finished", "limit") else None,
            }
            for node in nodes
        ],
        "path": [numbers[path[:n]] for n in range(1, len(path) + 1) if path[:n] in numbers],
        "ended": sorted((numbers[h.ids] for h in tree), key=rank, reverse=True),
        "leaves": sum(node.status != "grown" for node in nodes),
        "style": theme.PALETTES[mode].css_variables(),
    }


def _ranked(score: float, length: int, alpha: float | None) -> float | None:
    return None if alpha is None else round(score / length_penalty(length, alpha), 4)


_mount = st.components.v2.component(
    "attention_lab.beam_tree",
    html='<div class="tree"></div>',
    css=(_HERE / "beam_tree.css").read_text(encoding="utf-8"),
    js="".join((_HERE / name).read_text(encoding="utf-8") for name in ("../shared/dom.js", "beam_tree.js")),
)


def beam_tree(data: dict[str, Any], on_path: Callable[[int, bool], None], key: str = "beam_tree") -> None:
    """Mounts the component; `on_path` is called, before the next run, with the number of the node that was clicked, and
    whether it was clicked in the list of whole hypotheses, which says nothing of a step."""

    def chosen(name: str) -> None:
        number = state.component_value(key, name)
        if isinstance(number, int | float) and 0 <= number < len(data["nodes"]):
            on_path(int(number), name == "whole")

    _mount(key=key, data=data, on_path_change=lambda: chosen("path"), on_whole_change=lambda: chosen("whole"))
