"""Train one, as a visitor does it: predict, train, watch, stop, open the result, compare it."""

from tests.browser.conftest import idle, query


def train(page) -> None:
    for text in ("Yes", "70%"):
        page.locator(".st-key-train_guess").get_by_text(text, exact=True).click()
        idle(page)
    page.locator(".st-key-train button:visible").click()
    page.locator(".train-one .pair").first.wait_for()


def test_a_visitor_trains_a_model_and_opens_it(visit):
    page = visit("training?training=train_one&train_d=16&train_h=1", ready=".st-key-train_guess")
    assert page.locator(".st-key-train button:visible").is_disabled()
    train(page)
    page.locator(".lab-training-now", has_text="new answers are exactly right").wait_for()
    assert page.locator(".train-one .pair").count() == 3 and page.locator(".train-one canvas").count() >= 5
    page.locator(".st-key-stop-training button").click()
    page.locator(".st-key-open-small button").wait_for()
    idle(page)
    assert page.locator(".lab-fault").count() == 0
    page.locator(".st-key-open-small button").click()
    page.locator(".timeline .said").wait_for()
    idle(page)
    assert "(trained " in query(page)["checkpoint"] and query(page)["text"] == "dblbldjg"
    page.get_by_role("link", name="Training").click()
    page.locator(".player .maps canvas").first.wait_for()  # its history
    idle(page)
    page.get_by_text("Train one", exact=True).click()
    page.locator(".st-key-without-train_positions label").click()
    idle(page)
    train(page)
    page.locator(".st-key-stop-training button").click()
    page.locator(".st-key-compare-small button").click()
    page.get_by_text("What differs", exact=True).wait_for()
    idle(page)
    assert query(page)["differs"] == "checkpoint" and "no positions" in query(page)["checkpoint"]
