"""Reads and writes the link of a view. Each fault of a link becomes one sentence; the rest of the link is used."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import lru_cache

from viz.state.fields import fields
from viz.state.values import MAX_LINK_TEXT, PartlyRead, Value
from viz.state.view import View

MAX_READ = 100_000  # characters of a parameter


def parse(params: Mapping[str, str], kind: type[View] = View) -> tuple[View, tuple[str, ...]]:
    """Returns the view that a link describes, and one sentence for each unusable parameter."""
    known: dict[str, tuple[str, str | None, Value]] = {}
    for name, field in fields(kind).items():
        known[field.parameter] = (name, None, field.value)
        known |= {parameter: (name, attribute, value) for parameter, (attribute, value) in field.attributes.items()}
    values, attributes, faults = {}, [], []
    for parameter, text in params.items():
        if parameter not in known:
            continue  # other software adds its own parameters
        name, attribute, value = known[parameter]
        try:
            if len(text) > MAX_READ:  # far more than the lab writes
                raise ValueError(f"at most {MAX_LINK_TEXT} characters")
            if attribute is None:
                values[name] = value.read(text)
            else:
                attributes.append((name, attribute, value.read(text)))
        except PartlyRead as partly:
            values[name] = partly.value
            faults += partly.faults
        except ValueError as expected:
            short = text if len(text) <= 40 else text[:40] + "..."
            faults.append(f"The link's {parameter} is “{short}”; expected {expected}. The default is shown.")
    for name, attribute, value in attributes:
        default = getattr(kind, name)
        if value != getattr(default, attribute):  # at its default it leaves the code of an edit in effect
            values[name] = dataclasses.replace(values.get(name, default), **{attribute: value})
    return kind(**values), tuple(faults)


def link(view: View) -> dict[str, str]:
    """Returns the query parameters of a view, without defaults (unless `stated_with` applies) and without too long texts."""
    return dict(_link(view))


@lru_cache(256)
def _link(view: View) -> dict[str, str]:
    default, declared = type(view)(), fields(type(view))
    changed = {name for name in declared if getattr(view, name) != getattr(default, name)}
    written = {}
    for name, field in declared.items():
        value, usual = getattr(view, name), getattr(default, name)
        for parameter, (attribute, part) in field.attributes.items():
            if (its_value := getattr(value, attribute)) != (its_default := getattr(usual, attribute)):
                written[parameter] = part.write(its_value)
                value = dataclasses.replace(value, **{attribute: its_default})
        if value != usual or field.stated_with in changed:
            written[field.parameter] = field.value.write(value)
    return {name: text for name, text in written.items() if len(text) <= MAX_LINK_TEXT}
