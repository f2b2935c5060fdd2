"""Navigation between stops and changes of the talk. All functions are for callbacks."""

from __future__ import annotations

import dataclasses

from viz import pages
from viz.classroom import line_fields
from viz.classroom.talk import AROUND, MAX_TITLE, OWN, Talk, TalkError, find_talk, make_stop, pack
from viz.kit.panel import layout_of
from viz.state import navigation, session
from viz.state.fields import fields
from viz.state.session_data import data, store_from_event
from viz.state.view import View

COPY = " (copy)"


def talk_of(view: View) -> Talk | None:
    """Returns the current talk, or None."""
    return find_talk(view.talk)[0]


def move_by(by: int) -> None:
    """Goes to the next (1) or previous (-1) stop; at the end, the strip shows a message."""
    view, talk = session.current_view(), talk_of(session.current_view())
    go_to_stop(min(view.stop, len(talk.stops) if talk else 0) + by)


def go_to_stop(number: int) -> None:
    """Goes to a stop; beyond the first or last one, the strip shows a message."""
    view, talk = session.current_view(), talk_of(session.current_view())
    count = len(talk.stops) if talk else 0
    stop = max(1, min(count, number))
    if count and stop != view.stop and (view.stop or number > 0):
        show(stop)
    if stop != number:
        store_from_event(data().talk, ended="first" if number < stop else "last")


def show(number: int) -> None:
    """Goes to a stop: its page and its view. Fields of the visit stay, and the undo history is cleared."""
    talk = talk_of(session.current_view())
    stop = talk.stop(number) if talk else None
    if stop is None:
        return
    view = stop.view
    close_panel()  # it would cover the picture
    session.load_view(**{name: getattr(view, name) for name in fields(View) if name not in AROUND}, stop=number, lesson=None)
    if navigation.current_page() != stop.place.name:
        navigation.go_to(stop.place.name, view.large)


def open_stop_of_link() -> bool:
    """Goes to the stop of a new link that names a talk and a stop but no view; returns True if another run must show it.

    The line of a stop would be wrong beside the view of an empty link.
    """
    opened, view = data().opened_link, session.current_view()
    of_the_visit = {fields(View)[name].parameter for name in AROUND if name in fields(View)}
    talk = talk_of(view)
    number = min(view.stop, len(talk.stops)) if talk else 0
    if opened is None or not opened.keys() <= of_the_visit or not number:
        return False
    show(number)
    return True


def panel_key() -> str:
    """Returns the widget key of *Present*."""
    return f"present panel {data().talk.panel_number}"


def close_panel() -> None:
    """Closes *Present*: the next run draws a new popover."""
    data().talk.panel_number += 1


def choose(name: str) -> None:
    """Selects a ready talk by name, the talk last edited here, or none; before its first stop."""
    mine = data().talk.own
    if name == OWN and not mine:
        return
    session.change(talk=mine if name == OWN else name, stop=0)


def put_on(talk: Talk, stop: int = 0) -> None:
    """Selects an edited talk at a stop; the view stays."""
    text = pack(talk)
    data().talk.own = text
    session.change(talk=text, stop=stop)


def keep_view(line: str) -> None:
    """Adds the current view as a stop, after the current stop or at the end; raises TalkError."""
    view, talk = _shown_view(), talk_of(session.current_view()) or Talk()
    _check_fields(pages.find(navigation.current_page()), view, line)
    after = view.stop if talk.stop(view.stop) else len(talk.stops)
    put_on(talk.with_stop(make_stop(navigation.current_page(), view, line), after), after + 1)


def remove(number: int) -> None:
    """Removes a stop; the stop before it becomes current if it was the current one."""
    view, talk = session.current_view(), talk_of(session.current_view())
    if talk and talk.stop(number):
        put_on(talk.without(number), view.stop - (number <= view.stop))


def move(number: int, to: int) -> None:
    """Moves a stop; the current stop stays current."""
    view, talk = session.current_view(), talk_of(session.current_view())
    if talk and talk.stop(number) and talk.stop(to):
        order = list(range(1, len(talk.stops) + 1))
        order.insert(to - 1, order.pop(number - 1))
        put_on(talk.moved(number, to), order.index(view.stop) + 1 if view.stop in order else 0)


def set_line(number: int, line: str) -> None:
    """Sets the line of a stop; raises TalkError if it is too long."""
    view, talk = session.current_view(), talk_of(session.current_view())
    stop = talk.stop(number) if talk else None
    if talk and stop:
        _check_fields(stop.place, stop.view_on(view.device), line, f"Stop {number}: ")
        put_on(talk.with_line(number, line), view.stop)


def take_view(number: int) -> None:
    """Replaces the view of a stop by the current page and view; the line stays. Raises TalkError."""
    view, talk = _shown_view(), talk_of(session.current_view())
    stop = talk.stop(number) if talk else None
    if talk and stop:
        _check_fields(pages.find(navigation.current_page()), view, stop.line)
        put_on(talk.with_view(number, navigation.current_page(), view), number)


def duplicate() -> None:
    """Selects a copy of the talk, to be edited."""
    view, talk = session.current_view(), talk_of(session.current_view())
    if talk:
        put_on(talk.titled(f"{talk.title[: MAX_TITLE - len(COPY)]}{COPY}"), view.stop)
        if view.talk.startswith(OWN):
            store_from_event(data().talk, message=f"The list has the copy now. The browser's Back leads to “{talk.title}”.")


def set_notes(number: int, notes: str) -> None:
    """Sets the notes of a stop; raises TalkError if they are too long."""
    view, talk = session.current_view(), talk_of(session.current_view())
    if talk and talk.stop(number):
        put_on(talk.with_notes(number, notes), view.stop)


def _shown_view() -> View:
    """Returns the current view; its large picture is the one that shows what the page begins with."""
    view = session.current_view()
    if view.lecture or view.large != View.large or view.heads_over != View.heads_over:
        return view
    return dataclasses.replace(view, large=layout_of(pages.find(navigation.current_page())).first_picture)


def _check_fields(page: pages.Page, view: View, line: str, where: str = "") -> None:
    """Raises TalkError for a field that the view does not have; a decimal that was typed gives a message."""
    for fault in line_fields.fill(page, view, line).faults:
        raise TalkError(where + fault)
    if message := line_fields.warning(line):
        store_from_event(data().talk, message=where + message)


def rename(title: str) -> None:
    """Sets the title of the talk; raises TalkError if it is too long."""
    view, talk = session.current_view(), talk_of(session.current_view()) or Talk()
    put_on(talk.titled(title), view.stop)


def at_stop(view: View, number: int) -> View:
    """Returns the view at a stop of its talk; the view itself without a stop."""
    talk = talk_of(view)
    stop = talk.stop(number) if talk else None
    if stop is None:
        return view
    around = {name: getattr(view, name) for name in AROUND} | {"stop": number, "lesson": None}
    return dataclasses.replace(stop.view, **around)
