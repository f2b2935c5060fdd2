"""Sizes, texts, colours, lessons and fixed parts of payloads for the script of the static site."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlencode

from model.decoding.strategy import LENGTH_PENALTY, Decoding
from model.export.schema import intervention
from model.inference.analyse import analyse
from model.inference.request import Request
from model.trace import ATTENTION_KINDS
from viz import pages, theme
from viz.decoding_steps import beam_tree, candidates, timeline
from viz.examples import Example, examples
from viz.homework.assignment import MAX_ANSWER, MAX_NAME, ready_assignments, values_of
from viz.homework.results import checkpoint_digest
from viz.homework.task_checks import EDIT_KINDS
from viz.kit import site_texts, terms
from viz.lessons.lessons import LESSONS, Lesson
from viz.state.fields import fields
from viz.state.links import link
from viz.state.values import MAX_LINK_TEXT
from viz.state.view import View
from viz.theme import Mode

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis

ROUNDING = 0.006  # of a probability with two digits
TASKS = {  # lessons that the site can check; a task of its own where its controls differ
    "unsure": "",
    "heads": "",
    "mask": "",
    "beam": "",
    "ablation": "In the map, choose the mean over heads and switch the layer off. Try other layers until the translation "
    "changes. Start with cross-attention.",
    "cell": "Find the route of “elle”. Predict which cut makes the model write “il”. Then click that link.",
}
TABS = {"beam": "decoding", "cell": "route"}  # where a lesson starts
OF_A_SENTENCE = {  # fields of the payloads that the script makes
    "timeline": "trace step source target words inputs given segments cross crossAllowed decoder allowed probability before "
    "score how one where crossTints doubt why reasons",
    "candidates": "trace rows chosen words kept reads ties given",
}


def site(checkpoint: Checkpoint, analysis: Analysis) -> dict[str, Any]:
    """Returns the values by name, for a checkpoint with the weights of the site."""
    languages, config = checkpoint.languages, checkpoint.config
    known = examples(*languages) if languages == ("English", "French") else ()
    layers = min(config.encoder_layers, config.decoder_layers)
    tasks = [_task(lesson) for lesson in LESSONS if lesson.name in TASKS and lesson.checkpoint == checkpoint.name]
    return {
        "first": analysis.request.source,
        "start": {"layer": min(View.layer, layers - 1), "head": View.head, "map": View.map_kind},
        "layers": layers,
        "heads": config.heads,
        "size": config.target_vocab,
        "kinds": list(ATTENTION_KINDS),
        "rows": list(timeline.ROWS),
        "lessons": [task["name"] for task in tasks],
        "parameters": _parameters(),
        "how": {"greedy": Decoding().description, "beam": Decoding("beam").description},
        "width": Decoding.width,
        "alpha": LENGTH_PENALTY,
        "findings": {each.sentence: each.lesson for each in known if holds(each, checkpoint)},
        "shown": {each.sentence: each.token for each in known},
        "examples": [[each.name, each.sentence] for each in known],
        "colours": {mode: _colours(mode) for mode in get_args(Mode)},
        "styles": {mode: theme.PALETTES[mode].css_variables() for mode in get_args(Mode)},
        "base": base(checkpoint, analysis),
        "tasks": tasks,
        "terms": terms.meanings("completeness", "faithfulness"),
        "otherLessons": len(LESSONS) - len(tasks),
        "checkpoint": [checkpoint.name, checkpoint_digest(checkpoint.name)],
        "assignments": {name: values_of(each.for_students()) for name, each in ready_assignments().items()},
        "editKinds": EDIT_KINDS,
        "answerLimits": {"text": MAX_ANSWER, "name": MAX_NAME},
        "maxLink": MAX_LINK_TEXT,
    }


def holds(example: Example, checkpoint: Checkpoint) -> bool:
    """True if a checkpoint writes an accepted translation of an example, and its measured reasons are so."""
    found = analyse(checkpoint, Request(example.sentence))
    if found.translation not in example.accepted:
        return False
    for reason in example.reasons:
        edits = intervention(reason.edits.split("~"))
        after = analyse(checkpoint, Request(example.sentence, intervention=edits)).trace.probabilities
        step = found.trace.outputs.labels.index(reason.token)
        measured = (found.trace.probabilities[step], after[step])
        if any(abs(one - other) > ROUNDING for one, other in zip(measured, (reason.before, reason.after), strict=True)):
            return False
    return True


def base(checkpoint: Checkpoint, analysis: Analysis) -> dict[str, dict[str, Any]]:
    """Returns the values of each component that do not depend on the sentence."""
    languages = checkpoint.languages
    whole = {
        "timeline": timeline.payload(analysis, checkpoint, View.layer, View.head, "light"),
        "candidates": candidates.payload(analysis, checkpoint.target_tokenizer, language=languages[1]),
    }
    for name, payload in whole.items():
        for field in OF_A_SENTENCE[name].split():
            del payload[field]
    whole["timeline"]["above"] = f"{languages[0]}: where {{}} looks"
    whole["timeline"]["doubt"] = {"verdict": "", "signs": [], "meant": ""}
    whole["candidates"]["given"] = 0
    names = {kind: theme.SITE_NAMES[kind] for kind in ATTENTION_KINDS}
    whole["head_map"] = {
        "kinds": [[kind, name] for kind, name in names.items()],
        "names": names,
        "pictures": {
            kind: f"{site.spec.name} map".capitalize() for site in analysis.trace.patterns for kind in (site.kind,)
        },
        "together": False,
        "acts": ["block"],
    }
    whole["beam_tree"] = {"ends": beam_tree.ENDS, "large": False}
    whole["route"] = {
        "names": [languages[0], f"{languages[1]} so far"],
        "is_label": False,
        "reads_row": True,
        "lang": site_texts.language_code(languages[1]),
        "large": False,
    }
    return whole


def _colours(mode: Mode) -> dict[str, Any]:
    scales = {kind: list(theme.scale(kind, mode)) for kind in ATTENTION_KINDS}
    return {"tints": list(theme.tints("cross", mode)), "scales": scales}


def _parameters() -> list[str]:
    """Returns the names of all parameters of a link of the lab."""
    declared = fields(View).values()
    return sorted({name for field in declared for name in (field.parameter, *field.attributes)})


def _task(lesson: Lesson) -> dict[str, str]:
    """Returns a lesson as the site reads it; `start` is the query of its start."""
    query = link(lesson.view)
    start = {name: query[name] for name in ("text", "step", "layer", "head") if name in query}
    if lesson.name in TABS:
        start["show"] = TABS[lesson.name]
    return {
        "name": lesson.name,
        "question": lesson.question,
        "task": TASKS[lesson.name] or lesson.touch or lesson.task,
        "text": lesson.view.source,
        "start": urlencode(start | {"lesson": lesson.name}),
    }


def other_pages() -> str:
    """Returns the buttons of the pages that the site lacks, as markup."""
    named = [page for page in pages.PAGES[1:] if page.group and page.name not in ("lessons", "why")]
    return "".join(
        f'<button type="button" title="Needs the lab itself">{html.escape(page.title)}</button>' for page in named
    )
