"""The widgets of the What if page beside its list of edits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from model.inference.predictions import kl_divergence
from viz import editing, state
from viz.shared import controls, texts, wanted
from viz.view import View
from viz.what_if import texts as what_if_texts

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.experiments.effects import HeadEffect
    from model.inference.analysis import Analysis
    from model.task import Task

SHOWN = 5


def matrix_picks(view: View, kinds: Sequence[str]) -> None:
    """Whose mask is shown, and how far a click on it reaches."""
    reach = what_if_texts.reach(view)
    with st.container(key="matrix_picks", horizontal=True, vertical_alignment="center", gap="small"):
        texts.site_title(view.kind, "Who may see whom")
        st.space("stretch")
        if len(kinds) > 1:
            st.segmented_control(
                "Attention",
                kinds,
                required=True,
                format_func=str.capitalize,
                label_visibility="collapsed",
                **state.bind("kind", "kind", view.kind),
            )
        options = [name for name in reach if name != "head" or view.head is not None]
        shown = view.scope if view.scope in options else "layer"
        st.selectbox(
            "A click blocks at",
            options,
            format_func=reach.__getitem__,
            label_visibility="collapsed",
            **state.bind("scope", "scope", shown, text=reach[shown]),
        )
    texts.note(
        "Colour is attention weight; rows ask, columns answer. Click a cell to block it, a token to block its row or "
        "column, a head to switch it off.",
        "attention weight",
    )


def head_picks(view: View, loaded: Checkpoint) -> None:
    """Which layer and head the three maps show."""
    with st.container(key="head_picks", horizontal=True, vertical_alignment="center", gap="small"):
        texts.site_title(view.kind, "Pattern")
        st.space("stretch")
        controls.layer_pick(view, max(loaded.config.encoder_layers, loaded.config.decoder_layers))
        controls.head_pick(view, loaded.config.heads)


def largest_changes_head(analysis: Analysis) -> None:
    """What is ranked below."""
    texts.write('<h3 class="lab-label">Largest changes</h3>')
    texts.note(
        f"Ablation of each head alone: by how many nats the {_ranked(analysis)} changes.",
        "ablation",
        "head",
        "nats",
        "log-probability",
        "baseline",
    )


def _ranked(analysis: Analysis) -> str:
    if analysis.trace.filled is not None:
        return analysis.scored
    named = {"target": "tokens"}.get(analysis.scored_tokens, analysis.scored_tokens)
    return f"log-probability of the baseline’s {named}"


def largest_changes(effects: Sequence[HeadEffect]) -> None:
    """The heads that matter most for this sentence; a click switches one off or on."""
    ranked = sorted(effects, key=lambda e: -abs(e.change))
    with st.container(key="ranking"):
        for effect in ranked[:SHOWN]:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.button(
                    head_name(effect),
                    key=f"rank {effect.edit.code}",
                    type="tertiary",
                    on_click=editing.toggle_edit,
                    args=(effect.edit.code,),
                )
                texts.signed(effect.change)
    label = f"All {len(ranked)} heads" if len(ranked) > 1 else "The only head"
    with wanted.popover(label, "all heads", type="tertiary") as is_open:
        if is_open:
            rows = [{"head": head_name(e), "change in nats": round(e.change, 3)} for e in ranked]
            st.dataframe(rows, hide_index=True, width=280, height=320)


def head_name(effect: HeadEffect) -> str:
    kinds = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross"}
    return f"{kinds[effect.site.kind]}, L{effect.site.layer + 1} head {effect.head + 1}"


def mode_picks(view: View, causal: bool, task: Task) -> None:
    """Given target or decode again, and what each of them can tell; a model that writes nothing just reads again."""
    if task.judges:
        texts.write('<h2 class="lab-label">Which label it gets</h2>')
        texts.note("The text is read again under the edits: what becomes of its label?")
        return
    if not task.writes:
        texts.write('<h2 class="lab-label">What it says of each place</h2>')
        texts.note("The sentence is read again under the edits: how much less does it believe its tokens?")
        return
    with st.container(key="mode_picks", horizontal=True, vertical_alignment="center"):
        texts.write(f'<h2 class="lab-label">{task.made.capitalize()}</h2>', inline=True)
        st.space("stretch")
        controls.modes(view)
    texts.note(what_if_texts.mode_note(view, causal))


def largest_step(analysis: Analysis, view: View) -> None:
    """The way to the step at which the edits change the most of what may come next."""
    base = analysis.baseline
    if base is None or analysis.comparable < 2:
        return
    steps = slice(analysis.comparable)
    moved = kl_divergence(base.trace.log_probs[steps], analysis.trace.log_probs[steps])  # [comparable]
    most = max(base.trace.inner[: len(moved)], key=moved.__getitem__, default=0) + 1  # no end, which nobody asks for
    if most != view.step and moved[most - 1] >= 0.0005:
        at, said = "step" if analysis.task.writes else "place", base.trace.predicted.labels[most - 1]
        label = controls.plain_label(f"Go to {at} {most}, “{said}”: it changes the most")
        st.button(label, key="largest step", type="tertiary", on_click=state.change, kwargs={"step": most})
