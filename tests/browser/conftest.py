"""A running lab and a real Chromium, started once for all browser tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent.parent
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT = 30_000  # ms


def start_server() -> tuple[subprocess.Popen, str]:
    """The lab on a free port of 127.0.0.1, once it answers, and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "viz.server", "--port", str(port)]
    server = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "HOST": "127.0.0.1"})
    url = f"http://127.0.0.1:{port}"
    for _ in range(240):
        assert server.poll() is None, f"the server ended with status {server.returncode}"
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1):
                return server, url
        except OSError:
            time.sleep(0.25)
    server.terminate()
    raise AssertionError("the server did not answer within a minute")


def launch(playwright) -> Browser:
    """The system's Chromium where there is one, else Playwright's own."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    return playwright.chromium.launch(executable_path=path, headless=True, args=FLAGS)


@pytest.fixture(scope="session")
def lab() -> Iterator[str]:
    server, url = start_server()
    yield url
    server.terminate()
    server.wait(10)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = launch(playwright)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(lab: str, browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a query in a fresh browser profile, waits for the translation, and fails on any error of the page's scripts."""
    contexts, errors = [], []

    def opened(query: str = "", *, wait: bool = True, **options) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 720}} | options)
        context.set_default_timeout(TIMEOUT)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: errors.append(f"dialog: {dialog.message}"))
        page.goto(lab + "/" + query)
        if wait:
            page.locator(".timeline .said").wait_for()
            idle(page)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert errors == []


def idle(page: Page) -> None:
    """Waits until the server has finished its run and the browser has drawn it."""
    page.wait_for_function("() => !document.querySelector('[data-testid=stStatusWidget],[data-stale=true]')")
    page.wait_for_timeout(150)
    page.wait_for_function("() => !document.querySelector('[data-testid=stStatusWidget],[data-stale=true]')")


def translation(page: Page) -> str:
    return page.locator(".timeline .said").inner_text().strip()


def type_sentence(page: Page, text: str) -> None:
    """Types into the box and presses Enter."""
    box = page.get_by_role("textbox", name="Sentence to translate")
    box.fill(text)
    box.press("Enter")
    page.wait_for_timeout(400)
    idle(page)


def switch(page: Page, name: str) -> None:
    """Flips a switch by its name."""
    page.locator("label", has=page.get_by_role("switch", name=name)).click()
    page.wait_for_timeout(400)
    idle(page)
