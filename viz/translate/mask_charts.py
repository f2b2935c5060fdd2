"""The two masks, each with what switching it off does to the target's probabilities, measured, and why."""

from __future__ import annotations

import dataclasses
import html
import math
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import numpy as np
import streamlit as st

from model.edits.intervention import Intervention
from model.inference.predictions import LargestChange, hardly_changes, largest_change
from model.inference.request import MAX_PAD
from model.io import numbers
from model.task import TRANSLATION
from viz import computations
from viz.decoding_steps import pattern_maps
from viz.kit import button_groups, controls, site_texts, terms
from viz.kit.button_groups import ButtonGroup
from viz.kit.panel import Panel
from viz.page_context import PageContext
from viz.state import navigation, session
from viz.state.links import link
from viz.state.view import View, without_edits

if TYPE_CHECKING:
    from model.experiments.effects import Effect, TargetPadding
    from model.inference.analysis import Analysis

HOW = {"given": "Keep this {} and score it again.", "again": "Write the {} again."}
QUESTION = "peek"  # the ready experiment on what becomes of a decoder that has no causal mask


@dataclasses.dataclass(frozen=True)
class MaskEffects:
    """The effect of each mask switch, and the target with the padding of its batch."""

    effects: dict[str, Effect]
    target: TargetPadding | None


def _compute(context: PageContext) -> MaskEffects:
    effects = computations.mask_effects(without_edits(context.request), context.view.device)
    return MaskEffects(effects, pattern_maps.padding(context))


def _draw(context: PageContext, result: MaskEffects) -> None:
    """Draws the switches, each with its effect."""
    view, analysis = context.view, context.analysis
    causal, task = context.loaded.config.causal, analysis.task
    if task.has_decoder:
        how = ButtonGroup("", {}, is_label_hidden=True, note=HOW[view.mode].format(task.output_noun))
        button_groups.draw("translate.mode", [controls.mode_choice(view), how])
        if causal or not view.intervention.causal_mask:
            hidden = (
                f"In training the model gets the whole {task.output_noun}. The mask hides the tokens it must still predict."
            )
            st.toggle("Causal mask", help=hidden, **navigation.mask_toggle(view, "causal"))
        else:
            st.toggle("Causal mask", value=False, disabled=True, key="no_causal_mask")  # there is none to switch
        more = question(view) if context.loaded.peer else ""
        _write(causal_text(result.effects["causal_mask"], view, causal, analysis) + more)
    if task.has_encoder:
        of_target = target_text(result.target, analysis, view, causal) if task.has_decoder else ""
        _draw_padding(view, result.effects["padding_mask"], of_target, analysis)


def _draw_padding(view: View, effect: Effect, of_target: str, analysis: Analysis) -> None:
    """Draws the switch of the padding mask, and the number of pads."""
    writes = analysis.task.has_decoder
    reach = f"Hides padding from all attention: after the {analysis.task.input_noun if writes else 'text'}"
    if writes:
        reach += f", and after a {analysis.task.output_noun} that others of its batch outlast"
    st.toggle("Padding mask", help=reach, **navigation.mask_toggle(view, "padmask"))
    _write(padding_text(effect, view, _whose(analysis), analysis), of_target)
    st.number_input(
        f"Pad the {'source' if writes else 'text'} by", 0, MAX_PAD, step=1, **session.bind("pad", "pad", view.pad)
    )


def _whose(analysis: Analysis) -> str:
    """Of which tokens a log-probability is, as words behind it."""
    return analysis.score_label.removeprefix("log-probability")


def causal_text(effect: Effect, view: View, causal: bool, analysis: Analysis) -> str:
    """The causal mask: what switching it off changes most, and why; markup. `causal`: the model was trained with it."""
    if not causal:
        return peeking_text(analysis)
    if view.intervention.causal_mask:
        why = ". While writing, there are no later tokens" if view.mode == "again" else ""
        return _if_off(effect, view, "", why, _whose(analysis))
    if view.mode == "given" or analysis.baseline is None:
        off = Intervention(causal_mask=False)
        reason = site_texts.causal_reason(_largest(effect), effect.change)
        return f"{_now(effect, view, off, analysis)}<br>{_sum(effect, view, off, _whose(analysis))}: {reason}."
    return decoded_anew(effect, view, analysis)


def peeking_text(analysis: Analysis) -> str:
    """Returns what a decoder trained without the causal mask does, and lacks while it decodes; markup."""
    if analysis.final_pass is None:
        return "Trained without this mask, it sees the given tokens that it must predict."
    lacks = "the tokens it must predict. While decoding, they do not exist"
    if not analysis.translation.strip():
        verb = "relies on" if not (analysis.baseline or analysis).translation.strip() else "saw"
        return f"Trained without this mask, it {verb} {lacks}: it writes nothing."
    start, (alone, seen) = (
        analysis.prompt_length,
        (each.token_log_probs for each in (analysis.trace, analysis.final_pass)),
    )  # [T]
    change = largest_change(analysis.trace.outputs.labels, np.exp(alone), np.exp(seen), range(start, len(alone)))
    total = float((seen - alone)[start:].sum())
    hardly = hardly_changes(change, total)
    verb = "relies on" if total > 0 and not hardly else "saw"
    text = site_texts.describe_change(change, hardly, "has {}; with later tokens {}", is_markup=True)
    return f"Trained without this mask, it {verb} {lacks}. {text}."


def decoded_anew(effect: Effect, view: View, analysis: Analysis) -> str:
    """What came of decoding again without the causal mask, beside what the whole target at once would show; markup."""
    before, after = analysis.baseline.log_prob, analysis.log_prob
    same = analysis.baseline.trace.outputs.ids == analysis.trace.outputs.ids
    what = terms.term("log-probability", "Log-probability")
    what += _whose(analysis)
    return (
        f"{_now(effect, view, Intervention(causal_mask=False), analysis)}<br>"
        "While writing, there are no later tokens: "
        f"the {analysis.task.output_noun} {'stays the same' if same else 'changes'}. {what}: "
        f"{numbers.three_digits(before)} → <b>{numbers.three_digits(after)}</b>. With the given target: change of "
        f"<b>{numbers.signed(effect.change)}</b> {terms.term('nats')}."
    )


def question(view: View) -> str:
    """The way to the experiment that asks why one masks at all, with this view; markup."""
    asked = urlencode(link(dataclasses.replace(view, experiment=QUESTION)))
    return f'<br><a href="what-if?{html.escape(asked)}" target="_self">Does a peeking decoder cheat?</a>'


def padding_text(effect: Effect, view: View, whose: str = "", analysis: Analysis | None = None) -> str:
    """The padding mask on the source: what switching it off changes most, what it hides, and why; markup. `whose`: of what
    the log-probability is, where that is not all that is shown."""
    count, off = pads(effect.pad), Intervention(padding_mask=False)
    noun = analysis.task.input_noun if analysis else TRANSLATION.input_noun
    harms = effect.change < 0 and abs(effect.change) >= 0.005  # what is better, or as good, needs no excuse
    why = ": training never let it look at padding" if harms else ""
    if view.intervention.padding_mask:
        seen = f"There is no padding after the {noun}." if effect.added else f"{count} after the {noun}, unseen."
        return f"{seen}<br>{_if_off(effect, view, f', with {count} added' if effect.added else '', why, whose)}"
    seen = f"Attention sees {count} after the {noun}" + (", added because there was none." if effect.added else ".")
    return f"{_now(effect, view, off, analysis)}<br>{seen} {_sum(effect, view, off, whose)}{why}."


def target_text(target: TargetPadding | None, analysis: Analysis, view: View, causal: bool) -> str:
    """The padding mask on the target: whether there is anything to hide in this batch; empty for a sentence alone."""
    if not analysis.other_lengths:
        return ""
    if target is None and analysis.target_padding:
        return "Decoded token by token, a finished translation is followed by nothing: no padding to mask there."
    if target is None:
        return "This translation is as long as any in its batch: no padding after it."
    change = f"<b>{numbers.signed(target.change)}</b> nats"
    seen = f"{pads(target.pads)} after this translation, where the batch is read in one pass"
    if causal and view.intervention.causal_mask:
        return f"{seen}: no earlier token sees them, for the causal mask hides them too. Without this one, {change}."
    if view.intervention.padding_mask:
        return f"{seen}, unseen. If off, they change the log-probability by {change}: no causal mask hides them."
    return f"{seen}: seen, they change the log-probability by {change}, for no causal mask hides them."


def pads(count: int) -> str:
    return f"{count} pad" if count == 1 else f"{count} pads"


def _ratio(change: float) -> str:
    """Returns a change of a log-probability as a ratio of probabilities; empty below a factor of 2."""
    if abs(change) < math.log(2):
        return ""
    factor = math.exp(min(abs(change), math.log(1e12)))
    for size, name in ((1e12, "over a trillion"), (1e9, "billion"), (1e6, "million")):
        if factor >= size * 0.9995:
            words = name if size == 1e12 else f"{factor / size:.0f} {name}"
            break
    else:
        words = f"{factor:.1f}" if factor < 9.95 else f"{factor:,.0f}"
    return f" ({words} times {'less' if change < 0 else 'more'} likely)"


def _largest(effect: Effect) -> LargestChange | None:
    return largest_change(effect.labels, np.exp(effect.before), np.exp(effect.after))


def _change(effect: Effect, form: str) -> str:
    """Returns the token that one mask changes most, on the given target."""
    change = _largest(effect)
    return site_texts.describe_change(change, hardly_changes(change, effect.change), form, is_markup=True)


def _now(effect: Effect, view: View, off: Intervention, analysis: Analysis | None) -> str:
    """Returns what a mask that is off changes most; with other edits, what all of them change."""
    if analysis is None or analysis.baseline is None:
        return f"If off: {_change(effect, '{} → {}')}."
    return f"{site_texts.strongest_change(analysis, True)}{'' if view.intervention == off else ' with all edits'}."


def _sum(effect: Effect, view: View, off: Intervention | None, whose: str, begin: str = "Change in") -> str:
    """Returns the change of the target's summed log-probability by one mask, whatever else is edited."""
    hue = "loss" if effect.change < 0 else "gain"
    alone = "" if off is None or view.intervention == off else " by this mask alone"
    given = " (given the target)" if view.mode == "again" else ""
    change = f'<b class="{hue}">{numbers.signed(effect.change)}</b> {terms.term("nats")}{_ratio(effect.change)}'
    return f"{begin} {terms.term('log-probability', 'log-probability')}{whose} {change}{alone}{given}"


def _if_off(effect: Effect, view: View, extra: str, why: str, whose: str) -> str:
    """Returns what a mask would change most if it were off, and the sum."""
    return f"If off{extra}: {_change(effect, '{} → {}')}. {_sum(effect, view, None, whose)}{why}."


def _write(*parts: str) -> None:
    """Writes the parts that are not empty, each in a line."""
    site_texts.write(f'<p class="lab-effect">{"<br>".join(filter(None, parts))}</p>')


MASKS = Panel(
    "translate.masks",
    "Masks",
    compute=_compute,
    controls=_draw,
    is_visible=lambda context: context.view.show == "mask" and pattern_maps.shows_maps(context),
)
