"""How a field of the view declares itself, once: its parameter of the link, and what follows from a change of it.

`viz.state.links` and `viz.state.session` know no field by its name; they read what is declared here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, get_args

from viz.state.values import Value

Undo = Literal["no", "step", "along", "with the checkpoint"]
_KEY = "viz"


@dataclass(frozen=True)
class Field:
    """What is declared of a field beside its default.

    Raises ValueError for an `undo` that there is not.
    """

    parameter: str  # its name in the link
    value: Value  # how it is read from a link, and written into one
    undo: Undo = "no"
    # step: a change of it can be undone; along: it is set back when a step is; with the checkpoint: where that is set back
    renews: tuple[str, ...] = ()  # fields that return to their defaults where this one becomes another
    drops: tuple[str, ...] = ()  # fields that return to theirs whenever this one is set
    settles: tuple[str, ...] = ()  # controls, other than its own, whose complaint is settled by setting it
    stated_with: str | None = None  # where this other field is set, the link names this one even at its default

    def __post_init__(self) -> None:
        if self.undo not in get_args(Undo):
            raise ValueError(f"undo is {self.undo!r}; expected one of {', '.join(get_args(Undo))}")


def declared(default: Any, parameter: str, value: Value, **more: Any) -> Any:
    """A field of the view; `more` are those of `Field`."""
    return dataclasses.field(default=default, metadata={_KEY: Field(parameter, value, **more)})


@cache
def fields(view: type) -> Mapping[str, Field]:
    """All that is declared of a view's fields, by their names.

    Raises ValueError for a field that declares nothing, a parameter with two fields, and a field that there is not.
    """
    found = {}
    for field in dataclasses.fields(view):
        if _KEY not in field.metadata:
            raise ValueError(f"the view's field {field.name} declares nothing; expected `declared(...)`")
        found[field.name] = field.metadata[_KEY]
    parameters = [field.parameter for field in found.values()]
    if twice := sorted({name for name in parameters if parameters.count(name) > 1}):
        raise ValueError(f"the link's parameter {twice[0]} has two fields; expected one")
    for name, field in found.items():
        others = {*field.renews, *field.drops, *filter(None, [field.stated_with])}
        if unknown := sorted(others - set(found)):
            raise ValueError(f"the field {name} names {unknown[0]}, which is no field of the view")
    return MappingProxyType(found)


def named(view: type, **wanted: str) -> tuple[str, ...]:
    """The fields that declare these values, in their order: `named(View, undo="step")`."""
    return tuple(
        name for name, field in fields(view).items() if all(getattr(field, key) == value for key, value in wanted.items())
    )
