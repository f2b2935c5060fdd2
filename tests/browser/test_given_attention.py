"""Pages of given attention in a browser: offline as a file, and served with the full map of any head."""

import threading

import numpy as np
import pytest
from playwright.sync_api import Page

from model import GivenAttention
from model.readings.heads.head_maps import rollout
from tests.browser.conftest import TIMEOUT
from tests.support.attention_helpers import patterns
from viz.given_attention import attention_page, open_command, save_html
from viz.given_attention.attention_page import PageOptions, page

TOKENS = ["[CLS]", "the", "dog", "##s", "</script><img src=x onerror=alert(1)>", "[SEP]"]
SIZE = len(TOKENS)


@pytest.fixture
def opened(browser):
    """Opens an address; fails on an error of its scripts, a dialog, and a request to another place."""
    contexts, wrong = [], []

    def make(address: str) -> Page:
        context = browser.new_context(viewport={"width": 1280, "height": 720}, color_scheme="light")
        context.set_default_timeout(TIMEOUT)
        contexts.append(context)
        tab = context.new_page()
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("dialog", lambda dialog: wrong.append(dialog.message))
        tab.on("request", lambda sent: None if sent.url.startswith(address) else wrong.append(sent.url))
        tab.goto(address)
        tab.locator("html[data-drawn]").wait_for(state="attached")
        return tab

    yield make
    for context in contexts:
        context.close()
    assert wrong == []


def read_csv(tab: Page, button: str) -> list[list[str]]:
    with tab.expect_download() as download:
        tab.get_by_role("button", name=button, exact=True).click()
    lines = download.value.path().read_text("utf-8-sig").splitlines()
    return [line.split(",") for line in lines]


def test_file_finds_heads_orders_them_and_saves_their_numbers(opened, tmp_path):
    one, two = patterns(2, 3, SIZE, SIZE), patterns(2, 3, SIZE, SIZE, seed=1)
    tab = opened(save_html(one, TOKENS, tmp_path / "a.html", compare=two, name="one").as_uri())
    tab.get_by_label("Token that looks", exact=True).select_option("source 2")
    tab.get_by_label("Token that it looks at").select_option("encoder 4")
    best = int(one[:, :, 2, 4].argmax())
    name = f"encoder {best // 3 + 1}.{best % 3 + 1}"
    assert name in tab.locator(".answer").inner_text()
    assert tab.locator(".detail h2").inner_text() == name
    rows = read_csv(tab, "This map")
    written = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])
    np.testing.assert_allclose(written, one.reshape(6, SIZE, SIZE)[best], atol=6e-6)
    header, *heads = read_csv(tab, "All heads")
    np.testing.assert_allclose([float(row[header.index("link")]) for row in heads], one[:, :, 2, 4].ravel(), atol=6e-6)
    tab.get_by_role("button", name="Clear").click()
    tab.locator(".opener").click()
    tab.get_by_label("Order by").locator("select").select_option("change")
    change = np.abs(one - two).sum((2, 3)).ravel().argsort()[::-1]
    places = ",".join(f"{n // 3 + 1} {n % 3 + 1}" for n in change)
    assert tab.locator(".site > canvas").get_attribute("data-places") == places
    assert tab.locator(".maps .map h2").all_inner_texts()[2] == "Model B − one"
    tab.get_by_role("button", name="Model B", exact=True).click()
    header, *heads = read_csv(tab, "This map")
    assert float(heads[0][1]) == pytest.approx(two.reshape(6, SIZE, SIZE)[best][0, 0], abs=6e-6)


def test_file_combines_heads_by_their_mean_or_maximum(opened, tmp_path):
    one = patterns(2, 3, SIZE, SIZE)
    tab = opened(save_html(one, TOKENS, tmp_path / "a.html", head=("encoder", 1, 0)).as_uri())
    for button, expected, title in (
        ("Max over heads", one[1].max(0), "encoder 2, maximum over heads"),
        ("Max over both", one.max((0, 1)), "maximum over layers and heads"),
        ("Mean over both", one.mean((0, 1)), "mean over layers and heads"),
        ("Mean over layers", one[:, 0].mean(0), "head 1, mean over layers"),
        ("Max over layers", one[:, 0].max(0), "head 1, maximum over layers"),
        ("Mean over heads", one[1].mean(0), "encoder 2, mean over heads"),
    ):
        tab.locator(".opener").click()
        tab.get_by_role("button", name=button, exact=True).click()
        assert title in tab.locator(".detail h2").inner_text()
        assert ("Rows need not add up to 1" in tab.locator(".detail .say").inner_text()) is button.startswith("Max")
        rows = read_csv(tab, "This map")
        written = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])
        np.testing.assert_allclose(written, expected, atol=1.1e-5)  # rounded weights, and their rounded mean
    tab.locator(".opener").click()
    tab.get_by_role("button", name="Mean over heads", exact=True).click()
    assert tab.locator(".detail h2").inner_text() == "encoder 2.1"


def test_served_page_fetches_the_full_maps_of_what_is_chosen(opened, monkeypatch):
    monkeypatch.setattr(attention_page, "MAX_CELLS", 1000)
    long = patterns(2, 3, 100, 100, causal=True)
    attentions = [GivenAttention.of(long, [f"t{n}" for n in range(100)], name="long")]
    running = open_command.server(attentions, page(attentions, PageOptions(is_served=True)))
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    try:
        tab = opened(f"http://127.0.0.1:{running.server_address[1]}/")
        canvas = tab.locator(".site > canvas")
        assert canvas.evaluate("(node) => new Set(node.getContext('2d').getImageData(40, 30, 200, 100).data).size") > 20
        canvas.focus()
        for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):  # the first key goes to the chosen head
            canvas.press(key)
        tab.get_by_role("heading", name="decoder 2.2", exact=True).wait_for()
        tab.get_by_text("about: the largest of each block").wait_for(state="detached")
        _, *rows = read_csv(tab, "This map")
        assert float(rows[99][50]) == pytest.approx(long[1, 1, 99, 49], abs=6e-6)
        tab.get_by_text("Two readings side by side").wait_for()  # the rollout has come
        for button, expected in (
            ("Rollout", rollout(long)[1]),
            ("Weights", long[1, 1]),
            ("Max over layers", long[:, 1].max(0)),
            ("Mean over both", long.mean((0, 1))),
        ):
            tab.locator(".opener").click()
            tab.get_by_role("button", name=button, exact=True).click()
            tab.get_by_text("about: the largest of each block").wait_for(state="detached")
            _, *rows = read_csv(tab, "This map")
            written = np.array([[float(cell or 0) for cell in row[1:]] for row in rows])
            np.testing.assert_allclose(written, expected, atol=6e-6)
    finally:
        running.shutdown()
        running.server_close()
        thread.join()
