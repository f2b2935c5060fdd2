"""What a saved picture says of itself: the lines under it, and the parts of its file's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from model.trace import SITE_KINDS
from viz import uploads

if TYPE_CHECKING:
    from model.inference.analyse import Analysis
    from viz.pages import Page
    from viz.view import View

NAMED_WORDS = 6  # of the sentence, in a file's name


@dataclass(frozen=True)
class Caption:
    """The lines under a picture, and what comes after the picture in its file's name."""

    lines: tuple[str, ...]
    names: tuple[str, ...]


def caption(view: View, page: Page, analysis: Analysis | None) -> Caption:
    """Of a view on a page; where nothing could be read of it, of what was asked."""
    source = analysis.request.source if analysis else view.source
    words = " ".join(source.split()[:NAMED_WORDS])
    checkpoint = uploads.shown(view.checkpoint)
    if analysis is None:
        return Caption((f"“{source}”", checkpoint), (checkpoint, words))
    if not page.of_a_sentence:
        whose = uploads.shown(view.run) if view.run else checkpoint
        return Caption((f"{page.title} of {whose}", page.question), (page.name, whose))
    facts = [checkpoint]
    names = [checkpoint]
    if page.of_a_head:
        site = f"{SITE_KINDS[view.kind].name}, " if page.of_a_kind else ""
        which = "mean over heads" if view.head is None else f"head {view.head}"
        facts.append(f"{site}layer {view.layer}, {which}")
        names += [
            *([view.kind] if page.of_a_kind else []),
            f"l{view.layer}",
            "mean" if view.head is None else f"h{view.head}",
        ]
    if page.of_a_step:
        steps = analysis.trace.places
        step = min(view.step, len(steps))
        at = "step" if analysis.task.writes else "place"
        facts.append(f"{at} {step} of {len(steps)}")
        names.append(f"{at}{step}")
    edits = analysis.request.intervention
    facts.append(f"edits: {edits.describe()}" if edits else "no edits")
    told = analysis.task.writes and not view.guess  # what is to be guessed stands in no picture either
    said = f"“{source}” → “{analysis.translation}”" if told else f"“{source}”"
    said += f" “{analysis.request.second}”" if analysis.request.second else ""
    return Caption((said, " · ".join(facts)), (*names, words))
