"""A running lab and a real Chromium, started once for all browser tests."""

import os
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Browser, ElementHandle, Page, TimeoutError, expect, sync_playwright

from tests.browser.tabs import Tabs
from tests.support.processes import GUARDED, free_port

ROOT = Path(__file__).resolve().parent.parent.parent
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
TIMEOUT = 180_000  # ms
expect.set_options(timeout=TIMEOUT)
FOCUSED = "() => { let at, on = document.activeElement; while (on) on = (at = on).shadowRoot?.activeElement; return at; }"
WATCH = Path(__file__).with_name("watch.js")


def begin_server(port: int, *guard: str) -> subprocess.Popen:
    """Starts the lab on a port of 127.0.0.1, without waiting for it."""
    command = [*guard, sys.executable, "-m", "viz.server", "--port", str(port)]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, "HOST": "127.0.0.1"}, stdin=subprocess.PIPE)


def await_answer(url: str, server: subprocess.Popen | None = None) -> None:
    """Waits until a server answers, unless the process has ended."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        assert server is None or server.poll() is None, f"the server ended with status {server.returncode}"
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=60):
                return
        except OSError:
            threading.Event().wait(0.25)
    raise AssertionError("the server did not answer within five minutes")


def start_server(port: int | None = None) -> tuple[subprocess.Popen, str]:
    """The lab on a port of 127.0.0.1 (a free one where none is given), once it answers, and its address."""
    port = port or free_port()
    server, url = begin_server(port), f"http://127.0.0.1:{port}"
    try:
        await_answer(url, server)
    except AssertionError:
        stop(server)
        raise
    return server, url


def stop(server: subprocess.Popen) -> None:
    server.terminate()
    try:
        server.wait(60)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait(60)


def launch(playwright) -> Browser:
    """The system's Chromium where there is one, else Playwright's own. Without windows, it needs a fifth less CPU time."""
    return playwright.chromium.launch(executable_path=next(filter(None, map(shutil.which, NAMES)), None), args=FLAGS)


SHARED: dict[str, subprocess.Popen] = {}  # in the process that starts the workers: the server of all of them


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:
    """Gives each worker the address of one server: it imports torch and fills its caches once."""
    if not SHARED:
        port = free_port()
        SHARED[f"http://127.0.0.1:{port}"] = begin_server(port, *GUARDED)
    node.workerinput["lab"] = next(iter(SHARED))


def pytest_unconfigure() -> None:
    for server in SHARED.values():
        server.stdin.close()
        server.wait(60)


@pytest.fixture(scope="session")
def lab(request: pytest.FixtureRequest) -> Iterator[str]:
    if url := getattr(request.config, "workerinput", {}).get("lab"):
        await_answer(url)
        yield url
    else:
        server, url = start_server()
        yield url
        stop(server)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = launch(playwright)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def tabs(lab: str, browser: Browser) -> Tabs:
    return Tabs(browser, lab, WATCH, TIMEOUT)


@pytest.fixture
def visit(lab: str, tabs: Tabs) -> Iterator[Callable[..., Page]]:
    """Opens a query in a browser profile without stored data. Fails on an error of a script. `fresh`: nothing compiled."""
    with tabs.lent() as lent:

        def opened(
            where: str = "",
            *,
            ready: str = ".timeline .said",
            scripts: tuple[Path, ...] = (),
            fresh: bool = False,
            **options,
        ) -> Page:
            page = lent.take(scripts, fresh, **options).page
            page.goto(lab + "/" + where)
            page.locator(ready).first.wait_for(state="attached")
            idle(page)
            return page

        yield opened
    assert lent.errors() == []


def idle(page: Page) -> None:
    """Waits until nothing is under way: no run of the app, no event that a key or a click has yet to send, no movement."""
    try:
        page.wait_for_function("() => lab.idle()")
    except TimeoutError as fault:
        raise AssertionError(f"still under way: {page.evaluate('lab.under_way()')}") from fault


def go(page: Page, where: str, ready: str) -> None:
    """Leads a page that stands to another view, as the browser's own buttons do: nothing is loaded anew."""
    idle(page)
    before = sent(page)
    page.evaluate("to => { history.pushState({}, '', to); dispatchEvent(new PopStateEvent('popstate')); }", f"/{where}")
    page.wait_for_function("before => lab.sent > before", arg=before)
    idle(page)
    page.locator(ready).first.wait_for(state="attached")


def sent(page: Page) -> int:
    """Returns the number of frames that the page has sent since it was loaded."""
    return page.evaluate("lab.sent")


def walk(page: Page, *keys: str, rest: int = 300) -> tuple[int, int]:
    """Presses a key a frame: how many frames were sent meanwhile, and how often the machine rested long enough for one."""
    return tuple(page.evaluate("([keys, rest]) => lab.walk(keys, rest)", [keys, rest]))


def query(page: Page) -> dict[str, str]:
    """Returns the parameters of the page's address."""
    return {name: values[0] for name, values in parse_qs(link(page)).items()}


def link(page: Page) -> str:
    """Returns the query of the page's address once nothing is under way: a run writes it at its end."""
    idle(page)
    return page.evaluate("location.search.slice(1)")


def translation(page: Page) -> str:
    return page.locator(".timeline .said").inner_text().strip()


def focused(page: Page) -> ElementHandle:
    """Returns the element with the focus, also inside a component."""
    return page.evaluate_handle(FOCUSED).as_element()


def read_table(page: Page, label: str) -> tuple[str, list[list[str]]]:
    """Opens the table of a map by keys. Returns its caption and its rows, as Chromium passes them to a screen reader."""
    while label not in focused(page).evaluate("node => (node.matches('.cell-table > *') && node.ariaLabel) || ''"):
        page.keyboard.press("Tab")
        assert focused(page).evaluate("node => node.tagName") != "BODY", f"no table of {label}"
    page.keyboard.press("Enter")
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")
    nodes = {node["nodeId"]: node for node in tree["nodes"]}
    named = {key: [node.get(name, {}).get("value", "") for name in ("role", "name")] for key, node in nodes.items()}

    def within(key: str, *roles: str) -> Iterator[str]:
        for child in nodes[key]["childIds"]:
            yield from [child] if named[child][0] in roles else within(child, *roles)

    (table,) = (key for key, (role, name) in named.items() if role == "table" and "largest of" in name and "row" not in name)
    rows = [[named[cell] for cell in within(row, "rowheader", "columnheader", "cell")] for row in within(table, "row")]
    assert {role for role, _ in rows[0]} == {"columnheader"} and all(row[0][0] == "rowheader" for row in rows[1:])
    return named[table][1], [[text for _, text in row] for row in rows]


def sideways(page: Page) -> int:
    """Returns the pixels by which the page is wider than the window, or its content than its part of the window."""
    whole = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
    main = page.locator("[data-testid=stMain]")
    return max(whole, main.evaluate("main => main.scrollWidth - main.clientWidth"))


def resize(page: Page, width: int, height: int = 800) -> None:
    page.set_viewport_size({"width": width, "height": height})
    idle(page)


def type_text(page: Page, text: str, name: str = "Sentence to translate") -> None:
    """Types into a box and presses Enter."""
    box = page.get_by_role("textbox", name=name)
    box.fill(text)
    box.press("Enter")
    idle(page)


def switch(page: Page, name: str) -> None:
    """Flips a switch by its name."""
    page.locator("label", has=page.get_by_role("switch", name=name)).click()
    idle(page)
