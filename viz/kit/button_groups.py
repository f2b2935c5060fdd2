"""Groups of buttons and choices that one component draws: a rerun sends one message for all. Also the list of edits."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from viz.kit import mount, site_texts
from viz.state import navigation, session
from viz.state.view import View

if TYPE_CHECKING:
    from model.inference.analysis import Analysis
    from viz.page_context import PageContext

Style = Literal["buttons", "links", "choice", "list", "answer", "menu", "options", "verdict", "history"]


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
            menu: a button that opens the others, each above its tooltip; options: a button that opens `groups`;
            verdict: the sentence of the page with buttons; history: buttons that are invisible while they are disabled.
        is_label_hidden: True if the label is only for screen readers.
        note: a text behind the label.
        follows: True if the group follows the previous one in the same line.
        groups: the groups that open with options.
    """

    label: str
    buttons: Mapping[str, Button]
    style: Style = "buttons"
    is_label_hidden: bool = False
    note: str = ""
    follows: bool = False
    groups: Sequence[ButtonGroup] = ()


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
    every = [*groups, *(inner for group in groups for inner in group.groups)]
    presses = {name: button.press for group in every for name, button in group.buttons.items()}
    _COMPONENT.mount(key, {"groups": _data(groups)}, {"press": (mount.one_of(presses), lambda name: presses[name]())})


def _data(groups: Sequence[ButtonGroup]) -> list[dict[str, Any]]:
    """Returns the JSON values of the groups that are not empty."""
    return [
        {
            "label": group.label,
            "hidden": group.is_label_hidden,
            "note": group.note,
            "style": group.style,
            "follows": group.follows,
            "buttons": [
                [name, button.text, button.title, button.is_on, button.is_disabled] for name, button in group.buttons.items()
            ],
            "groups": _data(group.groups),
        }
        for group in groups
        if group.buttons or group.note or group.groups
    ]


def buttons(parts: Sequence[tuple[str, str]], aside: Sequence[str] = ()) -> dict[str, Button]:
    """Returns a button for each edit that removes it; `aside` holds the codes of impossible edits."""
    return {
        f"edit {code}": remove_button(
            f"{text} (not possible here)" if code in aside else text, partial(navigation.toggle_edit, code)
        )
        for code, text in parts
    }


def remove_button(text: str, press: partial) -> Button:
    """Returns the button that removes an edit."""
    return Button(f"{site_texts.begin(text)} ×", press, "Remove this edit")


def clear_button(is_disabled: bool = False) -> Mapping[str, Button]:
    return {"clear": Button("Clear", navigation.clear_edits, is_disabled=is_disabled)}


def describe_padding(count: int) -> str:
    """Returns the padding in words; empty for none."""
    return f"{count} pad{'s' if count > 1 else ''} after the source" if count else ""


def edit_bar(view: View, analysis: Analysis, masks: bool = True) -> None:
    """Draws the edits of a page without the editor; without `masks` all but the two mask switches."""
    edits = view.intervention if masks else dataclasses.replace(view.intervention, causal_mask=True, padding_mask=True)
    _draw_bar(edits.codes_and_texts(analysis.labels))


def edits_after_fault(view: View) -> None:
    """Draws the edits after a fault, since one of them may be its cause."""
    _draw_bar(view.intervention.codes_and_texts())


def _draw_bar(parts: Sequence[tuple[str, str]]) -> None:
    if parts:
        draw("edits", [ButtonGroup("Edits", {**buttons(parts), **clear_button()})])


def draw_notes(context: PageContext) -> None:
    """Draws faults, notes on the translation, and the edits."""
    site_texts.sentence_notes(context.analysis.notes, context.faults, context.analysis.warning_sentences)
    edit_bar(context.view, context.analysis)
