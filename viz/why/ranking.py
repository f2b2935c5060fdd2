"""The readings, the best first: the source as each colours it, its area here, and over many sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from model.readings.word_readings import READINGS
from model.text.trust import RANDOM
from viz import theme
from viz.shared import mount

if TYPE_CHECKING:
    from model.experiments.faithfulness import Tested
    from model.text.trust import Share, Trust


def payload(
    found: Tested,
    trust: Trust | None,
    scope: str,
    chosen: str,
    mode: theme.Mode,
    steps: tuple[int, int] = (1, 1),
    only: Sequence[int] = (),
    said: str = "",
) -> dict[str, Any]:
    """All that the browser needs, as JSON values. A row: its name, label and meaning, the share here (None where no order
    can be told from another), the words with what the reading says of each as a share of its largest number, and share and
    interval over many sentences, where they were measured. The random floor stands apart: the spread of its shares
    here. `steps`: the step, from 1, and how many there are; `only`: those that have a choice, where not every one has.
    `said`: what stands above it where it fills the screen."""
    shares = trust.shares[scope] if trust else {}
    rows = []
    for name in found.shares if found.is_told else READINGS:
        importance = found.importance[name]
        top = max(float(abs(importance).max()), 1e-12)
        rows.append(
            {
                "name": name,
                "label": READINGS[name].label,
                "meaning": READINGS[name].told(found.kind),
                "share": round(found.shares[name], 4) if found.is_told else None,
                "words": [
                    [label, round(float(value) / top, 4), f"{value:.3g}"]
                    for label, value in zip(found.words.labels, importance, strict=True)
                ],
                "many": _told(shares.get(name)),
            }
        )
    spread = round(float(found.random_shares.std()), 4) if found.is_told else None
    return {
        "rows": rows,
        "random": {"share": spread, "many": _told(shares.get(RANDOM))},
        "many": f"{trust.sentences:,} dev sentences" if trust else None,
        "chosen": chosen,
        "scale": list(theme.diverging(mode)),
        "step": steps[0],
        "steps": steps[1],
        "only": list(only),
        "text": "The text" if found.kind == "encoder" else "The source",
        "said": said,
    }


def _told(share: Share | None) -> list[float] | None:
    return None if share is None else [share.share, share.low, share.high]


_COMPONENT = mount.Component(__file__, '<div class="ranking"></div>', picture="What each reading says of each token")


def ranking(
    data: dict[str, Any], on_reading: Callable[[str], None], on_step: Callable[[int], None], key: str = "ranking"
) -> None:
    """Mounts the component; `on_reading` is called with the name of the reading that is clicked, `on_step` with the step to
    which an arrow key leads."""
    events = {"reading": (mount.one_of(tuple(READINGS)), on_reading), "step": (mount.whole(1, data["steps"]), on_step)}
    _COMPONENT.mount(key, data, events)
