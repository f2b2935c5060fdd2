"""What the page What if says in words: what the edits did to a step and to the whole, and what the leak test found."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from model.inference.decisions import top_token_changes
from model.inference.predictions import kl_divergence, largest_shifts
from viz.kit import controls, site_texts, terms

if TYPE_CHECKING:
    from model.experiments.leaks import LeakReport
    from model.inference.analysis import Analysis
    from model.text.sentences import ClassLabels
    from model.text.tokenizer import Tokenizer
    from viz.state.view import View

LEAKS = {  # what the test does, by family
    "encoder-decoder": "Changes each token that the decoder reads, then what stands in the padding, and watches every "
    "residual stream: nothing before a changed token may move, and padding may move no real token.",
    "decoder-only": "Changes each token that the decoder reads, and watches every residual stream: nothing before a changed "
    "token may move.",
    "encoder-only": "Changes what stands in the padding, and watches every residual stream: padding may move no real token. "
    "Later tokens may be seen: an encoder has no causal mask.",
}
IN_TURN = "Every head is switched off in turn"
MAP_NAMES = {"before": "Before", "after": "After", "difference": "After − before"}


def translation(text: str, language: str) -> None:
    """A translation in a line of its own."""
    site_texts.write(
        f'<p class="lab-translation" lang="{site_texts.language_code(language)}">{html.escape(text) or site_texts.EMPTY}</p>'
    )


def branched(base: Analysis, tokenizer: Tokenizer) -> str:
    """Where the baseline goes on from another token than its own: `branched at step 11: elle`; empty where it does not."""
    if base.branch is None:
        return ""
    return f"branched at step {len(base.branch)}: {tokenizer.piece(base.branch[-1]).removeprefix('·') or '·'}"


def measured(question: str, found: str, swapped: str = "") -> None:
    """A question and the answer that was measured; first a line that says what was put in the place of the visitor's own."""
    line = f'<p class="lab-note">{html.escape(swapped)}</p>' if swapped else ""
    site_texts.write(
        f'<div class="lab-answer" role="status">{line}<b>{html.escape(question)}</b> {html.escape(found)}</div>'
    )


def stepped(now: View, then: View) -> tuple[str, str]:
    """What a step of the history sets back where that is no edit, in a word or two, else nothing; and all of it, in a line
    for a tooltip, which is Markdown."""
    found = []
    if then.checkpoint != now.checkpoint:
        found.append(("checkpoint", f"the checkpoint {then.checkpoint}"))
    if (then.source, then.sentence, then.split) != (now.source, now.sentence, now.split):
        found.append(("sentence", f"the sentence “{cut(then.source.strip())}”"))
    if then.target != now.target:
        found.append(("translation", "the given translation" if then.target else "the model’s own translation"))
    if (then.branches, then.path) != (now.branches, now.path):
        found.append(("branch", "the branches as they were"))
    edited = (then.intervention, then.pad) != (now.intervention, now.pad)
    if edited:
        found.append(("", "the edits as they were"))
    told = " and ".join(long for _, long in found) or "the earlier view"
    return (found[0][0] if found and not edited else ""), controls.plain_label(f"Brings back {told}")


def cut(text: str, most: int = 40) -> str:
    """A text that is not longer than `most` signs."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def step_changes(analysis: Analysis, step: int, tokenizer: Tokenizer | ClassLabels) -> None:
    """One step: KL(baseline || edited), and the candidates that gain and lose the most."""
    base = analysis.baseline
    trace = (base or analysis).trace
    said = trace.predicted_axis.labels[step]
    pair, at = (said, "Place") if trace.inputs is None else (f"{trace.inputs.labels[step]} → {said}", "Step")
    at = "Label" if trace.classes else f"{at} {step + 1}"
    title = f'<h3 class="lab-label">{at}, <span class="lab-mono">{html.escape(pair)}</span>'
    if base is None:
        site_texts.write(f"{title}</h3>")
        site_texts.note("Nothing is edited, so nothing gains or loses.")
        return
    if step >= analysis.comparable_steps:
        site_texts.write(f"{title}</h3>")
        site_texts.note(
            f"The two {analysis.task.output_noun}s have parted before this step, so there is nothing to compare."
        )
        return
    before, after = base.trace.log_probs[step], analysis.trace.log_probs[step]
    kl = float(kl_divergence(before[None], after[None])[0])
    columns = []
    for name, hue, rows in zip(("Gains", "Losses"), ("gain", "loss"), largest_shifts(before, after), strict=True):
        lines = "".join(
            f'<li><span class="lab-mono">{html.escape(tokenizer.piece(m.id))}</span>'
            f'<b class="{hue}">{m.before:.3f} → {m.after:.3f}</b></li>'
            for m in rows
            if abs(m.after - m.before) >= 0.0005
        )
        columns.append(f"<div><span>{name}</span><ul>{lines or '<li>none</li>'}</ul></div>")
    meant = "Kullback-Leibler divergence: how much the edited model disagrees with the unedited one about this "
    meant += "label" if trace.classes else "token"
    site_texts.write(
        f'{title} <small title="{meant}">KL(baseline || edited) {kl:.3f} nats</small></h3>'
        + terms.first_space(f'<div class="lab-moves">{"".join(columns)}</div>')
    )
    for each in top_token_changes(before[None], after[None]):
        site_texts.note(f"The likeliest is another one: {each.describe(tokenizer.piece)}.")


def _through(report: LeakReport, kind: str, what: str) -> None:
    """Which heads of a kind of attention look at what they must not see; nothing where none does."""
    found = [(site, head, weight) for site, head, weight in report.heads if site.kind == kind]
    if not found:
        return
    every = len(found) == sum(len(weights) for site, weights in report.max_forbidden_weight.items() if site.kind == kind)
    named = [f"layer {site.layer + 1}, head {head + 1} ({weight:.2f})" for site, head, weight in found[:6]]
    more = f" and {len(found) - 6} more" if len(found) > 6 else ""
    name = {"encoder": "encoder", "decoder": "decoder", "cross": "cross-attention"}[kind]
    said = f"all {len(found)} heads" if every else f"{'; '.join(named)}{more}"
    site_texts.note(f"What looks at {what}, in the {name}: {said}.", warn=True)


def leak_report(report: LeakReport) -> None:
    """What moved although it must not, in words."""
    layers, steps = report.shift_by_changed_token.shape[:2]
    leaks = report.leaks
    if report.has_substitute_target:
        site_texts.note(f"The text is too short for the test: {steps - 1} other tokens stand in for it.")
    if not leaks:
        site_texts.note(f"No leak: changing any of {steps} tokens moves no position before it, at any of {layers} layers.")
    else:
        layer, j, i = min(leaks)
        site_texts.note(
            f"Leak: {len(leaks)} times an earlier position moves. First: changing “{report.labels[j]}” (position {j + 1}) "
            f"moves “{report.labels[i]}” (position {i + 1}) at decoder layer {layer + 1}, by "
            f"{report.shift_by_changed_token[layer, j, i]:.1%} of the largest entry.",
            warn=True,
        )
        _through(report, "decoder", "later tokens")
    if not report.padding_leaks:
        site_texts.note(
            f"No leak: what stands in {report.pads} padded positions moves no real token, in the encoder or the decoder."
        )
    else:
        stack, layer, _ = report.padding_leaks[0]
        places = len({(name, i) for name, _, i in report.padding_leaks})
        site_texts.note(f"Leak: padding moves {places} real positions, first at {stack} layer {layer + 1}.", warn=True)
        _through(report, "encoder", "padding")
        _through(report, "cross", "padding")
    rows = [
        f"<tr><th>{html.escape(label)}</th>"
        + "".join(_moved(report.first_layer(j, i), i < j) for i in range(steps))
        + "</tr>"
        for j, label in enumerate(report.labels)
        if j
    ]
    head = "".join(f"<th><span>{html.escape(label)}</span></th>" for label in report.labels)
    site_texts.write(
        '<details class="lab-details"><summary>Which position moves at which layer</summary>'
        "<p>A row: the token that was changed. A column: the position that moves, with the first layer at which it does; "
        "· does not move, a box must not.</p>"
        f'<div class="lab-scroll"><table><tr><td></td>{head}</tr>{"".join(rows)}</table></div></details>'
    )


def _moved(layer: int | None, forbidden: bool) -> str:
    shown = "·" if layer is None else layer + 1
    return f'<td class="{"bad" if layer is not None and forbidden else ""}">{shown}</td>'


def reach(view: View) -> dict[str, str]:
    """How far a click on the mask may reach, by the scope's name."""
    head = "mean" if view.head is None else view.head + 1
    return {"all": "all layers", "layer": f"layer {view.layer + 1}", "head": f"layer {view.layer + 1}, head {head}"}


def mode_note(view: View, causal: bool) -> str:
    """What can be told of the edits, given the target or decoded again. `causal`: trained with the causal mask."""
    if view.target is not None and not view.intervention:
        return "The target is given and nothing is edited: it is read as it is."
    if view.mode == "given" and not causal:
        return "The baseline’s tokens are fed in; trained without a causal mask, each step sees the token it should predict."
    if view.mode == "given" and not view.intervention.causal_mask:
        return "The baseline’s tokens are fed in; without the causal mask each step sees the tokens it should predict."
    return {
        "given": "The model reads the baseline’s tokens under the edits and scores them.",
        "again": "Tokens are chosen anew under the edits: what would it have said?",
    }[view.mode]
