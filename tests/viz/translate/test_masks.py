"""Why one masks: the way to the experiment carries the view, whatever was typed."""

from __future__ import annotations

import html
import re
from urllib.parse import parse_qsl, urlsplit

from model.experiments.ready import EXPERIMENTS
from viz.links import parse
from viz.pages import find
from viz.translate import masks
from viz.view import View


def test_the_question_carries_the_view():
    (asked,) = [known for known in EXPERIMENTS if known.name == masks.QUESTION]
    view = View(source='A "quoted" <b>cat</b> & a dog.', step=3, causal_mask=False)
    (href, shown) = re.search(r'<a href="([^"]*)"[^>]*>([^<]*)</a>', masks.question(view)).groups()
    address = urlsplit(html.unescape(href))
    found, faults = parse(dict(parse_qsl(address.query)))
    assert find(address.path) and shown == asked.question and not faults
    assert (found.experiment, found.source, found.step) == (asked.name, view.source, 3)
