"""The key-value cache: its growth with the steps, and the time that it saves on this machine."""

from __future__ import annotations

import html
import time
from contextlib import closing
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING, Any
from weakref import ref

import streamlit as st

from model.export.csv_tables import Table
from viz import computations, theme
from viz.decoding_steps import decoding_controls, lecture_keys
from viz.decoding_steps.steps import TIMELINE_NAMES
from viz.decoding_steps.timeline import trace_name
from viz.kit import mount, site_texts
from viz.kit.panel import Panel, Picture
from viz.page_context import PageContext
from viz.state.session_data import data, store_from_event
from viz.state.work_queue import MEASURING
from viz.translate.cache_figure import cache_chart

if TYPE_CHECKING:
    from model.experiments.caching import CacheSizes, Caching

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


def _payload(context: PageContext, result: CacheSizes) -> dict[str, Any]:
    """Returns the JSON values of the component."""
    analysis, first = context.analysis, result.own[0]
    return {
        "trace": trace_name(analysis),
        "layers": len(result.own),
        "heads": first.heads,
        "width": first.width,
        "number": first.bytes_per_number,
        "begun": analysis.prompt_length,
        "reads": list(analysis.trace.inputs.labels),
        "window": context.loaded.config.window,
        "each": sum(site.bytes_per_token for site in result.own),
        "source": sum(site.nbytes for site in result.source),
        "sources": result.source[0].tokens if result.source else 0,
        "cached": list(result.cached),
        "whole": list(result.uncached),
        "large": False,
        "style": {"--hue": theme.HUES["decoder"], "--tint": theme.scale("decoder", context.mode, 101)[30]},
    }


COMPONENT = mount.Component(__file__, '<div class="key-values"></div>', picture="Key-value cache", name="key_values")


TOLD_EVERY = 0.2  # seconds between two words on how far it is


def _table(context: PageContext, result: CacheSizes) -> tuple[Table, ...]:
    """Returns the bytes of the cache after every step, and the multiplications of the step with it and without."""
    rows = zip(context.analysis.trace.inputs.labels, result.cached, result.uncached, strict=True)
    columns = ("step", "reads", "bytes_kept", "multiplications_with", "multiplications_without")
    cells = ((t, reads, result.nbytes(t), with_, without) for t, (reads, with_, without) in enumerate(rows, 1))
    return (Table("key-value-cache", columns, tuple(cells)),)


def shows_cache(context: PageContext) -> bool:
    """True if the lower part of the page shows the cache, and there is one."""
    return _is_chosen(context) and has_cache(context)


def lacks_cache(context: PageContext) -> bool:
    """True if the lower part of the page would show a cache that the request does not have."""
    return _is_chosen(context) and not has_cache(context)


def _is_chosen(context: PageContext) -> bool:
    return context.view.show == "cache" and not decoding_controls.hides_tokens(context)


def has_cache(context: PageContext) -> bool:
    from model.experiments.caching import can_cache

    return context.analysis.task.has_decoder and can_cache(context.loaded, context.analysis)


def _draw_times(context: PageContext, run: Caching) -> None:
    site_texts.write('<h2 class="lab-label lab-rule">Time to write so many tokens</h2>')


def _draw_saving(context: PageContext, result: Any) -> None:
    """Draws the measured saving, or the offer to measure it."""
    from model.experiments.caching import run_length

    heading = '<h2 class="lab-label">What does it save?</h2>'
    if run := _measured(context):
        heading += headline(run)
        notes = [last_step(run), same(run, context.analysis.prompt_length), early(run), HOW]
    else:
        notes = [WHAT.format(run_length(context.loaded))]
    site_texts.write(heading + "".join(f'<p class="lab-note">{html.escape(note)}</p>' for note in notes if note))
    _measuring(context)


def _whose(context: PageContext) -> tuple[object, ...]:
    """What a run belongs to; a checkpoint that was read anew is another one, also where it got the place of the old one in
    memory."""
    analysis = context.analysis
    source = analysis.trace.source and analysis.trace.source.ids
    return ref(context.loaded), source, analysis.trace.outputs.ids[: analysis.prompt_length]


def _measured(context: PageContext) -> Caching | None:
    stored = data().cache_run
    return stored[1] if stored and stored[0] == _whose(context) else None


@st.fragment
def _measuring(context: PageContext) -> None:
    """The buttons, and how far it is. Only this place runs anew while it is measured; any event of the page ends it."""
    with st.container(key="cache_measure", gap="small"):
        is_asked = st.button("Measure on this machine", key="measure cache", width="stretch")
        place = st.empty()
        st.button("Stop", key="stop measuring", type="tertiary")
    if is_asked:
        store_from_event(data(), cache_run=(_whose(context), _run(context, place)))
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


CACHE = Panel(
    "translate.cache",
    "Key-value cache",
    COMPONENT,
    _payload,
    call=lambda context: computations.CACHE_SIZES(),
    reads=(),
    follow=lambda context, result: {"step": context.view.step + 1},
    tables=_table,
    is_visible=shows_cache,
    pictures=(
        Picture(
            "Cache",
            ".key-values",
            lambda context, result: {"large": True},
            others=TIMELINE_NAMES,
            fields={"show": "cache"},
            number=3,
        ),
    ),
    keys=lecture_keys.add_keys,
    file=None,
)
NO_CACHE = Panel(
    "translate.no_cache",
    "No cache",
    text=lambda context, result: f'<p class="lab-note">{html.escape(NOTHING_KEPT)}</p>',
    is_visible=lacks_cache,
)
TIMES = Panel(
    "translate.times",
    "Time with the cache and without",
    figure=lambda context, run: cache_chart(run.cached, run.uncached, context.mode),
    compute=_measured,
    controls=_draw_times,
    is_visible=lambda context: context.places is not None and shows_cache(context) and _measured(context) is not None,
    pictures=(Picture(""),),
    is_cached=False,
)
SAVING = Panel("translate.saving", "Time that the cache saves", controls=_draw_saving, is_visible=shows_cache)
