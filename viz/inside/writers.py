"""The writers of a query by the writers of a key: a small matrix that adds up to a score; who asks and who answers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

from model import format
from model.trace import SITE_KINDS
from viz import theme
from viz.inside.writers_texts import labels, missed, name
from viz.shared import mount, sides

if TYPE_CHECKING:
    from model.readings.score_writers import ScoreWriters
    from model.readings.writers import Writer
    from model.trace import Trace

SHOWN = 7  # writers a side; the rest is one more
_SHORT = {"token": "embedding", "position": "position", "segment": "sentence", "bias": "biases", "own": "own bias"}


def payload(found: ScoreWriters, trace: Trace, mode: theme.Mode, keys: int | None = None) -> dict[str, Any]:
    """All that the browser needs, as JSON values; parts to five decimals; `keys`: how many the row's pass had."""
    site, folded = found.site, found.folded(SHOWN)
    asks, answers = labels(found, trace)
    weights = trace.patterns[site][found.head, found.query]
    allowed = trace.mask(site, found.head)[found.query]
    return {
        "kind": site.kind,
        "large": False,  # in a lecture
        "query": found.query + 1,
        "key": found.key + 1,
        "queries": sides.queries(trace, site),
        "keys": [
            {"label": label, "weight": round(float(weight), 3), "seen": bool(seen)}
            for label, weight, seen in islice(zip(sides.keys(trace, site), weights, allowed, strict=True), keys)
        ],
        "rows": _heads(folded.asks, len(found.asks), asks),
        "columns": _heads(folded.answers, len(found.answers), answers),
        "values": [[round(float(value), 5) for value in row] for row in folded.values],
        "largest": list(folded.largest),
        "score": round(found.score, 5),
        "remainder": format.rounded(found.remainder),
        "whole": not missed(found),
        "titles": [f"wrote what asks, at “{asks}”", f"wrote what answers, at “{answers}”"],
        "scale": list(theme.diverging(mode)),
    }


def _heads(writers: tuple[Writer | None, ...], count: int, label: str) -> list[dict[str, Any]]:
    """What stands beside the rows or above the columns."""
    others = count - sum(writer is not None for writer in writers)
    made = []
    for writer in writers:
        if writer is None:
            made.append({"name": f"the other {others}", "short": f"other {others}", "hue": None, "head": None})
            continue
        site = writer.site
        what = "patch" if writer.kind == "patch" else "FFN"
        short = _SHORT.get(writer.kind) or (f"{what} L{writer.layer + 1}" if writer.layer is not None else "")
        if site is not None and writer.head is not None:
            short = f"L{site.layer + 1} h{writer.head + 1}"
        made.append(
            {
                "name": name(writer, label),
                "short": short,
                "hue": site.kind if site else "border" if writer.kind == "feed-forward" else None,
                "head": [site.kind, site.layer + 1, (writer.head or 0) + 1] if site else None,
            }
        )
    return made


_COMPONENT = mount.Component(__file__, '<div class="writers"></div>', picture="Who writes what is asked for and answered")


def writers(
    data: dict[str, Any],
    on_query: Callable[[int], None],
    on_key: Callable[[int], None],
    on_writer: Callable[[str, int, int, str], None],
    key: str = "writers",
) -> None:
    """Mounts the component. Before the next run `on_query` is called with the token or step (from 1) that shall ask,
    `on_key` with the token that shall answer, `on_writer` with the kind of site, layer and head (from 1) of a writer and the
    side that it is on, `asks` or `answers`."""
    heads = [each["head"] for side in ("rows", "columns") for each in data[side] if each["head"]]
    check = mount.fields(
        kind=mount.one_of(list(SITE_KINDS)),
        layer=mount.whole(1, max((head[1] for head in heads), default=1)),
        head=mount.whole(1, max((head[2] for head in heads), default=1)),
        side=mount.one_of(("asks", "answers")),
    )
    events = {
        "query": (mount.whole(1, len(data["queries"])), on_query),
        "key": (mount.whole(1, len(data["keys"])), on_key),
        "writer": (check, on_writer),
    }
    _COMPONENT.mount(key, data, events)
