"""Declarations of the view's fields: the link parameter of each, and the effects of a change.

`viz.state.links` and `viz.state.session` read these declarations and know no field by name.
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
    """The declaration of a field, apart from its default.

    Raises ValueError for an unknown `undo`.
    """

    parameter: str  # name in the link
    value: Value  # reads and writes it
    undo: Undo = "no"
    # step: its changes can be undone; along: restored with each undo; with the checkpoint: restored with the checkpoint
    renews: tuple[str, ...] = ()  # fields that return to their defaults when this one changes
    drops: tuple[str, ...] = ()  # fields that return to their defaults whenever this one is set
    settles: tuple[str, ...] = ()  # other controls whose complaint ends when this field is set
    stated_with: str | None = None  # if that field is set, the link names this one even at its default
    attributes: Mapping[str, tuple[str, Value]] = dataclasses.field(default_factory=dict)
    # attributes of the value with a parameter each; the field's own parameter is written with these at their defaults

    def __post_init__(self) -> None:
        if self.undo not in get_args(Undo):
            raise ValueError(f"undo is {self.undo!r}; expected one of {', '.join(get_args(Undo))}")


def view_field(default: Any, parameter: str, value: Value, **more: Any) -> Any:
    """Returns a dataclass field of the view; `more` are arguments of `Field`."""
    return dataclasses.field(default=default, metadata={_KEY: Field(parameter, value, **more)})


@cache
def fields(view: type) -> Mapping[str, Field]:
    """Returns the declarations of a view's fields, by name.

    Raises ValueError for an undeclared field, a parameter with two fields, and an unknown field in a declaration.
    """
    declarations = {}
    for field in dataclasses.fields(view):
        if _KEY not in field.metadata:
            raise ValueError(f"the view's field {field.name} declares nothing; expected `view_field(...)`")
        declarations[field.name] = field.metadata[_KEY]
    parameters = [name for field in declarations.values() for name in (field.parameter, *field.attributes)]
    if twice := sorted({name for name in parameters if parameters.count(name) > 1}):
        raise ValueError(f"the link's parameter {twice[0]} has two fields; expected one")
    for name, field in declarations.items():
        others = {*field.renews, *field.drops, *filter(None, [field.stated_with])}
        if unknown := sorted(others - set(declarations)):
            raise ValueError(f"the field {name} names {unknown[0]}, which is no field of the view")
    return MappingProxyType(declarations)


def names_where(view: type, **wanted: str) -> tuple[str, ...]:
    """Returns the fields with these declared values, in order: `names_where(View, undo="step")`."""
    return tuple(
        name for name, field in fields(view).items() if all(getattr(field, key) == value for key, value in wanted.items())
    )
