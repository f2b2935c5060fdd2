"""A checkpoint of other languages and another shape: nothing of the shipped one is said of it; its pickers are whole."""

from __future__ import annotations

import dataclasses

import pytest

from model.checkpoint import save
from tests.support import tiny
from tests.support.viz_helpers import COMPARE, INSIDE, TRANSLATE, Lab
from viz import cache
from viz.keep import forget

MANY = {"heads": 12, "d_model": 24, "encoder_layers": 9, "decoder_layers": 9}


@pytest.fixture
def foreign(home, tokenizer):
    """Says its languages and shape; German to Dutch unless told otherwise."""

    def made(languages: tuple[str, str] = ("German", "Dutch"), **shape) -> str:
        checkpoint = tiny.checkpoint(tokenizer, **shape)
        save(dataclasses.replace(checkpoint, languages=languages), home)
        forget()
        return home.name

    yield made
    forget()


def labels(page: Lab) -> list[str]:
    return [button.label for button in page.at.button]


def test_examples_are_offered_in_their_own_language_alone(foreign):
    page = Lab(TRANSLATE, checkpoint=foreign(), text="The dog didn't cross the street because it was too shy.")
    assert "German" in page.sentences("lab-label")
    assert "too shy" not in labels(page)
    told = " ".join(page.html)
    assert "Ready examples are English only." in told
    assert "This sentence is English, and the checkpoint was trained to read German." in told
    page = Lab(TRANSLATE, checkpoint=foreign(("English", "Dutch")), text="The dog sees.")
    (example,) = [button for button in page.at.button if button.label == "too shy"]
    assert not example.help  # what it teaches is a matter of French
    assert "was trained to read" not in " ".join(page.html)


@pytest.mark.parametrize(("page", "link"), [(TRANSLATE, {}), (INSIDE, {}), (COMPARE, {"differs": "head"})])
def test_many_layers_and_heads_can_be_picked(foreign, page, link):
    seen = Lab(page, checkpoint=foreign(**MANY), layer="9", head="12", **link)
    shown = {group.label: list(group.options) for group in seen.at.button_group}
    assert [name for name in shown.get("Head", ()) if name != "mean"][-1] in ("12", 12)
    assert list(shown["Layer"])[-1] in ("9", 9)


def test_languages_are_read_without_loading(foreign, home):
    name = foreign()
    assert cache.declared_languages(name) == ("German", "Dutch")
    for content in ("[]", "{", '{"languages": 3}', '{"languages": [1, 2]}', '{"languages": ["source", "target"]}', "{}"):
        (home / "config.json").write_text(content)
        assert cache.declared_languages(name) == (None, None)
    assert cache.declared_languages("nothere") == (None, None)
