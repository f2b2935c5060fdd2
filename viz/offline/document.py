"""HTML file of a page that needs no server.

Typed text is escaped in the header and compressed elsewhere. Views are stored as differences, long texts once, numbers as
compressed integers.
"""

from __future__ import annotations

import base64
import dataclasses
import html
import json
from collections.abc import Mapping
from functools import cache
from typing import Any, get_args
from urllib.parse import urlencode

import numpy as np

from model.io.numbers import probability
from viz import pages, theme
from viz.kit.offline_parts import Choice, Part
from viz.kit.panel import Constants
from viz.offline.file_shell import html_file, json_bytes
from viz.offline.layout_export import HtmlExport
from viz.offline.number_planes import STEPS, byte_planes
from viz.page_context import PageContext
from viz.state import uploads
from viz.state.fields import fields
from viz.state.links import link
from viz.state.view import OF_A_LECTURE, View
from viz.theme import Mode

LONG = 120  # characters from which a text is stored once
REFERENCE = "$"  # key of a dict that refers to a text or to numbers
Patch = list[tuple[list[str | int], Any]]


def difference(one: Any, other: Any, path: tuple[str | int, ...] = ()) -> Patch:
    """Returns the changes from one value to the other, as paths and new values. Lists of scalars are replaced as one."""
    if one == other:
        return []
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [each for key in one for each in difference(one[key], other[key], (*path, key))]
    if (
        isinstance(one, list)
        and isinstance(other, list)
        and len(one) == len(other)
        and any(isinstance(v, dict) for v in one)
    ):
        return [each for n in range(len(one)) for each in difference(one[n], other[n], (*path, n))]
    return [(list(path), other)]


class Packing:
    """Collects long texts and numbers of values; `rounded` are the names of packed numbers, or of their parents."""

    def __init__(self, rounded: frozenset[str] = frozenset()) -> None:
        self._rounded = rounded
        self._texts: dict[str, int] = {}
        self._numbers: dict[bytes, int] = {}

    def packed(self, value: Any, path: tuple[str | int, ...] = ()) -> Any:
        """Returns the value at a path with references instead of long texts and numbers."""
        if isinstance(value, dict):
            assert REFERENCE not in value
            return {key: self.packed(each, (*path, key)) for key, each in value.items()}
        if isinstance(value, list | tuple):
            rows = _steps(value)
            if rows is not None:
                return {REFERENCE: ["rows", self._index_of(rows), rows.shape[1]]}
            return value if value and isinstance(value[0], int | float) else [self.packed(each, path) for each in value]
        if isinstance(value, str) and len(value) > LONG:
            if self._rounded.intersection(path[-2:]):
                numbers = np.frombuffer(base64.b64decode(value), "<f4").astype(float)
                return {REFERENCE: ["numbers", self._index_of(np.rint(numbers * STEPS))]}
            return {REFERENCE: ["texts", self._texts.setdefault(value, len(self._texts))]}
        return value

    def _index_of(self, numbers: np.ndarray) -> int:
        """Returns the index of an array of integers, the same for equal arrays."""
        return self._numbers.setdefault(numbers.astype("<i4").tobytes(), len(self._numbers))

    def patch(self, patch: Patch) -> list[list[Any]]:
        """Returns a patch with references instead of long texts and numbers."""
        return [[path, self.packed(value, tuple(path))] for path, value in patch]

    def texts(self) -> list[str]:
        """Returns the long texts in the order of their indices."""
        return list(self._texts)

    def numbers(self) -> tuple[list[int], bytes]:
        """Returns the lengths of all arrays, and their values in units of 1 / `STEPS` as int32 in byte planes."""
        return [len(each) // 4 for each in self._numbers], byte_planes(b"".join(self._numbers))


def _steps(value: Any) -> np.ndarray | None:
    """Returns rows of numbers in units of 1 / `STEPS`; None for few numbers or more decimals."""
    if len(value) < 2 or not all(isinstance(row, list) and len(row) == len(value[0]) for row in value):
        return None
    if len(value) * len(value[0]) < LONG // 2 or not all(type(each) in (int, float) for row in value for each in row):
        return None
    numbers = np.asarray(value, dtype=float)
    rounded = np.rint(numbers * STEPS)
    return rounded if np.abs(rounded).max() < 2**31 and (rounded / STEPS == numbers).all() else None


LONGEST_TITLE = 80  # characters


def document(page: pages.Page, export: HtmlExport, context: PageContext) -> bytes:
    """Returns the HTML file of a page's view in UTF-8; equal views give equal bytes."""
    here = dataclasses.replace(context.view, **{name: getattr(View, name) for name in OF_A_LECTURE})  # no lecture mode
    context, link_of_view = dataclasses.replace(context, view=here), link(here)
    context = dataclasses.replace(context, view=export.default_view(context))
    view, computed = context.view, export.results(context)
    constants: Constants = {}
    parts_of = {mode: export.parts(context, computed, export.base(view), mode, constants) for mode in get_args(Mode)}
    values = {mode: {part.name: _plain(part) for part in parts} for mode, parts in parts_of.items()}
    packing = Packing(export.rounded)

    def patched(other: View) -> list[Any]:
        parts = export.parts(context, computed, other, "light", constants)
        return packing.patch(difference(values["light"], {part.name: _plain(part) for part in parts}))

    content = {
        "page": pages.address_of(page),
        "link": link(view),
        "parts": packing.packed(values["light"]),
        "components": {part.name: part.assets.name for part in parts_of["light"]},
        "dark": packing.patch(difference(values["light"], values["dark"])),
        "styles": {mode: theme.PALETTES[mode].css_variables() for mode in get_args(Mode)},
        "choices": [_choice(choice, patched) for choice in export.choices(context)],
        "picks": [dataclasses.asdict(pick) for pick in export.picks(context)],
        "also": export.event_fields,
        "plain": {name: fields(View)[name].parameter for name in export.component_fields},
        "asked": link_of_view,
        "defaults": _defaults(),
        "led": _remote_fields(export.remote_fields(context), view.step),
        "large": export.pictures(context),
        "steps": len(context.analysis.trace.step_axis),
        "at": "step" if context.analysis.task.has_decoder else "token",
    }
    chosen = {name for choice in content["choices"] for name in choice["fields"]}
    content["state"] = {name: _numbered(view, name) for name in sorted({*chosen, *export.component_fields, *content["led"]})}
    counts, numbers = packing.numbers()
    content |= {"counts": counts, "texts": packing.texts()}
    head = _head(page, context, export.notes(context, computed))
    title = f"{page.title}: {_cut(context.request.source.strip())}" if page.has_sentence else _title(page, context)
    data = {"view": json_bytes(content), "numbers": numbers}
    return html_file(page.name, title, head, {part.name: part.assets for part in parts_of["light"]}, data)


def _numbered(view: View, name: str) -> Any:
    """Returns a field as the scripts of the components count it."""
    return fields(View)[name].value.numbered(getattr(view, name))


def _plain(part: Part) -> dict[str, Any]:
    """Returns the values of a part as JSON values, without tuples."""
    return json.loads(json.dumps(dict(part.data)))


def _choice(choice: Choice, patched: Any) -> dict[str, Any]:
    """Returns the options of a choice: by the JSON of its fields, the index of a patch and the link parameters."""
    declared = {name: fields(View)[name] for name in choice.fields}
    numbers: dict[View, int] = {}
    patches: list[Any] = []
    options = {}
    for requested, view in choice.views.items():
        if view not in numbers:
            numbers[view] = len(patches)
            patches.append(patched(view))
        query = link(requested)
        params = {field.parameter: query.get(field.parameter) for field in declared.values()}
        key = json.dumps([_numbered(requested, name) for name in choice.fields], separators=(",", ":"))
        options[key] = [numbers[view], params]
    return {"fields": list(choice.fields), "options": options, "patches": patches}


@cache
def _defaults() -> dict[str, str]:
    """Returns the default values by link parameter."""
    plain = {name: getattr(View, name) for name in fields(View) if isinstance(getattr(View, name), bool | int | float | str)}
    return {fields(View)[name].parameter: fields(View)[name].value.write(value) for name, value in plain.items()}


def _remote_fields(remote: Mapping[str, tuple[Any, ...]], step: int) -> dict[str, Any]:
    """Returns, by field, its parameter, default (`step` for the step), and values by their text in a link.

    No values means whole numbers.
    """
    return {
        name: {
            "parameter": fields(View)[name].parameter,
            "default": _numbered(View(step=step), name),
            "values": {fields(View)[name].value.write(value): value for value in values},
        }
        for name, values in remote.items()
    }


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TITLE else f"{text[: LONGEST_TITLE - 1]}…"


def _title(page: pages.Page, context: PageContext) -> str:
    """Returns the title of a page that shows no sentence."""
    return f"{page.title} of {uploads.display_name(context.view.run or context.view.checkpoint)}"


def _head(page: pages.Page, context: PageContext, content: str) -> str:
    """Returns the header: sentence, output, checkpoint, decoding, edits, and the link of the view."""
    analysis, request = context.analysis, context.request
    languages = context.loaded.languages
    texts = {languages[0]: request.source.strip()}
    if request.second_sentence:
        texts = {"Sentence A": request.source.strip(), "Sentence B": request.second_sentence}
    if analysis.trace.outputs is not None:
        texts[languages[1] if languages[1] != languages[0] else f"{languages[1]}, written"] = (
            analysis.translation.strip() or "(empty: it ends at once)"
        )
    sentences = "".join(
        f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd></div>" for name, text in texts.items()
    )
    pair = (
        [f"B follows A: <b>{probability(analysis.next_sentence_probability)}</b>"]
        if analysis.next_sentence_probability is not None
        else []
    )
    facts = [
        *pair,
        f"Checkpoint <b>{html.escape(uploads.display_name(analysis.checkpoint))}</b>",
        html.escape(analysis.decoding_label),
    ]
    if request.intervention:
        edits = "; ".join(text for _, text in request.intervention.codes_and_texts(analysis.labels))
        facts.append(f"edits: <b>{html.escape(edits)}</b>")
    if analysis.baseline is not None and analysis.baseline.translation != analysis.translation:
        facts.append(f"without them: “{html.escape(analysis.baseline.translation)}”")
    if not page.has_sentence:
        sentences, facts = "", [html.escape(_title(page, context))]
    query = urlencode(link(context.view))
    address = pages.address_of(page) + (f"?{query}" if query else "")
    way = f'In a lab: <code id="link">{html.escape(address)}</code>'
    if request.prefix:  # links have no prefix
        way = f'Prompt: “{html.escape(request.prefix)}”.<code id="link" hidden></code>'
    return f"""<header>
<div class="top">
<h1>{html.escape(page.title)}</h1><p>{html.escape(page.question)}</p>
<button type="button" id="print" hidden>Print</button><button type="button" id="theme" hidden></button>
</div>
<p class="facts">{" · ".join(facts)}</p>
<p class="link">Saved from Attention Lab. {way}</p>
</header>
<p id="status" role="alert"></p>
<div class="stage">
<dl class="sentences">{sentences}</dl>
<div class="notes">{content}</div>"""
