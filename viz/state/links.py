"""Reads and writes the link of a view. Each fault of a link becomes one sentence; the rest of the link is used."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import lru_cache

from viz.state.fields import fields
from viz.state.values import MAX_LINK_TEXT, PartlyRead
from viz.state.view import View, with_intervention

MAX_READ = 100_000  # characters of a parameter


def parse(params: Mapping[str, str], kind: type[View] = View) -> tuple[View, tuple[str, ...]]:
    """Returns the view that a link describes, and one sentence for each unusable parameter."""
    known = {field.parameter: (name, field.value) for name, field in fields(kind).items()}
    values, faults = {}, []
    for parameter, text in params.items():
        if parameter not in known:
            continue  # other software adds its own parameters
        name, value = known[parameter]
        try:
            if len(text) > MAX_READ:  # far more than the lab writes
                raise ValueError(f"at most {MAX_LINK_TEXT} characters")
            values[name] = value.read(text)
        except PartlyRead as partly:
            values[name] = partly.value
            faults += partly.faults
        except ValueError as expected:
            short = text if len(text) <= 40 else text[:40] + "..."
            faults.append(f"The link's {parameter} is “{short}”; expected {expected}. The default is shown.")
    view = kind(**values)  # an edit code that switches a mask off also moves its switch
    masks = {name: getattr(view, name) and getattr(view.edits, name) for name in ("causal_mask", "padding_mask")}
    return dataclasses.replace(view, **with_intervention(dataclasses.replace(view.edits, **masks))), tuple(faults)


def link(view: View) -> dict[str, str]:
    """Returns the query parameters of a view, without defaults (unless `stated_with` applies) and without too long texts."""
    return dict(_link(view))


@lru_cache(256)
def _link(view: View) -> dict[str, str]:
    default, declared = type(view)(), fields(type(view))
    changed = {name for name in declared if getattr(view, name) != getattr(default, name)}
    written = {
        field.parameter: field.value.write(getattr(view, name))
        for name, field in declared.items()
        if name in changed or field.stated_with in changed
    }
    return {name: text for name, text in written.items() if len(text) <= MAX_LINK_TEXT}
