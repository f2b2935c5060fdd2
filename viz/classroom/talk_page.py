"""A talk as one HTML file that needs no server: each stop's page as a file of its own, in a frame, with its line below."""

from __future__ import annotations

import dataclasses
import html

from viz import page_context
from viz.classroom import line_fields
from viz.classroom.talk import Stop, Talk
from viz.offline import html_export
from viz.offline.file_shell import HERE, html_file, json_bytes

MISSING = "This stop is on the page “{}” of the lab, which no file can hold."


def page_of_talk(talk: Talk, device: str = "auto") -> bytes:
    """Returns the HTML file of a talk in UTF-8.

    The pages step and answer the mouse as single HTML files do. A stop without such a file keeps its line and says so.

    Raises:
        ValueError: No stop can be held.
    """
    stops, documents = [], {}
    for number, stop in enumerate(talk.stops, 1):
        line = line_fields.fill(stop.place, stop.view_on(device), stop.line).text
        entry = {"page": stop.place.title, "line": line}
        try:
            documents[f"stop-{number}"] = _document(stop, device)
        except ValueError:
            entry["fault"] = MISSING.format(stop.place.title)
        stops.append(entry)
    if not documents:
        raise ValueError("No stop of this talk can be held by a file")
    head = f'<div><h1 hidden>{html.escape(talk.title)}</h1><p id="status" role="alert"></p>'
    return html_file(
        "talk",
        talk.title,
        head,
        {},
        {"talk": json_bytes({"title": talk.title, "stops": stops}), **documents},
        HERE / "talk_page.js",
        content="",
        foot='<div class="strip"></div>',
        sheet="talk_page.css",
        framed=documents.values(),
    )


def _document(stop: Stop, device: str) -> bytes:
    """Returns the file of a stop's page. Raises ValueError if the page or this part of it has none."""
    context = page_context.build(stop.view_on(device))
    name = stop.place.name
    html_export.same_for(name, context)  # the part of the page must be in the file
    return html_export.file_of(name, dataclasses.replace(context, places=None))
