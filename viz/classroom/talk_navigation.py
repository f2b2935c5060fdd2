"""From stop to stop, and what becomes of a talk that is changed. All of it is called from callbacks."""

from __future__ import annotations

import dataclasses

from viz.classroom import talk as known
from viz.classroom.talk import AROUND, OWN, Talk, keep, packed
from viz.state import navigation, session
from viz.state.fields import fields
from viz.state.view import View

ENDED = "end of the talk"  # session key: that there is no way on from here, for one run
PANEL = "present panel"  # session key: how often the server has closed *Present*
MINE = "own talk"  # session key: the one that was last changed here, packed, so that choosing another loses nothing


def talk_of(view: View) -> Talk | None:
    """The talk that is on, or None."""
    return known.found(view.talk)[0]


def go(by: int) -> None:
    """To the next stop (1), or the one before (-1); where there is none, the strip says so."""
    view, talk = session.current(), talk_of(session.current())
    reach(min(view.stop, len(talk.stops) if talk else 0) + by)


def reach(number: int) -> None:
    """To a stop, or to the last one before it, or the first: then the strip says that there are no more."""
    view, talk = session.current(), talk_of(session.current())
    count = len(talk.stops) if talk else 0
    to = max(1, min(count, number))
    if count and to != view.stop and (view.stop or number > 0):
        show(to)
    if to != number:
        session.ask(ENDED, "first" if number < to else "last")


def show(number: int) -> None:
    """To a stop of the talk that is on: its page and its view; what belongs to the visit stays. As with a link that is
    opened, there is nothing before it that could be undone."""
    talk = talk_of(session.current())
    stop = talk.at(number) if talk else None
    if stop is None:
        return
    view = stop.view
    close_panel()  # it would stand over the picture
    session.open_anew(**{name: getattr(view, name) for name in fields(View) if name not in AROUND}, stop=number, lesson=None)
    if navigation.page() != stop.place.name:
        navigation.go_to(stop.place.name, view.large)


def panel_key() -> str:
    """The key of *Present*."""
    return f"{PANEL} {session.kept(PANEL) or 0}"


def close_panel() -> None:
    """Closes *Present* where it is open: the next run draws another one in its place."""
    session.keep(PANEL, (session.kept(PANEL) or 0) + 1)


def choose(name: str) -> None:
    """Puts a talk on, before its first stop: a ready one by its name, the one that was last changed here, or none."""
    mine = session.kept(MINE)
    if name == OWN and mine is None:
        return
    session.change(talk=mine if name == OWN else name, stop=0)


def put_on(talk: Talk, stop: int = 0) -> None:
    """Puts on a talk of one's own, at a stop, while the view stays as it is."""
    text = packed(talk)
    session.keep(MINE, text)
    session.change(talk=text, stop=stop)


def keep_view(line: str) -> None:
    """Keeps what is seen, with a line: behind the stop that is on, else at the end. TalkError where it cannot be kept."""
    view, talk = session.current(), talk_of(session.current()) or Talk()
    after = view.stop if talk.at(view.stop) else len(talk.stops)
    put_on(talk.with_stop(keep(navigation.page(), view, line), after), after + 1)


def remove(number: int) -> None:
    """Takes a stop out; where it is the one that is on, the one before it is."""
    view, talk = session.current(), talk_of(session.current())
    if talk and talk.at(number):
        put_on(talk.without(number), view.stop - (number <= view.stop))


def move(number: int, to: int) -> None:
    """Puts a stop at another place; the one that is on stays on."""
    view, talk = session.current(), talk_of(session.current())
    if talk and talk.at(number) and talk.at(to):
        order = list(range(1, len(talk.stops) + 1))
        order.insert(to - 1, order.pop(number - 1))
        put_on(talk.moved(number, to), order.index(view.stop) + 1 if view.stop in order else 0)


def say(number: int, line: str) -> None:
    """Gives a stop another line; TalkError for one that is too long."""
    view, talk = session.current(), talk_of(session.current())
    if talk and talk.at(number):
        put_on(talk.with_line(number, line), view.stop)


def rename(title: str) -> None:
    """Gives the talk another title; TalkError for one that is too long."""
    view, talk = session.current(), talk_of(session.current()) or Talk()
    put_on(talk.titled(title), view.stop)


def at_stop(view: View, number: int) -> View:
    """A view as it is at a stop of its talk; itself where there is none."""
    talk = talk_of(view)
    stop = talk.at(number) if talk else None
    if stop is None:
        return view
    around = {name: getattr(view, name) for name in AROUND} | {"stop": number, "lesson": None}
    return dataclasses.replace(stop.view, **around)
