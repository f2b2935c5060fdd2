"""Pages in a real Chromium: what is clicked, stepped and saved without a run of the server."""

import io
import re
import zipfile
from pathlib import Path

from playwright.sync_api import expect

from model.export import read
from model.export.checks import parse
from tests.browser.conftest import TIMEOUT, idle, query, sent, walk


def test_maps_are_stepped_without_the_server(visit):
    page = visit("compare?kind=cross&step=2", ready=".side-by-side canvas")
    maps = page.locator(".side-by-side canvas")
    first = maps.first.bounding_box()
    before = sent(page)
    maps.first.hover(position={"x": first["width"] - 60, "y": first["height"] - 40})
    rings = [ring.split() for each in maps.all() if (ring := each.get_attribute("data-ring"))]
    assert len(rings) == 3 and rings[0] == rings[2]  # the difference stands on the first map's axes
    page.locator(".side-by-side .card").filter(has_text="in “tired”").first.wait_for()
    page.mouse.move(5, 5)
    assert maps.nth(1).get_attribute("data-ring") is None
    assert sent(page) == before
    made, pauses = walk(page, *["ArrowRight"] * 8)  # the position is sent once the keys rest
    assert made <= pauses
    page.locator(".side-by-side [data-focus='step 10'][aria-pressed=true]").wait_for()
    idle(page)
    assert query(page)["step"] == "10"


def test_a_word_is_swapped_by_a_click_and_a_word(visit):
    page = visit("compare?text=The dog is tired.", ready=".side-by-side canvas")
    page.locator(".st-key-compare_word").get_by_text("dog", exact=True).click()
    page.get_by_text("Type the word that shall stand in the place of “dog”.").wait_for()
    box = page.get_by_label("Word in its place")
    box.fill("cat")
    box.press("Enter")
    page.locator(".apart").filter(has_text="chat").wait_for()
    idle(page)
    assert {name: query(page)[name] for name in ("swap", "swap_to")} == {"swap": "2", "swap_to": "cat"}
    page.go_back()
    page.get_by_text("Type the word that shall stand in the place of “dog”.").wait_for()


PATCHING = "compare?compare=patching&text=The dog didn't cross the street because it was too shy."


def test_a_patch_opens_in_what_if(visit):
    page = visit(PATCHING, ready=".patch-grids .cell")
    cell = page.get_by_role("button", name=re.compile("^Encoder, residual stream, after 2, at “it”: [0-9]+% of the way"))
    cell.hover()
    assert page.locator(".patch-grids .readout").inner_text() == cell.get_attribute("aria-label")
    cell.click()
    page.locator('.patch-grids [aria-pressed="true"][data-focus="patch_enc.2_9"]').wait_for()
    idle(page)
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.shadowRoot?.activeElement.dataset.focus") == "patch_enc.2_8"
    assert "Patched" in page.locator(".lab-three").inner_text()
    page.get_by_role("button", name="Take it out").click()
    page.get_by_role("button", name="Take it out").wait_for(state="detached")
    idle(page)
    assert "patched" not in query(page)
    cell.click()
    page.locator('.patch-grids [aria-pressed="true"][data-focus="patch_enc.2_9"]').wait_for()
    idle(page)
    page.get_by_role("button", name="Open in What if").click()
    page.locator(".switchboard canvas").wait_for()
    assert query(page)["edits"] == "donor_The dog didn't cross the street because it was too wide.~patch_enc.2_9"


def test_four_clicks_lead_to_one_head(visit):
    page = visit("?step=11", ready=".timeline .said")
    page.get_by_role("button", name=re.compile("^Why “elle”, and not “il”")).click()
    page.locator(".route .link").first.wait_for()
    idle(page)
    assert query(page)["step"] == "11" and "rival" in query(page)
    page.get_by_role("radio", name="Parts").click()
    page.locator(".sum .bar").first.wait_for()
    idle(page)
    page.locator(".sum button.bar").filter(has_text="decoder 3.4").click()
    told = page.get_by_text(re.compile("^decoder 3.4 switched off: .*wrote [+−].* by way of “"))
    told.wait_for()
    idle(page)
    assert page.locator('.sum :is(.bar, .cell)[aria-pressed="true"]').count() == 2  # the bar, and its cell
    page.get_by_role("button", name="Switch it off").click()
    page.locator(".switchboard canvas").wait_for()
    assert query(page)["edits"] == "off_dec.3.4"


MOVED = """step => [document, ...[...document.querySelectorAll("*")].map((node) => node.shadowRoot).filter(Boolean)]
  .map((root) => root.querySelector(".player")).find(Boolean).dataset.step !== step"""


def test_a_training_is_played_without_the_server(visit):
    page = visit("training?text=The dog sleeps.&layer=2&head=3", ready=".player .site canvas")
    player = page.locator(".player")
    idle(page)
    made, pauses = walk(page, *["ArrowRight"] * 9)
    assert made <= pauses
    idle(page)
    step = player.get_attribute("data-step")
    assert query(page)["trained"] == step
    page.locator(".lazy, .charts").first.scroll_into_view_if_needed()
    page.locator(".chart-canvas[data-step]").first.wait_for()
    idle(page)
    assert page.locator(".chart-canvas").first.get_attribute("data-step") == step
    before = sent(page)
    page.keyboard.press("Space")
    player.get_by_role("button", name="Pause").wait_for()
    page.wait_for_function(MOVED, arg=step)
    assert sent(page) == before
    page.keyboard.press("Home")
    player.get_by_role("button", name="Play").wait_for()
    idle(page)
    assert (player.get_attribute("data-step"), query(page)["trained"]) == ("0", "0")


FILE = "attention-en-fr-cross-l3-h2-step1-the-red-fox-sleeps"


def test_the_numbers_of_a_view_are_saved_and_copied(visit):
    page = visit("heads?text=The+red+fox+sleeps.&step=1&kind=cross&layer=3&head=2", ready=".all-heads canvas")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".st-key-save button").first.click()
    page.locator(".save .offer").first.wait_for()
    idle(page)

    def had(label: str) -> tuple[str, bytes]:
        with page.expect_download(timeout=TIMEOUT) as download:
            page.locator(".save .offer", has_text=label).click()
        return download.value.suggested_filename, Path(download.value.path()).read_bytes()

    name, content = had("CSV")
    assert name == f"{FILE}.zip"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.namelist() == ["weights-cross-3-2.csv", "heads.csv"]
    name, content = had("Whole analysis, npz")
    assert (name, read(content).request.source) == (f"{FILE}.npz", "The red fox sleeps.")
    page.locator(".save .offer", has_text="Checks").click()
    page.locator(".save .status", has_text="Copied.").wait_for()
    said = parse(page.evaluate("navigator.clipboard.readText()"))
    assert {check.kind.name for check in said} >= {"translation", "weight", "later"}


def test_a_click_on_a_cell_goes_to_its_step(visit):
    page = visit("inside?part=lens", ready=".chart-canvas canvas")
    canvas, card = page.locator(".chart-canvas canvas"), page.locator(".chart-canvas .card")
    left, right, row = 78, 8, 30  # px, of the figure

    def place(step: int, layer: int) -> dict[str, float]:
        return {
            "x": left + (step - 0.5) / 16 * (canvas.bounding_box()["width"] - left - right),
            "y": 4 + (layer + 0.5) * row,
        }

    canvas.hover(position=place(11, 3))
    expect(card).to_contain_text("layer 3, step 11")
    for step in (4, 2):
        canvas.click(position=place(step, 2))
        idle(page)
        assert query(page)["step"] == str(step)
    page.locator(".charts").get_by_role("button", name="Table of the largest cells").press("Enter")
    expect(page.locator(".charts table")).to_contain_text("layer 4, step")


def test_merges_are_walked_without_the_server(visit):
    page = visit("inside?part=tokens&text=The%20animal%20didn%27t%20sleep.", ready=".tokens .pieces")
    page.get_by_role("button", name="·animal, 1 token").first.click()
    idle(page)
    assert query(page)["cut_word"] == "2"
    tiles = page.locator(".pieces .tile")
    assert "".join(tiles.all_inner_texts()) == "·animal" and tiles.count() == 7
    frames, pauses = walk(page, *["ArrowRight"] * 9, *["ArrowLeft"] * 2)
    assert frames <= pauses
    idle(page)
    assert query(page)["cut_merges"] == "4" and tiles.all_inner_texts() == ["·an", "im", "al"]
    assert page.locator(".next .tile").all_inner_texts() == ["·an", "im"]
    chip = page.locator(".chip[aria-pressed=true]")
    chip.press("ArrowRight")
    idle(page)
    expect(chip).to_have_text("·didn", timeout=TIMEOUT)
    expect(chip).to_be_focused(timeout=TIMEOUT)
    chip.press("ArrowLeft")
    idle(page)
    page.get_by_role("button", name="Neighbours of ·animal").click()
    idle(page)
    assert (query(page)["part"], query(page)["near"]) == ("embeddings", "·animal")
    assert page.locator(".neighbours .token").inner_text() == "·animal"


def test_a_measurement_is_watched_and_stopped(visit):
    page = visit("inside?part=length", ready=".js-plotly-plot .xtick text")
    stop = page.get_by_role("button", name="Stop", exact=True)
    assert not stop.is_visible()
    page.get_by_role("button", name="Measure on this machine").click()
    page.get_by_role("progressbar").wait_for()
    stop.click()
    page.get_by_text("Shown: a run that comes with the lab").wait_for()
    assert page.get_by_role("progressbar").count() == 0 and not stop.is_visible()


# Follows a link to another page, and then lets all short timers ring: a component reports the step of an arrow key.
LEAVES = """() => {
  [...document.querySelectorAll("[data-testid=stSidebarNavLink]")].find((link) => link.innerText.includes("Heads")).click();
  for (const { call } of [...lab.timers.values()]) call();
}"""


def test_a_link_is_followed_although_a_component_reports_late(visit):
    page = visit("?step=11")
    page.keyboard.press("ArrowRight")
    page.evaluate(LEAVES)
    idle(page)
    page.locator(".all-heads canvas").first.wait_for()
    assert page.evaluate("location.pathname") == "/heads"
    page.get_by_role("link", name="Translate").click()
    page.locator(".timeline .said").wait_for()


# Types a title and follows a link at once. The wait of requests.js shrinks to nearly nothing, as on a busy machine.
TYPED = """(title) => {
  const { setTimeout: real } = window;
  window.setTimeout = (call, ms, ...words) => real(call, ms === 60 ? 2 : ms, ...words);
  title.value = "Mine";
  title.dispatchEvent(new Event("change"));
  [...document.querySelectorAll("[data-testid=stSidebarNavLink]")].find((link) => link.innerText.includes("Heads")).click();
}"""


def test_a_text_typed_just_before_a_link_is_kept(visit):
    page = visit("lessons?learn=homework", ready=".assignment-list")
    page.get_by_role("button", name="Make an assignment").click()
    title = page.locator(".author-strip .title")
    title.wait_for()
    for name in ("Heads", "Why", "Heads", "Why"):
        idle(page)
        title.evaluate(TYPED.replace("Heads", name).replace("Mine", f"Mine on {name}"))
        page.wait_for_url(f"**/{name.lower()}*")
        idle(page)
        assert title.input_value() == f"Mine on {name}"


# Clicks, and returns how many messages were sent before. What would wait for a typed text, 60 ms, never goes.
CLICKED = """() => {
  const before = lab.sent, { setTimeout: real } = window;
  window.setTimeout = (call, ms, ...words) => (ms === 60 ? 0 : real(call, ms, ...words));
  [...document.querySelectorAll("button")].find((button) => button.innerText.includes("Let the model translate")).click();
  return before;
}"""


def test_the_first_click_of_a_visit_is_sent_at_once(visit):
    page = visit("?target=Le+chien+dort.")
    sent = page.wait_for_function("(before) => lab.sent - before", arg=page.evaluate(CLICKED))
    assert sent.json_value() == 1
