"""The data that one visitor's session keeps between its runs: one record under one key of Streamlit's session state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal
from weakref import WeakKeyDictionary

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from viz.state.view import View

Direction = Literal["undo", "redo"]
_KEY = "lab"


@dataclass(slots=True)
class WidgetData:
    """State of the widgets that `widgets.bind` makes."""

    are_new: bool = False  # the browser has none of them
    of_new_session: bool = False
    pending: dict[str, list[Any]] = field(default_factory=dict)  # earlier values that the browser may still send
    texts: dict[str, str] = field(default_factory=dict)
    to_set: set[str] = field(default_factory=set)  # widgets that get their value even if it is unchanged


@dataclass(slots=True)
class LectureData:
    """Values and keys of lecture mode."""

    facts: dict[str, Any] = field(default_factory=dict)  # of this run
    new_keys: list[tuple[str, str, Callable[[], str | None], bool]] = field(default_factory=list)  # of this run
    keys: list[tuple[str, str, Callable[[], str | None], bool]] = field(default_factory=list)  # of the last complete run
    message: str = ""  # about what the last key with a message did
    message_number: int = 0  # a new number shows the message
    note_lines: int = 0  # above the stage in this run, at most 2
    needs_effect: bool = False  # the next run adds the effect of the edits


@dataclass(slots=True)
class TalkData:
    """State of a playlist and its panel."""

    ended: Literal["first", "last"] | None = None  # the end that the visitor has reached
    panel_number: int = 0  # a new number closes the panel
    own: str = ""  # the visitor's own playlist, packed
    requested_file: tuple[str, str] | None = None  # for one run: file, and a number of the click
    message: str | None = None  # for one run
    is_presented: bool = False  # the presenter view is open: the browser gets the stops with their notes
    notes_fault: str = ""  # for one run


@dataclass(slots=True)
class HomeworkData:
    """State of the form in which an author makes a task."""

    stops: dict[str, Any] = field(default_factory=dict)  # start, solution, measured: a view that was taken
    kind: str = "view"  # of the task in the form
    is_preview: bool = False  # the author sees the assignment as students do
    stored: int = 0  # how many tasks were stored: the form is emptied after each
    message: str = ""  # for one run
    list_message: str = ""  # for one run, in the list of assignments
    requested_file: tuple[str, str] | None = None  # for one run: file, and a number of the click


@dataclass(slots=True)
class RoomData:
    """A question to the followers of a room."""

    question: dict[str, Any] | None = None
    answer: dict[str, Any] | None = None
    steps: int = 0  # of the last page; 0 if it has none


@dataclass(slots=True)
class UploadData:
    """Results of the uploads of checkpoints."""

    tried: int = 0
    loaded: int = 0
    fault: str | None = None


@dataclass(slots=True)
class TrainOneData:
    """The visitor's entries and choices under *Train one*."""

    guess: bool | None = None  # will it learn this?
    sure: int | None = None  # per cent
    pairs: str = ""  # own pairs, as typed
    fault: str = ""  # for one run
    chosen: str = ""  # name of the training that is shown; empty: the newest


@dataclass(slots=True)
class HeadTextsData:
    """The visitor's own sentences under *Many sentences* on Heads."""

    typed: str = ""
    sentences: dict[Any, int] = field(default_factory=dict)  # of the last measurement -> line, from 1
    is_shown: bool = False  # else the stored corpus is
    fault: str = ""
    tried: int = 0  # a new number empties the upload


@dataclass(slots=True)
class CollectedData:
    """The result files of a class, which a lecturer has dropped, and what was judged."""

    files: dict[str, Any] = field(default_factory=dict)  # name and digest of the content -> file
    earlier: dict[str, Any] = field(default_factory=dict)  # those that the upload does not list any more
    judged: dict[str, Any] = field(default_factory=dict)  # assignment and digest -> judged result, or a fault
    chosen: str = ""  # id of the assignment; empty: the one with most results
    is_stopped: bool = False  # by the lecturer
    tried: int = 0  # a new number empties the upload


@dataclass(slots=True)
class SessionData:
    """Data of one session, beside the values of Streamlit's own widgets."""

    view: View | None = None  # None before the first link is read
    link: dict[str, str] = field(default_factory=dict)  # the last one read or written
    opened_link: dict[str, str] | None = None  # the link that this run opened; None if it goes on with its view
    has_opening_step: bool = True  # no link and no visitor has chosen a step of this text
    faults: tuple[str, ...] = ()  # a sentence each, until something changes
    lost: tuple[str, ...] | None = None  # a sentence on an unknown address, for the next run; None: its address was known
    page: str | None = None
    next_page: str | None = None  # file of the page to switch to
    displayed_page: str | None = None  # the page whose widgets the browser has
    previous_page: str | None = ""  # the page that was displayed before this run; empty: not recorded
    view_per_page: dict[str, View] = field(default_factory=dict)  # for the way back to an address without a link
    keep_empty_link: bool = False
    has_user_event: bool = False  # the browser may not know the last link
    mode: Literal["light", "dark"] | None = None  # theme of this run
    theme: str | None = None  # theme that the browser reported last
    has_page_config: bool = False  # in the browser
    colours: Literal["light", "dark"] | None = None  # of the theme, in the browser
    is_default_text: bool = False
    complaints: dict[str, tuple[str, str]] = field(default_factory=dict)  # control -> input and error message
    fitted: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # field -> wanted and clamped value
    exempt: tuple[tuple[str, str], ...] = ()  # pairs: the second field stays when the first changes
    history: dict[Direction, list[View]] = field(default_factory=lambda: {"undo": [], "redo": []})
    is_stepping: bool = False  # a change by undo, redo or `load_view`
    widgets: WidgetData = field(default_factory=WidgetData)
    parts: Any = None  # the parts of components in the browser, of `viz.kit.browser_store`
    events_keys: dict[str, str] = field(default_factory=dict)  # key of a component -> key of its events
    seen: dict[str, Any] = field(default_factory=dict)  # lazy place -> digest of its content, or True
    closed_popovers: list[str] = field(default_factory=list)  # of this run
    unseen_places: list[str] = field(default_factory=list)  # of this run
    lecture: LectureData = field(default_factory=LectureData)
    talk: TalkData = field(default_factory=TalkData)
    homework: HomeworkData = field(default_factory=HomeworkData)
    room: RoomData = field(default_factory=RoomData)
    has_sent_visit: bool = False  # the tab has answered whether it belongs to an earlier visit
    uploads: UploadData = field(default_factory=UploadData)
    training: TrainOneData = field(default_factory=TrainOneData)
    head_texts: HeadTextsData = field(default_factory=HeadTextsData)
    collected: CollectedData = field(default_factory=CollectedData)
    saved_file: tuple[int, str] | None = None  # requested for one run: number, and a number of the click
    cache_run: tuple[Any, Any] | None = None  # whose, and the measured run
    is_edit_list_open: bool = False
    view_before_question: Any = None  # the visitor's own view, the sentence that replaced its text, and the typed text
    own_target: tuple[Any, str | None] | None = None  # whose, and a translation that was put aside


_RECORDS: WeakKeyDictionary[Any, SessionData] = WeakKeyDictionary()  # by session state: a run asks for its record 80 times


def data() -> SessionData:
    """Returns the record of this session."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is not None and (known := _RECORDS.get(context.session_state)) is not None:
        return known
    if _KEY not in st.session_state:
        st.session_state[_KEY] = SessionData()
    found: SessionData = st.session_state[_KEY]
    if context is not None:
        _RECORDS[context.session_state] = found
    return found


def store_from_event(record: Any, **values: Any) -> None:
    """Sets attributes of a record of this session from an event of the page; called from callbacks."""
    for name, value in values.items():
        setattr(record, name, value)
    data().has_user_event = True
