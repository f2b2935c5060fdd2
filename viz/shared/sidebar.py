"""The sidebar: which checkpoint answers, how good it is, and where it runs."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz import cache, state, uploads
from viz.shared import bring, terms, texts

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint


def chosen() -> None:
    """Which checkpoint answers, how good it is, and where it runs; a choice where there are several."""
    view = state.current()
    folders, devices = cache.checkpoint_names(), ("auto", *cache.devices())
    if folders != (view.checkpoint,):
        options = tuple(dict.fromkeys((*folders, view.checkpoint)))  # one that is not there can be left again
        bound = state.bind("checkpoint", "checkpoint", view.checkpoint)
        st.selectbox("Checkpoint", options, format_func=uploads.shown, **bound)
    bring.control(view)
    if len(devices) > 2 or view.device not in devices:
        options = tuple(dict.fromkeys((*devices, view.device)))
        st.selectbox("Device", options, **state.bind("device", "device", view.device))
    try:
        _facts(cache.checkpoint(view.checkpoint, view.device))
    except Exception:  # the page says what is wrong with it, and another can be chosen
        return


def _facts(loaded: Checkpoint) -> None:
    """How large a checkpoint is, how good, and where it runs."""
    config, metrics = loaded.config, loaded.metrics
    score = scored(metrics.get("test_all_references") or metrics.get("test"))
    count = loaded.model.parameter_count
    size = f"{count / 1e6:.1f} M" if count >= 1e5 else f"{count:,}"
    stacks = " + ".join(str(count) for count in (config.encoder_layers, config.decoder_layers) if count)
    heads = "1 head" if config.heads == 1 else f"{config.heads} heads"
    layers = terms.marked(
        f"{stacks} layers, {heads}, {size} parameters. {score}",
        *("layer", "head", "BLEU", "bits"),
    )
    texts.write(
        f'<div class="lab-facts"><div><b>{html.escape(uploads.shown(loaded.name))}</b>{layers}</div>'
        f"<div>Runs on {html.escape(loaded.device.type.upper())}</div></div>"
    )


def scored(test: dict[str, Any] | None) -> str:
    """What was measured of a checkpoint on a test set, in a sentence."""
    if not test:
        return "Not scored on a test set."
    if "accuracy" in test:
        what = "labels" if "labels" in test else "blanks"
        return f"{test['accuracy']:.1%} of the {what} right, on {test['sentences']:,} test sentences."
    if "bits_per_character" in test:
        return f"{test['bits_per_character']:.2f} bits a character on {test['characters']:,} characters of test text."
    how = f", beam {test['beam']}" if test.get("beam", 1) > 1 else ""
    against = ", all references" if test.get("references") == "all" else ""
    return f"{test['bleu']:.1f} BLEU on {test['sentences']:,} test sentences{how}{against}."
