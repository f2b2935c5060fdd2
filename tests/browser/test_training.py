"""Training, in a real Chromium: the slider moves maps, sentence and curves without the server, and plays until a key."""

from __future__ import annotations

from tests.browser.conftest import idle, query, sent, walk

MOVED = """step => [document, ...[...document.querySelectorAll("*")].map((node) => node.shadowRoot).filter(Boolean)]
  .map((root) => root.querySelector(".player")).find(Boolean).dataset.step !== step"""


def test_the_steps_of_a_training_are_walked_and_played_without_the_server(visit):
    page = visit("training?text=The dog sleeps.&layer=2&head=3", ready=".player .site canvas")
    player = page.locator(".player")
    idle(page)
    before = sent(page)
    made, pauses = walk(page, *["ArrowLeft"] * 9)
    assert sent(page) - before - made == 0 and made <= pauses
    idle(page)
    step = player.get_attribute("data-step")
    assert query(page)["trained"] == step
    assert page.locator(".js-plotly-plot[data-step]").first.get_attribute("data-step") == step
    before = sent(page)
    page.keyboard.press("Space")
    player.get_by_role("button", name="Pause").wait_for()
    page.wait_for_function(MOVED, arg=step)
    assert sent(page) == before
    page.keyboard.press("Home")
    player.get_by_role("button", name="Play").wait_for()
    idle(page)
    assert (player.get_attribute("data-step"), query(page)["trained"]) == ("0", "0")


def test_the_head_and_the_step_that_a_sentence_names_are_shown(visit):
    page = visit("training?text=The dog sleeps.&checkpoint=en-fr-learned", ready=".player .site canvas")
    player = page.locator(".player")
    idle(page)
    told = page.get_by_text("Encoder: layer 2, head 1 first reaches 0.50 at recorded step 1,002 (0.56")
    told.wait_for()
    page.get_by_role("button", name="Show it there").first.click()
    player.locator("xpath=self::*[@data-step='1002']").wait_for()
    idle(page)
    found = query(page)
    assert (found["trained"], found.get("kind", "encoder"), found["layer"], found["head"]) == ("1002", "encoder", "2", "1")
