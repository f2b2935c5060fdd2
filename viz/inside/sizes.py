"""The size of this model, of known models and of any other size, in words, numbers and small tables."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import streamlit as st

from model.export.csv_tables import Table
from model.readings.stages.model_sizes import (
    BYTES,
    LARGEST,
    PRESETS,
    Architecture,
    cache_bytes,
    matrix_weights,
    of_config,
    operations,
    parameters,
    pattern_bytes,
)
from viz.kit import site_texts
from viz.kit.panel import Panel, where
from viz.page_context import PageContext
from viz.state import session
from viz.state.page_fields import SIZES
from viz.state.view import View

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.export.code import Code

_WORDS = ("", " thousand", " million", " billion", " trillion")
_PREFIXES = ("", "k", "M", "G", "T", "P", "E")
NO_OUTPUT = "the embedding table again"  # nothing else can be without parameters
Fact = tuple[str, str, str]  # what, how it is computed, how much


def scaled(value: float) -> tuple[str, int]:
    """Three significant figures, and by which power of a thousand it was divided."""
    power = 0
    while round(value, 0 if value >= 100 else 1) >= 1000 and power < len(_PREFIXES) - 1:
        value, power = value / 1000, power + 1
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.3g}", power


def counted(value: float) -> str:
    """Below a million as it is; else `63.1 million`."""
    text, power = scaled(value)
    return f"{value:,.0f}" if power < 2 else f"{text}{_WORDS[power]}" if power < len(_WORDS) else f"{value:,.0f}"


def weighed(value: float, unit: str = "B") -> str:
    """`25.2 MB`, `101 MFLOP`."""
    text, power = scaled(value)
    return f"{text} {_PREFIXES[power]}{unit}"


def headline(of: Architecture, preset: str, is_changed: bool, held: int) -> str:
    """How many parameters, and beside what its authors say, or what the loaded model holds (`held`), a sentence or two."""
    total = sum(parameters(of).values())
    told = f"{total:,} parameters, {weighed(total * BYTES)} as float32."
    if is_changed:
        return f"With these sizes: {told}"
    if preset not in PRESETS:
        same = "just as many as the loaded model holds" if total == held else f"the loaded model holds {held:,}"
        return f"This checkpoint: {told[:-1]}; {same}."
    known = PRESETS[preset]
    off = known.published / total - 1
    than = f"{abs(off):.1%} {'more' if off > 0 else 'fewer'} than are" if abs(off) >= 0.005 else "as"
    said = f"Its authors say {counted(known.published)} ({known.paper}), {than} counted here."
    return f"{known.title}: {told} {said} {known.counted}"


def parts_table(of: Architecture) -> str:
    """The parameters of each part and its share, as markup."""
    found = parameters(of)
    total = sum(found.values())
    rows = "".join(
        f'<tr><th scope="row">{part}</th><td>{count:,}</td><td>{_share(count / total)}</td>'
        f'<td class="how">{_bar(count / total) if count else NO_OUTPUT}</td></tr>'
        for part, count in found.items()
    )
    head = '<th scope="col" class="first">part</th><th scope="col">parameters</th><th scope="col">share</th><td></td>'
    rows += f'<tr class="sum"><th scope="row">all</th><td>{total:,}</td><td>100%</td><td></td></tr>'
    return _table("Parameters by part", "lab-shares", f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>")


def _share(of_all: float) -> str:
    return "&lt; 0.1%" if 0 < of_all < 0.0005 else f"{of_all:.1%}"


def _bar(of_all: float) -> str:
    return f'<i style="width:{100 * of_all:.1f}%"></i>'


def facts(of: Architecture, length: int) -> list[Fact]:
    """What it costs to run over `length` tokens on each side that there is."""
    d, made = f"{of.d_model:,}", []
    for side, each in zip(("target", "source"), cache_bytes(of), strict=True):
        if each:
            layers = of.decoder_layers
            what = f"Key-value cache, a {_token(of, side)}"
            made.append((what, f"2 × {layers} layers × {d} × {BYTES} bytes", weighed(each)))
    if whole := sum(cache_bytes(of)) * length:
        made.append(
            (f"… after {length:,} tokens{_both(of)}", f"{length:,} × {weighed(sum(cache_bytes(of)))}", weighed(whole))
        )
    pattern, layers = pattern_bytes(of, length), sum(of.attentions.values())
    squared = f"{of.heads} heads × {length:,}² × {BYTES} bytes"
    made.append(("Patterns of one layer, if they are kept", squared, weighed(pattern)))
    made.append((f"… of all {layers} layers of attention", f"{layers} × {weighed(pattern)}", weighed(layers * pattern)))
    for side, weights, each in zip(("source", "target"), matrix_weights(of), operations(of, length), strict=True):
        if weights:
            mixed = (each - 2 * weights) // (4 * length * of.d_model)
            how = f"2 × {counted(weights)} weights + 4 × {length:,} × {d} × {mixed} layers"
            made.append((f"Operations, a {_token(of, side)}", how, weighed(each, "FLOP")))
    return made


def facts_table(found: list[Fact]) -> str:
    """The same as markup."""
    rows = (
        f'<tr><th scope="row">{html.escape(what)}</th><td class="how">{html.escape(how)}</td><td>{much}</td></tr>'
        for what, how, much in found
    )
    return _table("What it costs to run", "lab-facts", f"<tbody>{''.join(rows)}</tbody>")


def _table(label: str, name: str, inner: str) -> str:
    return (
        f'<div class="lab-scroll" tabindex="0" role="region" aria-label="{label}">'
        f'<table class="lab-numbers {name}">{inner}</table></div>'
    )


def share_of_length(of: Architecture, length: int) -> str:
    """How much of the operations is attention's own, and from which length on it is more than half, a sentence."""
    weights, all_of_it = sum(matrix_weights(of)), sum(operations(of, length))
    mixed = all_of_it - 2 * weights
    half = -(-2 * weights * length // mixed)  # rounded up: the term grows with the length
    return (
        f"At {length:,} tokens, what grows with the length (each query times each key, each weight times each value) is "
        f"{mixed / all_of_it:.1%} of the operations; from {half:,} tokens on it is at least half."
    )


def _token(of: Architecture, side: str) -> str:
    """What a token of one side is called: a model with one side needs no name for it."""
    return f"{side} token" if len(of.attentions) > 1 else "token"


def _both(of: Architecture) -> str:
    return " on each side" if len(of.attentions) > 1 else ""


# What can be changed: the label, the field of the view, how `Architecture.resized` calls it.
NUMBERS = (
    ("Layers a stack", "size_layers", "layers"),
    ("d_model", "size_width", "d_model"),
    ("Heads", "size_heads", "heads"),
    ("d_ff", "size_ff", "d_ff"),
    ("Vocabulary", "size_vocab", "vocabulary"),
)
ONE_STACK = {"layers": "Layers"}  # labels where there is one


def _text(context: PageContext, result: Any) -> str:
    """Returns the size, its parts and its costs, or the sentence that says why the numbers do not fit together."""
    view, loaded = context.view, context.loaded
    try:
        of = architecture(view, loaded)
    except ValueError as fault:
        return f'<div class="lab-fault" role="alert">{html.escape(str(fault))}.</div>'
    answer = headline(of, view.size, of != given_by(view, loaded), loaded.model.parameter_count)
    share = site_texts.note_markup(share_of_length(of, view.size_length))
    return (
        f'<div class="lab-answer">{html.escape(answer)}</div><div class="lab-two even">{parts_table(of)}'
        f"<div>{facts_table(facts(of, view.size_length))}{share}</div></div>"
    )


def given_by(view: View, loaded: Checkpoint) -> Architecture:
    """What the numbers begin with."""
    return PRESETS[view.size].architecture if view.size in PRESETS else of_config(loaded.config)


def architecture(view: View, loaded: Checkpoint) -> Architecture:
    """What is counted; ValueError for sizes that do not go together."""
    return given_by(view, loaded).resized(**asked(view))


def asked(view: View) -> dict[str, int]:
    """The sizes that the view changes, as `Architecture.resized` calls them."""
    return {name: getattr(view, field) for _, field, name in NUMBERS if getattr(view, field)}


def _form(context: PageContext, result: Any) -> None:
    site_texts.write('<h2 class="lab-label lab-rule">How large is it, and how large would another be?</h2>')
    view, given = context.view, given_by(context.view, context.loaded)
    begun = {"layers": max(_stacks(given)), **{name: getattr(given, name) for _, _, name in NUMBERS[1:]}}
    with st.container(key="size_row", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.selectbox("Model", SIZES, format_func=_title, **session.bind("size", "size", view.size))
        for label, field, name in NUMBERS:
            label = ONE_STACK.get(name, label) if len(given.attentions) == 1 else label
            value = getattr(view, field) or begun[name]
            known = begun[name] if name != "layers" or len(set(_stacks(given))) == 1 else None
            bound = session.bind(field, field, value, read=_unless(known))
            st.number_input(label, 1, max(LARGEST[name], value), step=1, **bound)
        bound = session.bind("size_length", "size_length", view.size_length)
        st.number_input("Tokens L", 1, LARGEST["length"], step=1, **bound)


def _stacks(given: Architecture) -> list[int]:
    """Layers of each stack that there is."""
    return [getattr(given, f"{stack}_layers") for stack in ("encoder", "decoder") if stack in given.attentions]


def _title(name: str) -> str:
    return PRESETS[name].title if name in PRESETS else "This checkpoint"


def _unless(begun: int | None) -> Callable[[int], int]:
    """Reads a number; the one that the model has anyway, where it is one, is not stated."""
    return lambda value: 0 if value == begun else value


def _tables(context: PageContext, result: Any) -> tuple[Table, ...]:
    try:
        found = parameters(architecture(context.view, context.loaded))
    except ValueError:  # sizes that do not fit together
        return ()
    return (Table("sizes", ("part", "parameters"), tuple(found.items())),)


def _code(code: Code, context: PageContext, result: Any) -> None:
    is_known, changed = context.view.size in PRESETS, asked(context.view)
    of = f"PRESETS[{context.view.size!r}].architecture" if is_known else "of_config(checkpoint.config)"
    if changed:
        of += f".resized({', '.join(f'{name}={value}' for name, value in changed.items())})"
    first = "PRESETS" if is_known else "of_config"
    code.add(f"sizes = parameters({of})", model__readings__stages__model_sizes=(first, "parameters"))


SIZE = Panel(
    "inside.size", "Size of the model", controls=_form, text=_text, tables=_tables, code=_code, is_visible=where(part="map")
)
