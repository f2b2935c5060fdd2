"""Whatever a browser may send: a link, and the values of widgets and components. Every page runs, in bounded time."""

from __future__ import annotations

import json
import logging
import math
import random
import time
from typing import Any

from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates

from tests.fuzz.core import fuzzer
from tests.support.viz_helpers import Lab, address
from viz import links, pages
from viz.fields import fields
from viz.view import View, can_hold

logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context").disabled = True  # there is none here
MOST_SECONDS = 30.0  # of one run, on a busy machine
NAMES = tuple(each.parameter for each in fields(View).values())
SENTENCES = (
    "I saw a cat.",
    "The red fox. It sleeps.",
    "“" * 300,
    "cat " * 60,
    "",
    " ",
    "<b>&amp;",
    "a\nb",
    "\U0001f600",
    "’" * 9000,
)
KNOWN = {  # texts that mean something to a parameter, beside numbers and the words that stand in the links of other fields
    "text": SENTENCES,
    "target": SENTENCES,
    "checkpoint": ("en-fr", "en-fr-learned", "en-fr-peek", "nothere", "my(model)"),
    "edits": (
        "scaling-off",
        "window-3",
        "off_cross.3.5",
        "skip_dec.2.ff",
        "source-positions_off",
        "off_dec.1",
        "block_dec_2-2",
    ),
    "decode": ("beam", "sample", "greedy", "yours"),
    "scheme": ("learned", "rotary", "sinusoidal"),
    "part": ("stages", "writers", "map", "scale", "length", "lens", "tokens", "embeddings"),
    "show": ("attention", "mask", "decoding"),
    "kind": ("encoder", "decoder", "cross"),
    "causal": ("off",),
    "padmask": ("off",),
    "mode": ("again",),
    "measure": ("rollout", "contribution"),
    "order": ("similarity", "entropy"),
    "head": ("mean",),
    "find": ("cross_3_2", "encoder_1_9"),
    "guess": ("first",),
    "rows": ("training", "shifted"),
    "words": ("merged",),
    "sites": ("all",),
    "average": ("layers",),
    "try": ("order", "nothing"),
    "lesson": ("cell", "nothing"),
}
ODD = (
    "",
    "-1",
    "nan",
    "inf",
    "1e9",
    "0.5",
    "9" * 5000,
    "None",
    "../..",
    "a" * 7000,
    "\x00",
    "٣",
    "__class__",
    "{}",
    "~",
    "-",
    "_",
)


def parameter(draw: random.Random, name: str) -> str:
    """What stands in a link under a name: what means something there, numbers and lists of them, anything."""
    way = draw.randrange(6)
    if way < 2 and name in KNOWN:
        known = draw.choice(KNOWN[name])
        return "~".join(draw.choice(KNOWN[name]) for _ in range(draw.choice((1, 3, 250)))) if name == "edits" else known
    if way == 2:
        lists = (
            "-".join(str(draw.randrange(9000)) for _ in range(draw.choice((1, 5, 126))))
            for _ in range(draw.choice((1, 8, 20)))
        )
        return "~".join(lists)
    if way == 3:
        return draw.choice(ODD)
    if way == 4:
        return "".join(
            chr(draw.choice((draw.randrange(32, 127), draw.randrange(0xD800)))) for _ in range(draw.randrange(30))
        )
    return str(draw.choice((0, 1, 2, 3, 4, 7, 8, 16, 64, 512, 999, draw.randrange(10**6))))


def checked(lab: Lab, began: float) -> str:
    """What is promised of every run; one word for what came of it."""
    assert time.monotonic() - began < MOST_SECONDS, f"a run took {time.monotonic() - began:.0f} s"
    view = lab.at.session_state["view"]
    wrong = [name for name in fields(View) if not can_hold(name, getattr(view, name))]
    assert wrong == [], f"the view has {wrong[0]} = {getattr(view, wrong[0])!r:.80}"
    assert links.parse(address(lab.at))[1] == ()
    boxes = [box.key for box in lab.at.selectbox]
    assert "checkpoint" in boxes, "the box for the checkpoint is gone"
    return "refused" if lab.faults else "warned" if lab.warnings else "answered"


def shown(page: pages.Page) -> str | None:
    return None if page == pages.PAGES[0] else page.file


@fuzzer("links", few=4)
def a_link(draw: random.Random) -> str:
    """A link to a page: up to eight parameters, which may mean something or not."""
    link = {name: parameter(draw, name) for name in draw.sample(NAMES, draw.randint(1, 8))}
    began = time.monotonic()
    return checked(Lab(shown(draw.choice(pages.PAGES)), **link), began)


def anything(draw: random.Random, depth: int = 0) -> Any:
    """A value of JSON: of a shape that the components report, or of none."""
    words = (
        "encoder",
        "cross",
        "none",
        "steps",
        "source",
        "typed",
        "map",
        "heads",
        "dark",
        "off_cross.3.5",
        "block_enc_1-1",
        "x" * 70,
        "\ud800",
        "",
    )
    way = draw.randrange(9 if depth < 2 else 5)
    if way == 0:
        return draw.choice((None, True, False))
    if way == 1:
        return draw.choice((0, 1, 2, 3, -1, 10**400, 0.5, math.nan, math.inf, 1e300, draw.randrange(9000)))
    if way in (2, 3):
        return draw.choice(words)
    if way == 4:
        return draw.choice(([], {}, [[]], {"": 0}))
    if way == 5:
        return [anything(draw, depth + 1) for _ in range(draw.randrange(4))]
    names = (
        "kind",
        "layer",
        "head",
        "query",
        "key",
        "step",
        "token",
        "text",
        "of",
        "word",
        "done",
        "side",
        "to",
        "merge",
        "mass",
        "average",
    )
    return {name: anything(draw, depth + 1) for name in draw.sample(names, draw.randint(1, 5))}


def value(draw: random.Random, widget: str, kind: str, events: list[str]) -> WidgetState:
    """A value for a widget of a kind of values, or for what a component reports. Streamlit itself ends a run on what is not
    even of its widget's kind, before the lab sees it: no number at all, or no JSON."""
    number = draw.choice((0.0, 1.0, -1.0, 1e300, math.nan, math.inf, draw.random(), draw.uniform(-99, 999)))
    text = draw.choice(
        (*SENTENCES, *ODD, "en-fr-peek", "/tmp", "../checkpoints/en-fr", "beam", "2", "mean", "Encoder", "q" * 30_000)
    )
    made = WidgetState(id=widget)
    if kind in ("json_value", "json_trigger_value"):
        names = events or ["selection"]
        told: Any = {draw.choice(names): anything(draw)} if kind == "json_value" else []
        if kind == "json_trigger_value":
            told = [{"event": draw.choice(names), "value": anything(draw)} for _ in range(draw.randint(1, 2))]
        setattr(made, kind, json.dumps(told))
    elif kind == "trigger_value":
        made.trigger_value = True
    elif kind == "bool_value":
        made.bool_value = draw.random() < 0.5
    elif kind == "int_value":
        made.int_value = draw.randrange(-(2**40), 2**40)
    elif kind == "double_value":
        made.double_value = number if abs(number) < 2**50 else 0.0
    elif kind in ("string_value", "chart"):
        made.string_value = json.dumps({"selection": {"points": anything(draw)}}) if kind == "chart" else text
    elif kind == "double_array_value":
        made.double_array_value.data.extend([number] * draw.randrange(3))
    elif kind == "string_array_value":
        made.string_array_value.data.extend([text] * draw.randrange(3))
    elif kind == "int_array_value":
        made.int_array_value.data.extend([draw.randrange(-9, 99)] * draw.randrange(3))
    else:
        raise AssertionError(f"no value is known for {kind}")
    return made


@fuzzer("values", few=3)
def some_values(draw: random.Random) -> str:
    """A page, and then values for some of its widgets and components that no script of ours would send."""
    page = draw.choice(pages.PAGES)
    start = {
        "text": draw.choice(SENTENCES[:3]),
        "part": draw.choice(KNOWN["part"]),
        "decode": draw.choice(KNOWN["decode"]),
        "show": draw.choice(KNOWN["show"]),
    }
    lab, outcome, charts = Lab(shown(page), **start), "", set()
    for _ in range(3):
        known = lab.at._session_state._state._new_widget_state.widget_metadata
        charts |= {chart.proto.id for chart in lab.at.get("plotly_chart")}
        kinds = {widget: "chart" if widget in charts else each.value_type for widget, each in known.items()}
        sent = [
            value(draw, widget, kinds[widget], list(known[widget].callbacks or ()))
            for widget in draw.sample(sorted(known), min(len(known), draw.choice((1, 1, 1, 3))))
        ]
        began = time.monotonic()
        others = [each for each in lab.at._tree.get_widget_states().widgets if each.id not in {one.id for one in sent}]
        lab.at._run(WidgetStates(widgets=[*others, *sent]))
        outcome = checked(lab._checked(), began)
    return outcome
