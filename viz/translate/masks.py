"""The two masks, each with what switching it off does to the target's probabilities, measured, and why."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

import streamlit as st

from model import format
from model.inference.request import MAX_PAD
from viz import state
from viz.shared import controls, terms, texts
from viz.view import View

if TYPE_CHECKING:
    from model.experiments.effects import Effect
    from model.experiments.target_padding import TargetPadding
    from model.inference.analysis import Analysis

HOW = {
    "given": "Given target: one pass over the same translation.",
    "again": "Decode again: every token is chosen anew under the switches.",
}


def switches(view: View, effects: dict[str, Effect], target: TargetPadding | None, analysis: Analysis, causal: bool) -> None:
    """The switches; `causal` says whether the decoder was trained with a causal mask."""
    with st.container(key="mask_head", horizontal=True, vertical_alignment="center"):
        texts.write(f'<h2 class="lab-label">{terms.term("mask", "Masks")}</h2>', inline=True)
        st.space("stretch")
        controls.modes(view)
    st.toggle("Causal mask", **state.bind("causal", "causal_mask", view.causal_mask))
    _told(causal_text(effects["causal_mask"], view, causal))
    reach = "Hides padding from all attention: after the sentence, and after a translation that others of its batch outlast"
    st.toggle("Padding mask", help=reach, **state.bind("padmask", "padding_mask", view.padding_mask))
    _told(padding_text(effects["padding_mask"], view), target_text(target, analysis, view, causal))
    with st.container(key="padding", horizontal=True, vertical_alignment="center"):
        texts.label("Pad the source by")
        st.number_input(
            "Pad the source by", 0, MAX_PAD, step=1, label_visibility="collapsed", **state.bind("pad", "pad", view.pad)
        )
    texts.note(f"{HOW[view.mode]} A nat is a unit of natural logarithms: −0.7 halves a probability.", "token")


def causal_text(effect: Effect, view: View, causal: bool) -> str:
    """The causal mask: what it hides, what it changes to switch it off, and why; markup."""
    if not causal:
        return "This decoder was trained without a causal mask: it sees every token it is given, and nothing changes."
    if view.causal_mask:
        seen, why = "The decoder sees no later token.", "in training it never saw what comes later"
    else:
        seen, why = "The decoder sees later tokens.", "it never saw any in training"
    if view.mode == "again":
        why += ". Decoded token by token, there is none to see yet: only tokens already written see one another"
    return f"{seen}<br>{_measured(effect, view.causal_mask, view, '', why)}"


def padding_text(effect: Effect, view: View) -> str:
    """The padding mask on the source: what it hides, what it changes to switch it off, and why; markup."""
    count = pads(effect.pad)
    if view.padding_mask:
        seen = "There is no padding after the sentence." if effect.added else f"{count} after the sentence, unseen."
    else:
        seen = f"Attention sees {count} after the sentence" + (", added because there was none." if effect.added else ".")
    extra = f", with {count} added" if effect.added and view.padding_mask else ""
    return f"{seen}<br>{_measured(effect, view.padding_mask, view, extra, 'training never let it look at padding')}"


def target_text(target: TargetPadding | None, analysis: Analysis, view: View, causal: bool) -> str:
    """The padding mask on the target: whether there is anything to hide in this batch; empty for a sentence alone."""
    if not analysis.other_lengths:
        return ""
    if target is None and analysis.target_padding:
        return "Decoded token by token, a finished translation is followed by nothing: no padding to mask there."
    if target is None:
        return "This translation is as long as any in its batch: no padding after it."
    change = f"<b>{format.nats(target.change)}</b> nats"
    seen = f"{pads(target.pads)} after this translation, where the batch is read in one pass"
    if causal and view.causal_mask:
        return f"{seen}: no earlier token sees them, for the causal mask hides them too. Without this one, {change}."
    if view.padding_mask:
        return f"{seen}, unseen. If off, they change the log-probability by {change}: no causal mask hides them."
    return f"{seen}: seen, they change the log-probability by {change}, for no causal mask hides them."


def pads(count: int) -> str:
    return f"{count} pad" if count == 1 else f"{count} pads"


def _measured(effect: Effect, on: bool, view: View, extra: str, why: str) -> str:
    """The change of the target's log-probability with its reason, and the token that loses the most."""
    hue = "loss" if effect.change < 0 else "gain"
    given = " (given the target)" if view.mode == "again" else ""
    what = terms.term("log-probability", "log-probability" if on else "Log-probability")
    begins = f"If off{extra}, {what} changes by" if on else f"{what} changes by"
    text = f'{begins} <b class="{hue}">{format.nats(effect.change)}</b> nats{given}: {why}. '
    losses = effect.losses()
    if not losses:
        return text + "No token loses more than 0.1."
    worst = losses[0]
    count = "1 token loses" if len(losses) == 1 else f"{len(losses)} tokens lose"
    before, after = (math.exp(p[worst]) for p in (effect.before, effect.after))
    token = f'<b class="lab-token">{html.escape(effect.labels[worst])}</b>'
    return text + f"{count} more than 0.1; {token} {before:.2f} → {after:.2f}."


def _told(*parts: str) -> None:
    """Markup of our own, a line for each part that says something."""
    texts.write(f'<p class="lab-effect">{"<br>".join(filter(None, parts))}</p>')
