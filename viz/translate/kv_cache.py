"""The key-value cache: how it grows with the steps, and what it saves on this machine.

What the key-value cache and its measurement say in words.

The key-value cache as it grows: what a step computes, what it reads of what was kept; follows the step in the browser."""

from __future__ import annotations

import html
import time
from contextlib import closing
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING, Any
from weakref import ref

import streamlit as st

from viz import computations, theme
from viz.kit import controls, mount, site_texts
from viz.page_context import PageContext
from viz.state import session
from viz.state.result_cache import cached_figure
from viz.state.work_queue import MEASURING
from viz.translate.cache_figure import cache_chart

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from model.experiments.caching import CacheSizes, Caching
    from model.inference.analysis import Analysis
    from viz.state.view import View

EVEN = 1.05  # times as long: what is less rounds to nothing
NOTHING_KEPT = (
    "Nothing can be kept here: without the causal mask each new token changes what was computed of those before it, so the "
    "whole text goes through all layers at every step."
)
WHAT = (
    "Writes {} tokens with the cache and without, in turn, up to three times, on the machine that runs the lab: the fastest "
    "of each step counts. Twenty seconds at most; one visitor measures at a time."
)
HOW = (
    "Both begin with this text and take the likeliest token; neither stops at </s>. Without the cache the last layer still "
    "computes the newest token alone, as decoding without the causal mask does here."
)


def span(seconds: float) -> str:
    """A time as a person says it."""
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def headline(run: Caching) -> str:
    """How many times as long it takes without the cache, as markup."""
    count = len(run.cached)
    with_, without = span(sum(run.cached)), span(sum(run.uncached))
    longer = run.ratio >= 1
    times = run.ratio if longer else 1 / run.ratio
    way = "without the cache" if longer else "with the cache"
    many = f'<b class="lab-times">{times:.1f} ×</b> as long {way}' if times >= EVEN else "As long either way"
    return f'<p class="lab-answer">{many}: {count} tokens take {with_} with it, {without} without.</p>'


def same(run: Caching, begun: int = 0) -> str:
    """Whether both ways chose the same tokens, and how far their probabilities are apart; `begun` tokens were given."""
    count, parted = max(0, len(run.ids) - begun), run.first_divergence
    chosen = (
        f"Both chose the same {count} {'token' if count == 1 else 'tokens'}"
        if parted is None
        else f"They chose differently at token {parted}"
    )
    return f"{chosen}; no probability differs by more than {_at_most(run.max_difference)}."


def _at_most(value: float) -> str:
    """One figure, rounded up."""
    shown = Context(prec=1, rounding=ROUND_CEILING).create_decimal_from_float(value)
    return "0" if not value else f"{shown:.0e}".replace("e-0", "e-")


def early(run: Caching) -> str:
    """That the time ran out before all was written, or before it was written three times; nothing where it did not."""
    from model.experiments.caching import ROUNDS

    count = len(run.cached)
    if count < run.limit:
        return f"Stopped after {count} of {run.limit} tokens: time ran out."
    rounds = max(1, run.done // run.limit)
    return f"Written {'once' if rounds == 1 else 'twice'}, then time ran out." if rounds < ROUNDS else ""


def last_step(run: Caching) -> str:
    """What the last token took in both ways."""
    with_, without = 1000 * run.cached[-1], 1000 * run.uncached[-1]
    return f"Token {len(run.cached)} alone: {with_:.2f} ms with it, {without:.2f} ms without."


def alt(run: Caching) -> str:
    """The chart in words."""
    ends = f"{span(sum(run.cached))} with the cache, {span(sum(run.uncached))} without"
    return html.escape(f"Time against the length: after {len(run.cached)} tokens {ends}.")


def payload(found: CacheSizes, analysis: Analysis, trace: str, window: int | None) -> dict[str, Any]:
    """All that the browser needs, as JSON values; `trace` is the timeline's name for what it draws, `window` how many of the
    last tokens self-attention sees, or None."""
    first = found.own[0]
    return {
        "trace": trace,
        "layers": len(found.own),
        "heads": first.heads,
        "width": first.width,
        "number": first.bytes_per_number,
        "begun": analysis.prompt_length,
        "reads": list(analysis.trace.inputs.labels),
        "window": window,
        "each": sum(held.bytes_per_token for held in found.own),
        "source": sum(held.nbytes for held in found.source),
        "sources": found.source[0].tokens if found.source else 0,
        "cached": list(found.cached),
        "whole": list(found.uncached),
    }


COMPONENT = mount.Component(__file__, '<div class="key-values"></div>', picture="Key-value cache", name="key_values")


def key_values(data: dict[str, Any], step: int, above: int | None = None) -> None:
    """Mounts the component with the payload; `above`: the px that stand over it in lecture mode, None
    outside of it."""
    COMPONENT.mount("key_values", data, overrides={"step": step + 1, "above": above})


MEASURED = "cache measured"  # session key: whose, and the run
TOLD_EVERY = 0.2  # seconds between two words on how far it is


def held(view: View, context: PageContext, trace: str, mode: theme.Mode, above: int | None = None) -> bool:
    """What every layer holds after the step that the timeline tells; False, and a sentence, where nothing can be kept.
    `above`: in lecture mode, px of the stage that stand above it."""
    from model.experiments.caching import can_cache

    if not can_cache(context.loaded, context.analysis):
        site_texts.note(NOTHING_KEPT)
        return False
    found = computations.key_values(context.request, view.device)
    data = payload(found, context.analysis, trace, context.loaded.config.window)
    hues = {"style": {"--hue": theme.HUES["decoder"], "--tint": theme.scale("decoder", mode, 101)[30]}}
    key_values(data | hues, view.step, above)
    return True


def growth(view: View, context: PageContext, trace: str, mode: theme.Mode) -> None:
    """What every layer holds after the step that the timeline tells; below it what was measured."""
    if held(view, context, trace, mode) and (run := _measured(context)):
        site_texts.write('<h2 class="lab-label lab-rule">Time to write so many tokens</h2>')
        config = controls.chart_config("Time with the cache and without")
        st.plotly_chart(drawn(run, mode), theme=None, key="cache-time", config=config, alt=alt(run))


def saving(view: View, context: PageContext) -> None:
    """What the cache saves here, once it was asked for."""
    from model.experiments.caching import can_cache, run_length

    if not can_cache(context.loaded, context.analysis):
        return
    site_texts.write('<h2 class="lab-label">What does it save?</h2>')
    if run := _measured(context):
        site_texts.write(headline(run))
        for told in (last_step(run), same(run, context.analysis.prompt_length), early(run)):
            if told:
                site_texts.note(told)
        site_texts.note(HOW)
    else:
        site_texts.note(WHAT.format(run_length(context.loaded)))
    _measuring(context)


def _whose(context: PageContext) -> tuple[object, ...]:
    """What a run belongs to; a checkpoint that was read anew is another one, also where it got the place of the old one in
    memory."""
    analysis = context.analysis
    source = analysis.trace.source and analysis.trace.source.ids
    return ref(context.loaded), source, analysis.trace.outputs.ids[: analysis.prompt_length]


def _measured(context: PageContext) -> Caching | None:
    kept = session.get(MEASURED)
    return kept[1] if kept and kept[0] == _whose(context) else None


@st.fragment
def _measuring(context: PageContext) -> None:
    """The buttons, and how far it is. Only this place runs anew while it is measured; any event of the page ends it."""
    with st.container(key="cache_measure", gap="small"):
        is_asked = st.button("Measure on this machine", key="measure cache", width="stretch")
        place = st.empty()
        st.button("Stop", key="stop measuring", type="tertiary")
    if is_asked:
        session.put(MEASURED, (_whose(context), _run(context, place)))
        session.mark_user_event()
        st.rerun()


def _run(context: PageContext, bar: st.delta_generator.DeltaGenerator) -> Caching:
    from model.experiments.caching import ROUNDS, measure, run_length

    loaded, (_, source, begun) = context.loaded, _whose(context)
    limit, told = run_length(loaded), 0.0

    def waits(before: int) -> None:
        bar.progress(0.0, f"Another visitor measures: waiting, {before} before you")

    with MEASURING.slot(waits), closing(measure(loaded, source, begun, limit)) as heard:
        bar.progress(0.0, "Measuring: starts")
        for run in heard:
            if time.monotonic() > told + TOLD_EVERY:
                told = time.monotonic()
                bar.progress(run.done / (ROUNDS * limit), f"Measuring: {run.done} of {ROUNDS * limit} steps")
    return run


@cached_figure
def drawn(run: Caching, mode: theme.Mode) -> go.Figure:
    """Both curves."""
    return cache_chart(run.cached, run.uncached, mode)
