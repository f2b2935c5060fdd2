"""Fill in, in a browser: what a class is to guess cannot be read before; keys go from blank to blank."""

from __future__ import annotations

import dataclasses
from urllib.parse import urlencode

from model import checkpoint as checkpoints
from model.text.tokenizer import Tokenizer
from tests.browser.conftest import TIMEOUT, WATCH, idle, query, start_server, stop
from tests.support import tiny

TOLD = """() => [...attentionLabRoots.get('timeline').querySelectorAll('.chip:not(.input)')]
  .map((chip) => chip.firstChild.textContent)"""
SAID = "() => attentionLabRoots.get('timeline').querySelector('.said').textContent"


def test_a_class_guesses_one_of_two_blanks(browser, tmp_path, monkeypatch):
    reads = {"family": "encoder-only", "decoder_layers": 0, "source_start": True, "segments": 2, "pooler": True}
    made = tiny.checkpoint(Tokenizer.train(tiny.SENTENCES, 400, blanks=True), **reads, follows=True)
    checkpoints.save(dataclasses.replace(made, languages=("Danish", "Danish"), counts={}), tmp_path / "two")
    monkeypatch.setenv("CHECKPOINTS", str(tmp_path))
    server, url = start_server()
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    try:
        context.add_init_script(path=WATCH)
        context.set_default_timeout(TIMEOUT)
        page = context.new_page()
        text = {"text": "The red ___ sees a lamp.", "second": "The ___ takes it.", "checkpoint": "two"}
        page.goto(f"{url}/?{urlencode(text | {'lecture': 'on', 'guess': 'first'})}")
        page.locator(".candidates .next").wait_for()
        idle(page)
        hidden = page.evaluate(TOLD)
        blanks = [n for n, told in enumerate(hidden) if told == "?"]
        assert len(blanks) == 2 and page.evaluate(SAID).count("___") == 2
        page.keyboard.press("ArrowRight")  # shows this one, and stays
        page.locator(".candidates .row").first.wait_for()
        shown = page.evaluate(TOLD)
        assert shown[blanks[0]] != "?" and shown[blanks[1]] == "?" and page.evaluate(SAID).count("___") == 1
        page.keyboard.press("Shift+ArrowRight")
        page.locator(".candidates .next").wait_for()
        idle(page)
        assert query(page)["step"] == str(blanks[1] + 1) and page.evaluate(TOLD) == hidden
        page.keyboard.press("g")  # nothing is to be guessed any more
        page.locator(".candidates .row").first.wait_for()
        idle(page)
        assert "?" not in page.evaluate(TOLD)
    finally:
        context.close()
        stop(server)
