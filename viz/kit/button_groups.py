"""Groups of buttons and choices that one component draws, so that a rerun sends one message for all of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from viz.kit import mount
from viz.state import session

Style = Literal["buttons", "links", "choice", "list", "answer", "scale"]


@dataclass(frozen=True)
class Button:
    """A button: its text, the callback of a press, and a tooltip."""

    text: str
    press: Callable[[], None]
    title: str = ""
    is_on: bool = False
    is_disabled: bool = False


@dataclass(frozen=True)
class ButtonGroup:
    """A labelled group of buttons, each by its id.

    Fields:
        style: buttons; links: underlined texts; choice: one is on; list: a choice as a menu; answer: a text with buttons;
            scale: the colours from 0 to 1, without buttons.
        is_label_hidden: True if the label is only for screen readers.
        note: a text behind the label.
        follows: True if the group follows the previous one in the same line.
        colors: of a scale: the colours of each bar, from 0 to 1.
    """

    label: str
    buttons: Mapping[str, Button]
    style: Style = "buttons"
    is_label_hidden: bool = False
    note: str = ""
    follows: bool = False
    colors: tuple[tuple[str, ...], ...] = ()


def choice(
    label: str,
    field: str,
    options: Mapping[Hashable, str],
    chosen: Any,
    style: Style = "choice",
    is_label_hidden: bool = True,
) -> ButtonGroup:
    """Returns a choice of a field of the view, of values with their texts."""
    buttons = {
        f"{field} {value}": Button(text, partial(session.change, **{field: value}), is_on=value == chosen)
        for value, text in options.items()
    }
    return ButtonGroup(label, buttons, style, is_label_hidden, follows=True)


_COMPONENT = mount.Component(__file__, '<div class="groups"></div>', term_names=("layer", "head"))


def draw(key: str, groups: Sequence[ButtonGroup]) -> None:
    """Mounts the groups; empty ones are left out. A label that is a term of the component explains it."""
    known = [group for group in groups if group.buttons or group.note or group.colors]
    presses = {name: button.press for group in known for name, button in group.buttons.items()}
    data = [
        {
            "label": group.label,
            "hidden": group.is_label_hidden,
            "note": group.note,
            "style": group.style,
            "follows": group.follows,
            "colors": group.colors,
            "buttons": [
                [name, button.text, button.title, button.is_on, button.is_disabled] for name, button in group.buttons.items()
            ],
        }
        for group in known
    ]
    _COMPONENT.mount(key, {"groups": data}, {"press": (mount.one_of(presses), lambda name: presses[name]())})
