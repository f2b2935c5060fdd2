"""The panels of the effect: the probability of each token before and after the edits, and the maps of one head.

The first panel also has the verdict, both translations and the changes at each step.
"""

from __future__ import annotations

import dataclasses
import html
from typing import TYPE_CHECKING, Any

from model.export.csv_tables import Table, map_table, site_code
from model.inference.predictions import kl_divergence, largest_shifts, top_token_changes
from model.io import numbers
from model.trace import Site
from viz.kit import glosses, mount, patterns, site_texts
from viz.kit.panel import FileOptions, Panel, Picture
from viz.page_context import PageContext
from viz.save.saved_files import change_table
from viz.state import session
from viz.state.view import View
from viz.what_if import edit_controls, ready_answers, what_if_texts

if TYPE_CHECKING:
    from model.export.code import Code
    from model.inference.analysis import Analysis
    from model.text.sentences import ClassLabels
    from model.text.tokenizer import Tokenizer
    from model.trace import Trace
    from viz.kit.mount import Event

MIN_SHIFT = 0.0005  # probability
COMPONENT = mount.Component(__file__, '<div class="change"></div>', name="change_list", term_names=("KL", "nats"))


def change_data(analysis: Analysis, tokenizer: Tokenizer | ClassLabels) -> dict[str, Any]:
    """Returns the probabilities before and after the edits. A classifier has labels in place of tokens."""
    change, base = analysis.probability_change, analysis.baseline or analysis
    task, before, after = (
        analysis.task,
        *(numbers.round_probabilities(each.astype(float)).tolist() for each in (change.before, change.after)),
    )
    place = "label" if task.is_classifier else "step" if task.has_decoder else "token"
    whose = "the baseline’s token" if task.has_decoder else "each token"
    if base.trace.blank_positions:
        whose += ", in a blank the one filled in"
    return {
        "labels": list(change.labels),
        "before": before,
        "after": after,
        "edited": analysis.baseline is not None,
        "title": f"Probability of {'each label' if task.is_classifier else whose}",
        "place": place,
        "parted": f"The two {task.output_noun}s differ before this {place}, so nothing is compared.",
        "moves": [_moves(analysis, step, tokenizer) for step in range(len(base.trace.log_probs))],
        "most": _largest_step(analysis),
        "large": False,
    }


def _moves(analysis: Analysis, step: int, tokenizer: Tokenizer | ClassLabels) -> dict[str, Any]:
    """Returns what changes at a step: KL(baseline || edited), and the tokens that gain and lose the most."""
    base = analysis.baseline
    trace = (base or analysis).trace
    label = trace.predicted_axis.labels[step]
    title = label if trace.inputs is None else f"{trace.inputs.labels[step]} → {label}"
    if base is None or step >= analysis.comparable_steps:
        return {"title": title, "kl": None, "columns": [], "notes": []}
    before, after = base.trace.log_probs[step], analysis.trace.log_probs[step]
    columns = [
        [
            name,
            hue,
            [
                [tokenizer.piece(each.id), round(each.before, 7), round(each.after, 7)]
                for each in rows
                if abs(each.after - each.before) >= MIN_SHIFT
            ],
        ]
        for name, hue, rows in zip(("Gains", "Losses"), ("gain", "loss"), largest_shifts(before, after), strict=True)
    ]
    changes = top_token_changes(before[None], after[None])
    return {
        "title": title,
        "kl": round(float(kl_divergence(before[None], after[None])[0]), 5),
        "columns": columns,
        "notes": [f"The top token is another one: {each.describe(tokenizer.piece)}." for each in changes],
    }


def _largest_step(analysis: Analysis) -> int | None:
    """Returns the step, from 1, at which the edits change the predictions most; None if they change none."""
    base = analysis.baseline
    if base is None or analysis.comparable_steps < 2:
        return None
    steps = slice(analysis.comparable_steps)
    moved = kl_divergence(base.trace.log_probs[steps], analysis.trace.log_probs[steps])  # [comparable]
    rows = base.trace.scorable_rows[: len(moved)]
    most = max(rows, key=moved.__getitem__, default=0)
    return most + 1 if moved[most] >= MIN_SHIFT else None


def _payload(context: PageContext, result: None) -> dict[str, Any]:
    return change_data(context.analysis, context.loaded.output_vocabulary)


def _follow(context: PageContext, result: None) -> dict[str, Any]:
    """Returns the chosen step, or the label that a classifier gives the text without edits."""
    base, is_classifier = context.analysis.baseline or context.analysis, context.analysis.task.is_classifier
    chosen = base.trace.predicted_axis.ids[0] if is_classifier else context.view.step
    return {"step": chosen + 1}


def _events(context: PageContext, result: None) -> dict[str, Event]:
    base = context.analysis.baseline or context.analysis
    steps = 0 if base.task.is_classifier else len(base.trace.predicted_axis)
    return {"step": (mount.from_one(steps), lambda step: session.change(step=step))}


def _tables(context: PageContext, result: None) -> tuple[Table, ...]:
    return () if context.analysis.trace.outputs is None else (change_table(context.analysis),)


def _code(code: Code, context: PageContext, result: None) -> None:
    analysis = context.analysis
    code.add(f"baseline = analysis{'.baseline' if analysis.baseline is not None else ''}")
    if analysis.trace.outputs is not None:
        code.add("before = baseline.trace.probabilities")
        code.add("after = np.exp(analysis.baseline_token_log_probs)", "up to where the translations part", numpy=("np",))
    code.add("print(baseline.translation, analysis.translation, sep='\\n')")


def _large_text(context: PageContext, result: None) -> str:
    """Returns the question, the verdict, both translations and the measured answer."""
    view, answer = context.view, edit_controls.answer_of(context)
    text = site_texts.verdict_line(context.analysis) + what_if_texts.summary(context)
    if answer is not None and (known := ready_answers.find(view)):
        text = f'<h2 class="lab-hall-question">{html.escape(known.question)}</h2>{text}'
        text += f'<p class="lab-hall-answer" role="status">{html.escape(answer.text)}</p>'
    elif context.analysis.baseline is None:
        text += f'<p class="lab-hall-answer">{edit_controls.help_text()}</p>'
    return f'<div class="lab-hall-words">{text}</div>'


CHANGE = Panel(
    "what_if.change",
    "Probability of each token before and after",
    COMPONENT,
    _payload,
    _events,
    tables=_tables,
    code=_code,
    pictures=(Picture("Words", data=lambda context, result: {"large": True}, text=_large_text, number=1),),
    reads=(),
    follow=_follow,
    file=FileOptions(
        text=lambda context, result: site_texts.verdict_line(context.analysis), remote_fields=lambda context: {"step": ()}
    ),
)


NAMES = {"before": "Before", "after": "After", "difference": "After − before"}
PICTURES = ("Map before the edits", "Map after the edits", "Difference of the maps")  # names of saved pictures


def _place(view: View) -> tuple[Site, int | None]:
    """Returns the site and the head; None is the mean over heads."""
    return Site(view.kind, view.layer), view.head  # type: ignore[arg-type]


def _traces(context: PageContext) -> tuple[Trace, Trace]:
    """Returns the traces before and after the edits."""
    return (context.analysis.baseline or context.analysis).trace, context.analysis.trace


def has_place(context: PageContext) -> bool:
    """True if the model has the layer of the view."""
    return _place(context.view)[0] in context.analysis.trace.patterns


def map_payload(context: PageContext, result: None = None) -> dict[str, Any]:
    """Returns the maps of the chosen head; the difference only if the tokens are the same."""
    site, head = _place(context.view)
    before, after = (patterns.label_map(trace.view(site, head), trace, site) for trace in _traces(context))
    titles = {name: f"{text}: {site.head_name(head)}" for name, text in NAMES.items()}
    is_same = (before.queries, before.keys) == (after.queries, after.keys)
    maps = [
        patterns.pattern(before, site.kind, titles["before"]),
        patterns.pattern(after, site.kind, titles["after"], former=before.allowed if is_same else None),
    ]
    if is_same:
        change = after - before
        change = dataclasses.replace(change, allowed=change.allowed | before.allowed)
        maps.append(patterns.difference(change, site.kind, titles["difference"]))
    for each, picture, trace in zip(maps, PICTURES, (*_traces(context), context.analysis.trace), strict=False):
        each["picture"] = picture
        each["words"] = glosses.map_words(trace, site, context.loaded.languages[1])
    return patterns.map_data(maps, 0, context.mode, alike=True)


def _map_tables(context: PageContext, result: None) -> tuple[Table, ...]:
    site, head = _place(context.view)
    before, after = (trace.view(site, head) for trace in _traces(context))
    name = site_code(site, head)
    tables = [map_table(f"before-{name}", before), map_table(f"after-{name}", after)]
    if (before.queries, before.keys) == (after.queries, after.keys):
        tables.append(map_table(f"difference-{name}", after - before))
    return tuple(tables)


def _map_code(code: Code, context: PageContext, result: None) -> None:
    site, head = _place(context.view)
    code.add(f"site, head = {code.site(site)}, {head}", "both from 0; None: the mean")
    code.add("map_before, map_after = (each.trace.view(site, head) for each in (baseline, analysis))")


def _existing(context: PageContext) -> View:
    """Returns a view with a kind of attention and a layer that exist."""
    view, kinds = context.view, context.analysis.trace.kinds
    kind = view.kind if view.kind in kinds else kinds[-1]
    return view.with_fields(kind=kind, layer=view.site_of(context.analysis.trace.sites(kind)).layer)


MAPS = Panel(
    "what_if.maps",
    "Patterns before and after",
    patterns.COMPONENT,
    map_payload,
    tables=_map_tables,
    code=_map_code,
    is_visible=has_place,
    pictures=(Picture("Maps", data=lambda context, result: {"large": True}, text=edit_controls.verdict, number=2),),
    reads=("kind", "layer", "head"),
    follow=lambda context, result: {"step": context.view.step + 1},
    file=FileOptions(default_view=_existing, rounded=patterns.ROUNDED),
)
