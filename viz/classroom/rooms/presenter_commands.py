"""The private part of a room: the state of the lecturer's screen, and the presenter view's commands for it."""

from __future__ import annotations

import json
from typing import Any

from viz.classroom.rooms.room_question import is_text

MAX_SCREEN = 8000  # characters of a screen's state
MAX_NOTES, MAX_STOPS = 2000, 60  # as viz/classroom/talk.py has them
MAX_COMMANDS = 20
FRESH = 10.0  # s after which a screen that was not reached drops a command
ACTIONS = ("hello", "next", "previous", "black", "pointer", "reset", "question", "notes")
BAD_SCREEN = f"state is not a JSON object of at most {MAX_SCREEN:,} characters. Shorten the notes of this stop."
LONG_NOTES = f"The notes are not a text of at most {MAX_NOTES:,} characters. Shorten them."


def check_screen(state: Any) -> dict[str, Any]:
    """Returns the state of a screen; raises ValueError if it is no JSON object or too long."""
    try:
        if isinstance(state, dict) and len(json.dumps(state, ensure_ascii=False, allow_nan=False)) <= MAX_SCREEN:
            return state
    except (ValueError, RecursionError):
        pass
    raise ValueError(BAD_SCREEN)


def new_command(number: int, values: dict[str, Any], now: float) -> dict[str, Any]:
    """Returns a command of a presenter view: an action, and for notes a stop and a text; raises ValueError."""
    action = values.get("action")
    if action not in ACTIONS:
        raise ValueError(f"action is unknown; expected {', '.join(ACTIONS)}.")
    if action != "notes":
        return {"number": number, "action": action, "time": now}
    stop, text = values.get("stop"), values.get("text")
    if type(stop) is not int or not 1 <= stop <= MAX_STOPS:
        raise ValueError(f"stop is not the number of a stop; expected 1 to {MAX_STOPS}.")
    if not is_text(text, MAX_NOTES):
        raise ValueError(LONG_NOTES)
    return {"number": number, "action": action, "time": now, "stop": stop, "text": text}


def with_command(commands: tuple[dict[str, Any], ...], values: dict[str, Any], now: float) -> tuple[dict[str, Any], ...]:
    """Returns the fresh commands and a new one; raises ValueError."""
    return (*fresh_commands(commands, now), new_command(newest(commands) + 1, values, now))[-MAX_COMMANDS:]


def fresh_commands(commands: tuple[dict[str, Any], ...], now: float) -> list[dict[str, Any]]:
    return [each for each in commands if now - each["time"] <= FRESH]


def newest(commands: tuple[dict[str, Any], ...]) -> int:
    """Returns the number of the newest command; 0 if no presenter view was connected."""
    return commands[-1]["number"] if commands else 0
