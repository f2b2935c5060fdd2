"""Ways to damage bytes, JSON and files, drawn at random."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

NUMBERS = (None, True, False, 0, -1, 1, 2, 3, 0.5, -0.0, 1e-300, 1e300, 10**9, 10**30, 2**63, 10**400)
TEXTS = ("", " ", "x", "x" * 100_000, "\0", "a\nb", "\u202eb", "\U0001f600", "<b>", "..", "/", "../..", "NaN", "causal")
LARGE = 1 << 40  # bytes of a file that is nothing but a hole
RAW = (
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "9" * 5000,
    r'"\ud800"',
    "[" * 100_000,
    '{"a":' * 2000,
    '{"a":1,"a":2}',
    "",
    "\0",
)


def value(draw: random.Random) -> Any:
    """Something that nobody expects in a file of JSON."""
    made = draw.choice((*NUMBERS, *TEXTS))
    depth = draw.choice((0, 0, 0, 1, 2, 60))
    for _ in range(depth):
        made = draw.choice(([made], {"a": made}, [made] * (3 if depth < 3 else 1), {draw.choice(TEXTS[4:]): made}))
    return draw.choice((made, made, made, [], {}))


def damaged_bytes(draw: random.Random, content: bytes) -> bytes:
    """Cut, changed, doubled or filled with noise somewhere."""
    place = draw.randrange(len(content) + 1)
    length = draw.choice((1, 1, 2, 8, 100, 5000))
    noise = draw.choice((draw.randbytes(length), bytes(length), b"\xff" * length))
    kinds = (
        content[:place],
        content[:place] + noise + content[place:],
        content[:place] + noise + content[place + length :],
        content[:place] + content[place + length :],
        content[:place] + content[max(0, place - length) :],
        noise,
    )
    return draw.choice(kinds)


def damaged_json(draw: random.Random, content: bytes) -> bytes:
    """One value somewhere in it exchanged, taken out or named otherwise."""
    tree = [json.loads(content)]
    holder, key = tree, 0
    while isinstance(holder[key], dict | list) and holder[key] and draw.random() < 0.8:
        holder = holder[key]
        key = draw.choice(list(holder)) if isinstance(holder, dict) else draw.randrange(len(holder))
    how = draw.random()
    if how < 0.25:
        holder[key] = "@raw@"
        return json.dumps(tree[0]).replace('"@raw@"', draw.choice(RAW)).encode("utf-8", "surrogatepass")
    if how < 0.35 and holder is not tree:
        del holder[key]
    elif how < 0.5 and isinstance(holder, dict):
        holder[draw.choice(TEXTS)] = value(draw)
    elif how < 0.62 and holder is not tree:
        other = draw.choice(list(holder)) if isinstance(holder, dict) else draw.randrange(len(holder))
        holder[key], holder[other] = holder[other], holder[key]
    else:
        holder[key] = value(draw)
    return json.dumps(tree[0], ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")


def put_something_else(draw: random.Random, path: Path) -> None:
    """In place of a file a device, a pipe, a folder, a link that leads nowhere or in a circle, a hole, or nothing."""
    path.unlink()
    kind = draw.randrange(7)
    if kind == 0:
        path.symlink_to(draw.choice(("/dev/zero", "/dev/urandom", "/dev/null", "/proc/self/mem", "/proc/kmsg")))
    elif kind == 1:
        os.mkfifo(path)
    elif kind == 2:
        path.mkdir()
    elif kind == 3:
        path.symlink_to(draw.choice((path.name, "nowhere", "/", "..")))
    elif kind == 4:
        with path.open("wb") as raw:
            raw.truncate(draw.choice((1, 1000, LARGE)))


def is_sentence(said: str, place: Path) -> None:
    """What is said of a fault is a line of a readable length that names where it is, and holds no half characters."""
    assert "\n" not in said and "\r" not in said, "a fault on several lines"
    assert 20 < len(said) < 1000, f"a fault of {len(said)} characters"
    assert str(place) in said, f"a fault that names no file: {said}"
    said.encode("utf-8")
