"""A talk in the browser: a whole lecture by one key of a clicker, and the way back."""

from viz.classroom.talk import find_talk, ready_talks
from viz.state import links

from .conftest import idle, query

PICTURES = {  # by the page's name: what is there once it is drawn
    "translate": ".timeline .chip",
    "heads": ".all-heads canvas",
    "inside": ".stages",
    "what-if": ".change",
    "why": ".sum",
    "compare": ".side-by-side",
}


def test_a_talk_goes_by_one_key(visit):
    talk = ready_talks()["20-minutes"]
    page = visit("?talk=20-minutes&lecture=on")
    for number, stop in enumerate(talk.stops, 1):
        page.keyboard.press("PageDown")
        idle(page)
        assert page.locator(".talk-strip .line").inner_text() == stop.line
        assert (query(page)["stop"], query(page)["lecture"]) == (str(number), "on")
        assert page.evaluate("location.pathname") == f"/{'' if stop.page == 'translate' else stop.page}"
        assert page.locator(PICTURES[stop.page]).first.is_visible()
        box = page.locator(".talk-strip .line").bounding_box()
        assert box["y"] + box["height"] <= 720 and page.evaluate("scrollY") == 0
    page.keyboard.press("PageDown")
    idle(page)
    assert page.locator(".talk-strip .note").inner_text() == "This is the last stop."
    page.go_back()
    idle(page)
    assert page.locator(".talk-strip .line").inner_text() == talk.stops[-2].line
    page.reload()
    page.locator(".talk-strip .line").wait_for()
    idle(page)
    assert page.locator(".talk-strip .line").inner_text() == talk.stops[-2].line
    for _ in range(6):  # faster than a page is drawn: none is lost
        page.keyboard.press("PageUp")
    page.locator(".talk-strip .place", has_text=f"{len(talk.stops) - 7} of {len(talk.stops)}").wait_for()


def test_stops_are_added_on_every_page(visit):
    text = "My sister forgot her book at school."
    link = {"text": text, "layer": "2", "head": "3"}
    page = visit(f"?text={text.replace(' ', '+')}&layer=2&head=3")
    stops = ("Translate", "Heads", "Inside")
    for number, name in enumerate(stops, 1):
        if number > 1:  # with the panel open
            page.get_by_test_id("stSidebarNavLink").filter(has_text=name).click()
            page.locator("h1", has_text=name).wait_for()
            idle(page)
            assert page.evaluate("location.pathname") == f"/{name.lower()}"
            found = query(page)
            assert found.pop("talk") and found == link | {"stop": str(number - 1)}
            assert page.get_by_role("textbox", name="Sentence to translate").input_value() == text
        page.get_by_role("button", name="Present").click()
        page.get_by_role("textbox", name="Line for this view").fill(name)
        page.get_by_role("button", name="Add this view").click()
        page.locator(".playlist .stops > li").nth(number - 1).wait_for()
        idle(page)
    kept = find_talk(query(page)["talk"])[0]
    assert [(stop.page, stop.line, links.link(stop.view)) for stop in kept.stops] == [
        (name.lower(), name, link) for name in stops
    ]
