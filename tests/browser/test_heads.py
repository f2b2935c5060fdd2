"""The Heads page in a real Chromium: hovering previews and sends nothing, a click chooses what it shows."""

import re

import pytest
from playwright.sync_api import expect

from model.io.numbers import probability
from tests.browser.conftest import TIMEOUT, idle, query, resize, sent


@pytest.fixture
def opened(visit):
    def page(where: str = "", **options):
        found = visit("heads" + where, ready=".all-heads canvas", **options)
        found.locator("canvas[data-focus=encoder]").wait_for()
        return found

    return page


def tile(page, kind: str, layer: int, head: int, heads: int = 8) -> tuple[float, float]:
    """The middle of a thumbnail on the screen, in the order by position."""
    box = page.locator(f"canvas[data-focus={kind}]").bounding_box()
    size = (box["width"] - 22) / heads
    return box["x"] + 22 + (head - 0.5) * size, box["y"] + 16 + (layer - 0.5) * size


def title(page) -> str:
    return page.locator(".detail h2").inner_text()


def test_a_click_returns_the_head_that_it_shows(opened):
    page = opened()
    for kind in ("decoder", "cross", "encoder"):
        page.mouse.click(*tile(page, kind, 2, 7))
        idle(page)
        link = {"kind": "encoder"} | query(page)
        assert (link["kind"], link["layer"], link["head"]) == (kind, "2", "7")
        page.mouse.move(5, 5)
        expect(page.locator(".detail h2")).to_have_text(re.compile(rf"^{kind}.* 2\.7$", re.IGNORECASE), timeout=TIMEOUT)


def test_keys_reach_every_cell_and_choose_a_head(opened):
    page = opened("?kind=cross&layer=2&head=2&step=2")
    before = sent(page)
    cells = page.locator(".detail .map canvas")
    assert re.search(r"the largest value, 0\.\d{4}, is .+ looking at .+\. Arrow", cells.get_attribute("aria-label"))
    page.locator(".detail .lines svg").focus()
    page.keyboard.press("ArrowRight")
    lines, cell = page.locator(".detail .told"), page.locator(".detail .map .card")
    chosen = lines.inner_text()
    assert re.search(r"^Le → chien looks at \S+ [<>]?[01]\.\d\d", chosen)
    page.keyboard.press("ArrowDown")
    assert re.search(r"^chien → n' looks at ", lines.inner_text())
    page.keyboard.press("ArrowLeft")
    assert re.search(r"^didn is looked at by ", lines.inner_text())
    assert page.locator(".detail .lines text.on").text_content().startswith("didn")
    cells.focus()
    assert lines.inner_text() == ""
    for key in ["ArrowUp"] * 16 + ["ArrowLeft"] * 16 + ["ArrowDown"] + ["ArrowRight"]:
        page.keyboard.press(key)
    row, weight, *_ = cell.inner_text().split("\n")
    assert row == "Le → chien on dog"
    assert f"dog {probability(float(weight))}" in chosen
    page.locator("canvas[data-focus=cross]").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    assert re.search(r" 3\.3$", title(page))
    idle(page)
    assert sent(page) == before
    page.keyboard.press("Enter")
    idle(page)
    assert (query(page).get("layer", "3"), query(page)["head"]) == ("3", "3")


def places(page, kind: str) -> list[str]:
    """Layer and head of each thumbnail, in the order in which they stand."""
    return page.locator(f"canvas[data-focus={kind}]").get_attribute("data-places").split(",")


def test_a_head_is_found_by_two_tokens(opened):
    page = opened("?kind=cross")
    assert page.get_by_role("group", name="Find a head").bounding_box()["y"] < 200  # in view without a click
    page.get_by_label("Token that looks", exact=True).select_option(label="it")
    page.get_by_label("Token that it looks at").select_option(label="dog")
    idle(page)
    assert (query(page)["find"], query(page).get("kind", "encoder")) == ("encoder_9_2", "encoder")
    best = places(page, "encoder")
    assert best[0] != "1 1" and sorted(best) == sorted(places(page, "cross")) and places(page, "cross")[0] == "1 1"
    first, second = (page.locator(".answer .best button").nth(n) for n in (0, 1))
    assert first.inner_text() == "encoder {}.{}".format(*best[0].split())
    told = page.locator(".answer .best").inner_text()
    assert re.search(r"^encoder \d\.\d puts [<>]?0\.\d\d of it on dog(, a near-tie with|; next:) e", told)
    assert [query(page)["layer"], query(page)["head"]] == best[0].split()  # it is open at once
    assert title(page) == "encoder {}.{}".format(*best[0].split())
    page.set_viewport_size({"width": 390, "height": 844})
    second.click()
    idle(page)
    page.locator(".detail .map canvas").wait_for()
    page.wait_for_function("""() => {
        const root = [...attentionLabRoots.values()].find((each) => each.matches(".all-heads"));
        const cell = root.querySelector(".map canvas").labPoints.rect("cell 9 2");
        return cell.top > 44 && cell.bottom < innerHeight;
    }""")
    assert [query(page)["layer"], query(page)["head"]] == best[1].split()
    page.reload()
    page.locator("canvas[data-focus=encoder]").wait_for()
    idle(page)
    assert title(page) == "encoder {}.{}".format(*best[1].split())
    strip = page.locator(".track").first
    strip.focus()
    page.keyboard.press("ArrowRight")
    named = page.locator(".tip").first.inner_text()
    assert named.startswith("encoder {}.{} ".format(*best[1].split()))
    page.get_by_role("button", name="Clear").click()
    idle(page)
    assert "find" not in query(page) and places(page, "encoder")[0] == "1 1"
    page.locator(".detail .map canvas").focus()
    for key in ("ArrowUp", "Enter"):
        page.keyboard.press(key)
    idle(page)
    assert query(page)["find"].startswith("encoder_")


FORMER_RESULT_IS_HIDDEN = """() => document.querySelector('.st-key-own_progress [data-testid="stProgress"]')
    && getComputedStyle(document.querySelector('.st-key-heads-corpus')).visibility === 'hidden'"""


def test_own_sentences_are_measured_ranked_and_opened(visit):
    page = visit("heads?over=corpus&kind=cross&layer=1&head=7", ready=".corpus-view .heads-map g.on")
    rate = page.locator(".corpus-view .rate")
    assert rate.inner_text() == "Alignment error rate of cross 1.7 with the word written: 0.73 (95%: 0.72 to 0.75)"
    page.get_by_role("button", name="The word read").click()
    page.get_by_text("cross 1.7 with the word read: 0.24 (95%: 0.23 to 0.26)").wait_for()
    before = page.locator(".corpus-view .answer").inner_text()
    page.locator(".corpus-view .heads-map g.on").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_function("was => document.querySelector('.corpus-view .answer')?.textContent !== was", arg=before)
    assert query(page)["kind"] == "cross"
    page.get_by_role("button", name="Your own sentences").click()
    page.get_by_role("button", name="Measure").click()
    page.get_by_text("There is no sentence").wait_for()
    page.get_by_label("Your sentences").fill("The fox sleeps.\nI like <b>cats</b>.\n\nShe gave me a book.")
    page.get_by_role("button", name="Measure").click()
    rows = page.locator(".corpus-view .own-list tr:has(td)")
    rows.nth(2).wait_for()
    values = [float(text) for text in page.locator(".corpus-view .own-list td:last-child").all_inner_texts()]
    assert page.get_by_role("button", name="I like <b>cats</b>.").count() == 1
    assert rows.count() == 3 and values == sorted(values, reverse=True)
    page.get_by_role("button", name="Your own sentences").click()
    more = "\n".join(f"The fox sleeps in {n} houses." for n in range(60))
    page.get_by_label("Your sentences").fill(more)
    page.get_by_role("button", name="Measure").click()
    page.wait_for_function(FORMER_RESULT_IS_HIDDEN)
    idle(page)
    page.locator(".corpus-view .own-list button").first.wait_for()
    assert rows.count() == 20
    text = page.locator(".corpus-view .own-list button").first.inner_text()
    page.locator(".corpus-view .own-list button").first.click()
    page.locator(".all-heads canvas").first.wait_for()
    idle(page)
    assert query(page)["text"] == text and "over" not in query(page)


def test_a_saved_picture_of_all_heads_has_no_controls(opened, tmp_path):
    page = opened()
    page.get_by_role("button", name="Save").click()
    page.locator(".save .picture").select_option(label="All heads")
    with page.expect_download(timeout=TIMEOUT) as download:
        page.locator(".save button.svg").click()
    download.value.save_as(tmp_path / "heads.svg")
    texts = re.findall(r"<text[^>]*>([^<]*)<", (tmp_path / "heads.svg").read_text(encoding="utf-8"))
    assert {"Encoder", "Full map"} <= set(texts)
    assert not [text for text in texts if re.search(r"find|click|more numbers|Options|Unfold", text, re.IGNORECASE)]


PAPER = 1085, 756  # px of a landscape A4 page inside its margins


def test_lesson_0_prints_on_one_sheet(visit):
    page = visit("lessons?lesson=attention", ready=".four-pictures canvas")
    assert len(re.findall(rb"/Type */Page\b", page.pdf(prefer_css_page_size=True, print_background=True))) == 1
    page.emulate_media(media="print")
    assert re.search("^The .* → Le ", page.locator(".summary p").inner_text())


def test_a_printed_page_is_as_wide_as_the_paper(visit):
    for where, picture in (("heads", "canvas[data-focus=encoder]"), ("positions", ".chart canvas")):
        page = visit(where, ready=picture)
        page.emulate_media(media="print")
        resize(page, *PAPER)
        assert page.locator(picture).first.bounding_box()["width"] > 0.9 * PAPER[0], where
        for hidden in ("[data-testid=stSidebar]", ".st-key-save"):
            assert not page.locator(hidden).is_visible(), (where, hidden)
        choices = page.locator(".group.choice button:visible").evaluate_all("all => all.map((each) => each.className)")
        assert set(choices) == {"on"}, where
        page.emulate_media(media="screen")
