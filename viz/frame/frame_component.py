"""The one component of all pages: next step, terms, glosses, facts, lecture keys, room, watchers of the page."""

from __future__ import annotations

from viz import theme
from viz.classroom import lecture, room_panel
from viz.frame import next_step, sidebar, visit
from viz.kit import browser_store, glosses, lazy, mount, terms
from viz.state import session

_PLACES = "".join(f'<div class="{name}"></div>' for name in ("reference", "lecture", "room"))
_COMPONENT = mount.Component(
    __file__, f'<div class="frame">{_PLACES}</div>', term_names=tuple(terms.GLOSSARY), every_run=True, glosses=glosses.TEXT
)


def mount_frame(mode: theme.Mode) -> None:
    """Mounts the component after the page is drawn.

    Args:
        mode: a theme other than this one in the browser starts a new run.
    """
    watcher: tuple[dict[str, str], dict[str, mount.Event]] = (
        {"mode": mode},
        {
            "mode": (mount.one_of(theme.PALETTES), session.set_theme),
            "popover": lazy.popover_event(),
            "seen": lazy.seen_event(),
            "reconnected": (mount.pressed, session.mark_user_event),
            "missing": (mount.pressed, browser_store.missing_event),
        },
    )
    parts = (watcher, next_step.describe(), lecture.describe_keys(), room_panel.describe_room(), visit.describe())
    data = {name: value for values, _ in parts for name, value in values.items()} | sidebar.describe_facts()
    events = {name: event for _, own in parts for name, event in own.items()}
    _COMPONENT.mount("frame", data, events, default={"mode": mode})
