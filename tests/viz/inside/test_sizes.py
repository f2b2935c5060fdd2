"""The size of a model on the map, without a browser."""

from __future__ import annotations

import html
import re

import pytest

from model.readings.sizes import PRESETS, cache_bytes, operations, parameters, pattern_bytes
from tests.support.viz_helpers import INSIDE, Lab
from viz.inside import sizes_texts


def on_the_map(**link: str) -> Lab:
    return Lab(INSIDE, **({"part": "map", "text": "The dog sleeps."} | link))


def of(page: Lab) -> tuple[str, str]:
    """What is said of the size, and all its tables as text."""
    (told,) = page.sentences("lab-answer")
    tables = [piece for piece in page.html if "lab-shares" in piece or "lab-facts" in piece]
    return told, html.unescape(re.sub(r"<[^>]+>", " ", " ".join(tables)))


def test_this_checkpoint_and_then_another_size():
    page = on_the_map()
    told, tables = of(page)
    assert told == "This checkpoint: 9,421,824 parameters, 37.7 MB as float32; just as many as the loaded model holds."
    assert "9,421,824" in tables and "the embedding table again" in tables
    page.at.number_input(key="size_layers").set_value(2)
    told, tables = of(page.run())
    assert told.startswith("With these sizes: ") and page.link["size_n"] == "2"
    page.at.number_input(key="size_heads").set_value(7)
    (fault,) = page.run().sentences("lab-fault")
    assert fault == "7 heads cannot share a width d_model of 256; expected a multiple of 7, as 259."
    page.at.selectbox(key="size").set_value("gpt2-xl")
    told, tables = of(page.run())
    assert told.startswith("GPT-2 XL: 1,557,611,200 parameters, 6.23 GB as float32. Its authors say 1.56 billion")
    assert {"size": "gpt2-xl"}.items() <= page.link.items() and not {"size_n", "size_h"} & page.link.keys()
    page.at.number_input(key="size_layers").set_value(48)  # as it has them
    assert "size_n" not in page.run().link


def test_what_is_said_of_a_preset_is_its_numbers():
    base = PRESETS["base"].architecture
    told, tables = of(on_the_map(size="base", size_l="100"))
    assert f"{sum(parameters(base).values()):,} parameters" in told
    assert "Its authors say 65 million (Vaswani et al. 2017, table 3), 3.0% more than are counted here." in told
    for much in (*cache_bytes(base), sum(cache_bytes(base)) * 100, pattern_bytes(base, 100), 18 * pattern_bytes(base, 100)):
        assert sizes_texts.weighed(much) in tables
    for each in operations(base, 100):
        assert sizes_texts.weighed(each, "FLOP") in tables


@pytest.mark.parametrize("name", PRESETS)
def test_attention_is_half_from_the_stated_length(name):
    made = PRESETS[name].architecture
    told = sizes_texts.share_of_length(made, 512)
    half = int(re.search(r"from ([\d,]+) tokens", told)[1].replace(",", ""))

    def share(length: int) -> float:
        return 1 - sum(operations(made, 0)) / sum(operations(made, length))

    assert share(half - 1) < 0.5 <= share(half)
    assert f"is {share(512):.1%} of" in told
