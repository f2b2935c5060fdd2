"""The parts of an HTML file, which follow from the panels of a layout with a component and options of the file."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from viz.kit.offline_parts import Choice, Part, Pick
from viz.kit.panel import Constants, FileOptions, Layout, Panel

if TYPE_CHECKING:
    from viz.page_context import PageContext
    from viz.state.view import View
    from viz.theme import Mode


class HtmlExport:
    """The export of a layout to an HTML file, which follows from its panels with a component and options of the file."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        options = [panel.file for panel in layout.panels if panel.file is not None and panel.component is not None]
        self._bases = [each.base for each in options]
        self.event_fields = {event: values for each in options for event, values in each.event_fields.items()}
        self.component_fields = tuple(dict.fromkeys(name for each in options for name in each.component_fields))
        self.rounded = frozenset().union(*(each.rounded for each in options))

    def results(self, context: PageContext) -> dict[Panel, Any]:
        """Returns the results of the panels in the file."""
        return self._layout.results(context, self._layout.in_file(context))

    def default_view(self, context: PageContext) -> View:
        """Returns the view of the file, with all that the link leaves open."""
        return self._layout.without_session(context).view

    def base(self, view: View) -> View:
        """Returns the view whose parts other choices differ from."""
        for base in self._bases:
            view = base(view)
        return view

    def parts(
        self, context: PageContext, results: dict[Panel, Any], view: View, mode: Mode, constants: Constants
    ) -> tuple[Part, ...]:
        """Returns the components of a view in a theme, in order. `constants` keeps what its other views share."""
        context = dataclasses.replace(context, view=view, mode=mode, places=None)
        names = _part_names(results)
        return tuple(panel.part(context, result, names[panel], constants) for panel, result in results.items())

    def notes(self, context: PageContext, results: dict[Panel, Any]) -> str:
        """Returns the texts above the parts, as markup."""
        every = (((panel.file and panel.file.text) or panel.text, result) for panel, result in results.items())
        return "".join(text(context, result) for text, result in every if text is not None)

    def pictures(self, context: PageContext) -> tuple[tuple[str, str], ...]:
        """Returns part and selector of each picture of lecture mode."""
        names = _part_names(self._layout.in_file(context))
        return tuple((name, picture.selector) for panel, name in names.items() for picture in panel.large_pictures)

    def choices(self, context: PageContext) -> tuple[Choice, ...]:
        return tuple(each for options in self._visible(context) for each in options.choices(context))

    def picks(self, context: PageContext) -> tuple[Pick, ...]:
        return tuple(each for options in self._visible(context) for each in options.picks(context))

    def remote_fields(self, context: PageContext) -> dict[str, tuple[Any, ...]]:
        """Returns the fields that a lecturer can set remotely, with their values; no values: whole numbers."""
        return {name: values for each in self._visible(context) for name, values in each.remote_fields(context).items()}

    def _visible(self, context: PageContext) -> list[FileOptions]:
        return [panel.file for panel in self._layout.in_file(context) if panel.file is not None]


def _part_names(panels: Iterable[Panel]) -> dict[Panel, str]:
    """Returns the name of each panel's part in a file: its component; the panel if several have that component."""
    components = {panel: panel.component.name for panel in panels if panel.component is not None}
    counts = Counter(components.values())
    return {panel: name if counts[name] == 1 else panel.name.replace(".", "_") for panel, name in components.items()}
