"""The link that carries a view. It is checked like any other outside input: each fault becomes one sentence, and the rest
of the link holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from viz.state.fields import fields
from viz.state.values import MAX_LINK_TEXT, PartlyRead
from viz.state.view import View, with_intervention

MAX_READ = 100_000  # characters of a parameter


def parse(params: Mapping[str, str], kind: type[View] = View) -> tuple[View, tuple[str, ...]]:
    """The view that a link describes, and one sentence for each parameter that could not be used."""
    known = {field.parameter: (name, field.value) for name, field in fields(kind).items()}
    values, faults = {}, []
    for parameter, text in params.items():
        if parameter not in known:
            continue  # other software adds parameters of its own
        name, value = known[parameter]
        try:
            if len(text) > MAX_READ:  # far more than the lab writes: it need not be looked into
                raise ValueError(f"at most {MAX_LINK_TEXT} characters")
            values[name] = value.read(text)
        except PartlyRead as partly:
            values[name] = partly.value
            faults += partly.faults
        except ValueError as expected:
            shown = text if len(text) <= 40 else text[:40] + "..."
            faults.append(f"The link's {parameter} is “{shown}”; expected {expected}. The default is shown.")
    view = kind(**values)  # where an edit's code switches a mask off, its switch says so
    masks = {name: getattr(view, name) and getattr(view.edits, name) for name in ("causal_mask", "padding_mask")}
    return dataclasses.replace(view, **with_intervention(dataclasses.replace(view.edits, **masks))), tuple(faults)


def link(view: View) -> dict[str, str]:
    """The query parameters of a view; what is at its default is left out, unless it is stated with another field, and a text
    that is too long for a link."""
    default, declared = type(view)(), fields(type(view))
    changed = {name for name in declared if getattr(view, name) != getattr(default, name)}
    written = {
        field.parameter: field.value.write(getattr(view, name))
        for name, field in declared.items()
        if name in changed or field.stated_with in changed
    }
    return {name: text for name, text in written.items() if len(text) <= MAX_LINK_TEXT}
