"""The page of the static site, its two scripts and its first translation.

The second script has the views that the first picture does not need. The page loads it after the first drawing.
"""

from __future__ import annotations

import base64
import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zopfli.zlib

from model.decoding.strategy import Decoding
from model.inference.analyse import analyse
from model.inference.request import Request
from model.text.languages import record_of
from viz.decoding_steps import timeline
from viz.decoding_steps.beam_tree import COMPONENT as TREE
from viz.decoding_steps.candidates import COMPONENT as CANDIDATES
from viz.decoding_steps.head_map import HEAD_MAP
from viz.decoding_steps.timeline import COMPONENT as TIMELINE
from viz.homework.student_strip import COMPONENT as STRIP
from viz.kit import mount, site_texts
from viz.offline import file_shell
from viz.offline.site import constants
from viz.offline.site.bundle import bundles, minified
from viz.offline.site.trace_schema import stored_weights, trace_of
from viz.state.view import FIRST_SENTENCE, View
from viz.why.route_panel import COMPONENT as ROUTE

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.inference.analysis import Analysis

HERE = Path(__file__).parent
COMPONENTS: tuple[mount.Component, ...] = (TIMELINE, CANDIDATES, HEAD_MAP.component)
LATER_COMPONENTS: tuple[mount.Component, ...] = (TREE, ROUTE, STRIP)
LATER_CONSTANTS = (
    "tasks",
    "terms",
    "otherLessons",
    "assignments",
    "editKinds",
    "answerLimits",
)  # constants of the second script


def page_files(checkpoint: Checkpoint, site: dict[str, Any], texts: dict[str, str]) -> dict[str, bytes]:
    """Returns the page of a checkpoint with the weights of the site, its second script, by path.

    Args:
        site: further constants of the scripts.
        texts: markup by the name of its place in page.html.
    """
    sentence = record_of(checkpoint.languages[0]).first_sentence or FIRST_SENTENCE
    analysis = analyse(checkpoint, Request(sentence))
    site = constants.site(checkpoint, analysis) | site
    later = {"css": _styles(LATER_COMPONENTS), "site": {name: site.pop(name) for name in LATER_CONSTANTS}}
    app, second = bundles([(HERE / "main.js", None), (HERE / "later.js", later)])
    name = f"site/later-{file_shell.digest(second.encode())}.js"
    first = _first_translation(checkpoint, analysis, site | {"later": f"./{name}"})
    starter = minified("application/javascript", (HERE / "starter.js").read_text(encoding="utf-8"))
    style = minified("text/css", file_shell.style("site/site.css"))
    texts |= {
        "policy": file_shell.policy(starter, style, "'self'", scripts=(app, second), workers="'self'"),
        "app": file_shell.data_scripts({"app": app.encode()}, _smallest),
        "first": file_shell.data_scripts(first, _smallest),
        "source": html.escape(checkpoint.languages[0]),
        "code": site_texts.language_code(checkpoint.languages[1]),
        "translation": html.escape(analysis.translation),
        "text": html.escape(sentence),
        "width": str(Decoding.width),
        "templates": "".join(_template(each) for each in COMPONENTS + LATER_COMPONENTS),
        "style": style,
        "starter": starter,
    }
    page = (HERE / "page.html").read_text(encoding="utf-8")
    for place, text in texts.items():
        page = page.replace(f"{{{{{place}}}}}", text)
    return {"index.html": page.encode(), name: second.encode()}


def _first_translation(checkpoint: Checkpoint, analysis: Analysis, site: dict[str, Any]) -> dict[str, bytes]:
    """Returns the data of main.js by id: the JSON values, the weights of the first picture, and all other weights."""
    trace = analysis.trace
    links = timeline.payload(analysis, checkpoint, View.layer, View.head, "light")["why"]
    opening = [at for at in trace.patterns if at.kind != "encoder" and at.layer == site["start"]["layer"]]  # of the timeline
    others = [at for at in trace.patterns if at not in opening]
    stored = trace_of(analysis, checkpoint) | {"links": links, "opening": [f"{at.kind} {at.layer}" for at in opening]}
    view = {"css": _styles(COMPONENTS), "site": site, "stored": stored}
    return {
        "view": file_shell.json_bytes(view),
        "opening": stored_weights(trace, opening),
        "weights": stored_weights(trace, others),
    }


def _smallest(raw: bytes) -> str:
    """Returns compressed bytes as base64: 4% smaller than those of `zlib`, which takes a tenth of the time."""
    return base64.b64encode(zopfli.zlib.compress(raw)).decode()


def _template(component: mount.Component) -> str:
    return f'<template id="markup-{component.name}">{component.assets.html}</template>'


def _styles(components: tuple[mount.Component, ...]) -> dict[str, str]:
    return {component.name: minified("text/css", component.assets.css) for component in components}
