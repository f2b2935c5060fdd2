"""Hypothesis strategies for input from outside: texts, damaged bytes and JSON, and things in place of a file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.support import tiny

# Tests repeat the same few examples; `make fuzz` draws new ones, a hundred times as many.
settings.register_profile("tests", derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("fuzz", database=None, deadline=None, suppress_health_check=list(HealthCheck))
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "tests")
settings.load_profile(PROFILE)

NUMBERS = (None, True, False, 0, -1, 1, 2, 3, 0.5, -0.0, 1e-300, 1e300, 10**9, 10**30, 2**63, 10**400)
TEXTS = ("", " ", "x", "x" * 100_000, "\0", "a\nb", "\u202eb", "\U0001f600", "<b>", "..", "/", "../..", "NaN", "causal")
RAW = ("NaN", "-Infinity", "1e999", "9" * 5000, r'"\ud800"', "[" * 100_000, '{"a":' * 2000, '{"a":1,"a":2}', "", "\0")
PARTS = ("The red fox sees a lamp.", "</s>", "<pad>", "<s>", "’", "“", "L'", "qu’", "\0", "\r", "\n", "\t", " ", "\u00a0")
PARTS += ("é", "e\u0301", "\ufeff", "\u202e", "\U0001f600", "\U0001f468\u200d\U0001f469", "ﷺ", "。", "Dr. Mr. St.", "...")
PARTS += ("?!", "Ġ", "<b>", "http://a.b/c", "1", "3.14", "·", "U.S.", "日本", "\x85", "\u2028")
HALVES = ("\ud800", "\udfff")
LARGE = 1 << 40  # bytes of a file that is a hole


def few(examples: int) -> Callable:
    """Sets the number of examples of a test; `make fuzz` draws a hundred times as many."""
    return settings(max_examples=examples * (100 if PROFILE == "fuzz" else 1))


def texts(halves: bool = True) -> st.SearchStrategy[str]:
    """Words, signs and any characters, each repeated up to some thousand times."""
    part = st.sampled_from((*PARTS, *(HALVES if halves else ()))) | st.sampled_from(tiny.SENTENCES)
    if halves:
        part |= st.integers(0, 0x10FFFF).map(chr)
    else:
        part |= st.characters(codec="utf-8")
    repeated = st.builds(lambda text, times: text * times, part, st.sampled_from((1, 1, 1, 2, 30, 128, 3000)))
    return st.builds(lambda parts, gap: gap.join(parts), st.lists(repeated, max_size=6), st.sampled_from(("", " ", ". ")))


def values() -> st.SearchStrategy[object]:
    """JSON values that a file does not expect."""
    one = st.sampled_from((*NUMBERS, *TEXTS))
    return st.recursive(
        one,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(TEXTS), inner, max_size=2),
        max_leaves=4,
    )


@st.composite
def damaged_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """The content cut, changed, doubled or filled with noise at one place."""
    place, length = draw(st.integers(0, len(content))), draw(st.sampled_from((1, 1, 2, 8, 100, 5000)))
    noise = draw(st.binary(min_size=1, max_size=9) | st.sampled_from((bytes(length), b"\xff" * length)))
    results = (
        content[:place],
        content[:place] + noise + content[place:],
        content[:place] + noise + content[place + length :],
        content[:place] + content[place + length :],
        content[:place] + content[max(0, place - length) :],
        noise,
    )
    return draw(st.sampled_from(results))


@st.composite
def damaged_json(draw: st.DrawFn, content: bytes) -> bytes:
    """The content with one value replaced, removed, added or exchanged with another."""
    tree = [json.loads(content)]
    holder, key = tree, 0

    def a_key() -> str | int:
        return draw(st.sampled_from(sorted(holder)) if isinstance(holder, dict) else st.integers(0, len(holder) - 1))

    while isinstance(holder[key], dict | list) and holder[key] and draw(st.integers(0, 4)):
        holder = holder[key]
        key = a_key()
    how = draw(st.sampled_from(("raw", "remove", "add", "exchange", "replace", "replace")))
    if how == "raw":
        holder[key] = "@raw@"
        return json.dumps(tree[0]).replace('"@raw@"', draw(st.sampled_from(RAW))).encode("utf-8", "surrogatepass")
    if how == "remove" and holder is not tree:
        del holder[key]
    elif how == "add" and isinstance(holder, dict):
        holder[draw(st.sampled_from(TEXTS))] = draw(values())
    elif how == "exchange" and holder is not tree:
        other = a_key()
        holder[key], holder[other] = holder[other], holder[key]
    else:
        holder[key] = draw(values())
    return json.dumps(tree[0]).encode("utf-8", "surrogatepass")


def _hole(path: Path) -> None:
    with path.open("wb") as raw:
        raw.truncate(LARGE)


REPLACEMENTS: tuple[Callable[[Path], object], ...] = (
    lambda path: None,
    lambda path: path.symlink_to("/dev/zero"),
    lambda path: path.symlink_to("/proc/self/mem"),
    lambda path: path.symlink_to(path.name),
    lambda path: path.symlink_to("nowhere"),
    os.mkfifo,
    Path.mkdir,
    _hole,
)


def replacements() -> st.SearchStrategy[Callable[[Path], object]]:
    """Functions that make a device, a pipe, a folder, a bad link, a hole or nothing at a path."""
    return st.sampled_from(REPLACEMENTS)


def is_sentence(message: str, place: Path) -> None:
    """Asserts that a message is one readable line that names a place."""
    assert "\n" not in message and "\r" not in message, "a message of several lines"
    assert 20 < len(message) < 1000, f"a message of {len(message)} characters"
    assert str(place) in message, f"a message that names no file: {message}"
    message.encode("utf-8")
