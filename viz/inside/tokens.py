"""Words on their way to tokens: all words of the sentence as chips, one of them large with its merges, step by step.

Choosing a word and walking through its merges happens in the browser; the server hears of where the visitor rests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from model.config import CONTROL_TOKENS
from model.readings.merges import Word, learned
from viz import theme
from viz.page_fields import CUTS
from viz.shared import mount, packed

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.text.tokenizer import Tokenizer

BYTES = 256
Seen = Callable[[int], str]  # how often the training data has a token, in words


@dataclass(frozen=True)
class Line:
    """Words that stand in a line, of one table: those of the sentence's source, of its target, or of what was typed."""

    key: str  # one of CUTS
    title: str
    side: str  # whose table: source or target
    words: tuple[Word, ...]
    code: str = ""  # of their language


def payload(lines: list[Line], loaded: Checkpoint, seen: dict[str, Seen], mode: theme.Mode) -> dict[str, Any]:
    """All that the browser needs, as JSON values. Words of one key are numbered through all of its lines."""
    tables = {line.side: Table(loaded, line.side, seen[line.side]) for line in lines}
    made = [
        {
            "key": line.key,
            "title": line.title,
            "side": line.side,
            "code": line.code,
            "words": [tables[line.side].word(word) for word in line.words],
        }
        for line in lines
    ]
    name = hashlib.sha256(repr([(line.key, line.side, [word.start for word in line.words]) for line in lines]).encode())
    return {
        "id": name.hexdigest()[:16],
        "lines": made,
        "tables": {side: table.told() for side, table in tables.items()},
        "signed": list(theme.diverging(mode)),
        "large": False,  # in a lecture: one word alone
    }


class Table:
    """What is told of the tokens of one embedding table, as far as words have met them."""

    def __init__(self, loaded: Checkpoint, side: str, seen: Seen) -> None:
        model = loaded.model
        self.tokenizer: Tokenizer = loaded.source_tokenizer if side == "source" else loaded.target_tokenizer
        self.values = (model.source_embedding if side == "source" else model.target_embedding).table.weight.detach()
        self.seen, self.merges = seen, learned(self.tokenizer)
        self.labels: dict[int, str] = {}
        self.ranks: dict[str, int] = {}  # of pairs of neighbours, "12,40"
        self.notes: dict[int, str] = {}  # of final tokens

    def word(self, word: Word) -> dict[str, Any]:
        """A word from its bytes to its tokens, each merge as `at`, `token`."""
        for pieces in word.steps():
            self.labels |= {token: self.tokenizer.piece(token) for token in pieces if token not in self.labels}
            for pair in pairwise(pieces):
                if pair in self.merges:
                    self.ranks[f"{pair[0]},{pair[1]}"] = self.merges[pair][0]
        self.notes |= {token: self.seen(token) for token in word.ids if token not in self.notes}
        rows = self.values[list(word.ids)].float().cpu().numpy()  # [T,D]
        return {
            "lent": word.lent,
            "start": list(word.start),
            "merges": [[merge.at, merge.token] for merge in word.merges],
            "ids": list(word.ids),
            "values": packed.floats(rows),
        }

    def told(self) -> dict[str, Any]:
        """Labels by id, ranks by pair, how often each token was seen; how many merges there are, and how wide a row is."""
        return {
            "labels": self.labels,
            "ranks": self.ranks,
            "seen": self.notes,
            "merges": len(self.merges),
            "rows": self.values.shape[0],
            "width": self.values.shape[1],
        }


def longest(words: list[dict[str, Any]]) -> int:
    """The word of the most tokens, and among these of the most merges; the first of them, from 1. 0 where there is none."""
    sizes = [(len(word["ids"]), len(word["merges"])) for word in words]
    return sizes.index(max(sizes)) + 1 if sizes else 0


_COMPONENT = mount.Component(__file__, '<div class="tokens"></div>', picture="Tokens")


def tokens(
    data: dict[str, Any],
    on_at: Callable[[str, int, int], None],
    on_open: Callable[[str, int], None],
    key: str = "tokens",
) -> None:
    """Mounts the component with the payload and `at`: whose word, which (from 1), and how many of its merges are made.
    Before the next run `on_at` is called with where the visitor rests, `on_open` with the side and the id of a token whose
    neighbours are asked for."""
    whose = mount.fields(of=mount.one_of(CUTS), word=mount.whole(1, 999), done=mount.whole(0, 9999))
    which = mount.fields(side=mount.one_of(tuple(data["tables"])), token=mount.whole(len(CONTROL_TOKENS), 10**9))
    _COMPONENT.mount(key, data, {"at": (whose, on_at), "open": (which, on_open)})
