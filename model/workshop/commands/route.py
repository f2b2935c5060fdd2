"""python -m model route: the cells of attention that carry a choice between two tokens or labels."""

from __future__ import annotations

import argparse
import json
import unicodedata
from typing import TYPE_CHECKING, Any

import numpy as np

from ...config import END, PAD, START
from ...decoding.strategy import Decoding
from ...inference.request import Request
from ...io.files import short_repr
from ...io.numbers import probability, signed, three_digits
from ...trace import Site
from . import options, text_input
from .text_commands import DEFAULT_NEW_TOKENS

if TYPE_CHECKING:
    from ...checkpoint import Checkpoint
    from ...experiments.routes import Route, RouteLink
    from ...inference.analysis import Analysis

HELP = "find the cells of attention that carry a choice between two tokens"
NO_ROUTE = "No short route carries this choice."
HEADER = ("hop", "attention", "row", "key", "effect", "weight 0", "weight", "strongest head")


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Cuts cells of attention, one by one, and prints those that change the choice most. A checkpoint that fills in "
        "blanks needs ___ in the sentence."
    )
    text_input.add(parser)
    options.add_checkpoint(parser)
    hint = "token that the model writes, token for the blank, or label (default: that of the step, or the top one)"
    parser.add_argument("--token", metavar="TOKEN", help=hint)
    parser.add_argument("--rival", metavar="TOKEN", help="token or label to compare it with (default: the top other one)")
    hint = "step from 1, or position of a blank (default: the first step that writes --token, or the least sure step)"
    parser.add_argument("--step", type=int, metavar="N", help=hint)
    hint = "print one JSON object: the difference of logits, the links with their effects, and both shares"
    parser.add_argument("--json", action="store_true", help=hint)
    options.add_machine(parser)


def run(args: argparse.Namespace) -> None:
    from ... import checkpoint as checkpoints
    from ...experiments.routes import find_route
    from ...inference.analyse import analyse

    text_input.check(args)
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    decoding = Decoding() if "encoder" in loaded.config.kinds else Decoding(max_new_tokens=DEFAULT_NEW_TOKENS)

    def answer(text: str, _: int) -> None:
        analysis = analyse(loaded, Request(text, args.checkpoint, decoding=decoding))
        row = find_row(loaded, analysis, args.step, args.token)
        token, rival = find_tokens(loaded, analysis, row, args.token, args.rival)
        route = find_route(loaded, analysis, row, token, rival)
        values = describe(loaded, analysis, route)
        print(json.dumps(values, ensure_ascii=False) if args.json else "\n".join(route_lines(route, values)), flush=True)

    text_input.for_each(args, answer, "null" if args.json else "")


def find_row(loaded: Checkpoint, analysis: Analysis, step: int | None, token: str | None) -> int:
    """Returns the row of a choice (from 0) from a step (from 1), or from a token that is written.

    Raises ValueError, one sentence, for a step or a token that does not exist.
    """
    trace = analysis.trace
    if trace.outputs is not None:
        rows = list(range(len(trace.outputs)))
    else:
        rows = [0] if trace.classes else list(trace.blank_positions)
    if not rows:
        raise ValueError(f"{loaded.name} fills in blanks, and this sentence has none; write ___ in place of a word")
    if step is not None and step - 1 not in rows:
        known = f"1 to {len(rows)}" if len(rows) > 1 and trace.outputs is not None else ", ".join(str(n + 1) for n in rows)
        raise ValueError(f"--step is {step}; expected {known}")
    written = trace.predicted_axis.labels if trace.outputs is not None else ()
    if token is None or not written:
        new = [row for row in rows if row >= analysis.prompt_length] or rows
        return step - 1 if step is not None else min(new, key=lambda row: trace.log_probs[row].max())
    name = _normalize(token)
    if step is not None and written[step - 1] != name:
        raise ValueError(f"step {step} writes {written[step - 1]!r}, not {short_repr(token)}; leave out --token or --step")
    matches = [row for row in rows if row >= analysis.prompt_length and written[row] == name]
    if step is None and not matches:
        tokens = " ".join(written[analysis.prompt_length :])
        raise ValueError(f"no step writes the token {short_repr(token)}; expected one of: {tokens}")
    return matches[0] if step is None else step - 1


def find_tokens(loaded: Checkpoint, analysis: Analysis, row: int, token: str | None, rival: str | None) -> tuple[int, int]:
    """Returns the ids of token and rival in a row. Raises ValueError, one sentence, for an unknown or an equal token."""
    trace, mask = analysis.trace, loaded.source_tokenizer.mask
    order = np.argsort(-trace.log_probs[row], kind="stable").tolist()
    if trace.outputs is None and not trace.classes:  # a blank holds no control token
        order = [each for each in order if each not in (PAD, START, END, mask)]
    if trace.outputs is not None:
        chosen = trace.outputs.ids[row]
    else:
        chosen = order[0] if token is None else _find_id(loaded, order, "token", token)
    other = next(each for each in order if each != chosen) if rival is None else _find_id(loaded, order, "rival", rival)
    if other == chosen:
        raise ValueError(f"the rival {short_repr(rival or '')} is the token itself; expected two different tokens")
    return chosen, other


def _find_id(loaded: Checkpoint, order: list[int], name: str, text: str) -> int:
    """Returns the id of a token or a label. Of several with equal text, such as those with a space, the most probable."""
    vocabulary, wanted = loaded.output_vocabulary, _normalize(text)
    for token in order:
        if vocabulary.pieces([token])[0] == wanted:
            return token
    if loaded.config.classes:
        raise ValueError(f"the {name} is {short_repr(text)}; expected one of {', '.join(loaded.config.classes)}")
    parts = loaded.target_tokenizer.pieces(loaded.target_tokenizer.encode(" " + wanted))
    tokens = f" has the tokens {' '.join(parts)}" if len(parts) > 1 else " has no token"
    raise ValueError(f"the {name} {short_repr(text)}{tokens}; expected one token of the vocabulary")


def _normalize(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip())


def describe(loaded: Checkpoint, analysis: Analysis, route: Route) -> dict[str, Any]:
    """Returns a route as JSON values; positions, layers and heads count from 1."""
    from ...inference.source_reading import filled_sentences

    trace, vocabulary = (analysis.baseline or analysis).full_pass, loaded.output_vocabulary
    if trace.classes:
        translation = trace.predicted_axis.labels[0]
    else:
        translation = analysis.translation or "\n".join(filled_sentences(analysis, loaded))
    names = {"token": route.token, "rival": route.rival}
    probabilities = {name: float(np.exp(trace.log_probs[route.row][token])) for name, token in names.items()}
    shares = {"completeness": route.completeness, "faithfulness": route.faithfulness}
    return {
        "text": analysis.request.source,
        "translation": translation,
        "step": route.row + 1,
        **{name: vocabulary.pieces([token])[0] for name, token in names.items()},
        "probabilities": {name: round(value, 6) for name, value in probabilities.items()},
        "difference": round(route.difference, 6),
        "links": [_link(analysis, link) for link in route.links],
        **{name: None if share is None else round(share, 6) for name, share in shares.items()},
        "tested": route.tested,
        "untested": route.untested,
        "control": None if route.control is None else round(route.control, 6),
    }


def _link(analysis: Analysis, link: RouteLink) -> dict[str, Any]:
    trace = (analysis.baseline or analysis).full_pass
    (kind, query, key), any_site, (site, head, effect) = link.cell, Site(link.cell.kind, 0), link.head
    return {
        "site": kind,
        "layer": None,
        "query": query + 1,
        "key": key + 1,
        "query_token": trace.queries(any_site)[query],
        "key_token": trace.keys(any_site)[key],
        "hop": link.hop,
        "effect": round(link.effect, 6),
        "effect_weight_zeroed": round(link.zeroed, 6),
        "weight": round(link.weight, 6),
        "layers": [round(value, 6) for value in link.layers],
        "strongest_head": {"name": site.head_name(head), "effect": round(effect, 6)},
    }


def route_lines(route: Route, values: dict[str, Any]) -> list[str]:
    """Returns a route in words, with a table of its links."""
    token, rival, links = values["token"], values["rival"], values["links"]
    odds = ", ".join(probability(each) for each in values["probabilities"].values())
    verb = "leads" if route.difference >= 0 else "trails"
    lead = three_digits(abs(route.difference))
    lines = [values["translation"], f"Step {values['step']}: {token} {verb} {rival} by {lead} logits (probability {odds})."]
    for link in links:
        side = token if link["effect"] < 0 else rival
        gain = three_digits(abs(link["effect"]))
        lines.append(f"{link['site']} {link['query_token']} to {link['key_token']} adds {gain} logits to {side}.")
    lines += _table(links)
    if route.is_near_tie:
        lines.append("This is a near-tie: shares of so small a difference mean nothing.")
    else:
        if not route.explains:
            lines.append(NO_ROUTE)
        lines.append(f"Completeness: {_percent(route.completeness)} of the difference goes when all links are cut.")
        lines.append(f"Faithfulness: {_percent(route.faithfulness)} stays when only these links remain in their rows.")
    if route.control is not None:
        others = route.tested - len(route.links)
        lines.append(f"Control: the other cuts change it by {three_digits(route.control)} logits (median of {others:,}).")
    return [*lines, f"{route.tested:,} cells cut; {route.untested:,} with smaller weights were not."]


def _percent(share: float | None) -> str:
    return f"{three_digits(100 * (share or 0))}%"


def _table(links: list[dict[str, Any]]) -> list[str]:
    """Returns the links as aligned columns, with the effect of the strongest head; empty without links."""
    rows = [
        (
            *(str(link["hop"]), link["site"], link["query_token"], link["key_token"]),
            *(signed(link["effect"]), signed(link["effect_weight_zeroed"]), probability(link["weight"])),
            f"{link['strongest_head']['name']} {signed(link['strongest_head']['effect'])}",
        )
        for link in links
    ]
    widths = [max(map(len, column)) for column in zip(HEADER, *rows, strict=True)]
    table = [HEADER, *rows] if rows else []
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
