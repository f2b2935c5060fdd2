"""Measures the static site in Chromium: python -m benchmarks.static_site [--runs 5] [--weights int8] [--before FOLDER]

It serves the folder with `python -m http.server` and reports medians: from the first byte to the drawn translation on a
slow phone (4 times slower processor, 1.6 Mbit/s, 150 ms latency); until the model is live on the first and the second visit;
a translation of 12 tokens, drawn, beside torch in the same run; and the longest pause of the page meanwhile. `--before` is a
site written earlier, whose first content is measured in turns with that of this one.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from model import Request, analyse, load
from model.checkpoint import find_folder
from tests.browser.conftest import launch
from tests.support.processes import free_port
from viz.offline.site.site_files import site_files

PHONE = {"width": 390, "height": 844}
SLOWER = 4
BYTES_PER_SECOND = 1.6e6 / 8
LATENCY = 150  # ms
IDLE = 1000  # ms before a measured visit
UNDISTURBED = 2500  # ms of a measured visit, in which no question to the page takes its time
WARM = ("A cat.", "I love you.")
SENTENCES = (  # 12 tokens with </s>, each asked once
    "The old man reads his newspaper in the garden.",
    "My little sister plays with her new red ball.",
    "The teacher gave the children a very old book.",
    "We were waiting for the bus in the rain.",
    "They will visit their parents in the summer again.",
    "The dog is sleeping under the big kitchen table.",
    "She has never seen such a beautiful white house.",
    "He wants to buy a new car next year.",
)
FIRST = """() => {
  const [page] = performance.getEntriesByType("navigation"), [drawn] = performance.getEntriesByName("drawn");
  return [drawn.startTime - page.responseStart, page.encodedBodySize];
}"""
LIVE = """() => performance.getEntriesByName("live")[0].startTime"""
WATCH = """() => {
  let last = performance.now();
  globalThis.longest = 0;
  const tick = () => {
    const now = performance.now();
    globalThis.longest = Math.max(globalThis.longest, now - last);
    last = now;
    setTimeout(tick, 4);
  };
  tick();
}"""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serves a folder, and yields its address."""
    port = free_port()
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(folder)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            if (
                subprocess.run(
                    [sys.executable, "-c", f"import socket; socket.create_connection(('127.0.0.1', {port}))"],
                    check=False,
                    stderr=subprocess.DEVNULL,
                ).returncode
                == 0
            ):
                break
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.terminate()
        server.wait()


def wait_for_port(port: int) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return


def first_content(browser: Browser, url: str) -> tuple[float, float]:
    """Returns milliseconds from the first byte to the drawn translation on a slow phone, and the bytes of the page.

    A file of the site is opened before, because the browser first starts a process for each new site.
    """
    page = browser.new_context(viewport=PHONE).new_page()
    page.goto(f"{url}service_worker.js")
    page.wait_for_timeout(IDLE)
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    limits = {
        "offline": False,
        "latency": LATENCY,
        "downloadThroughput": BYTES_PER_SECOND,
        "uploadThroughput": BYTES_PER_SECOND,
    }
    session.send("Network.emulateNetworkConditions", limits)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    page.goto(url, wait_until="commit")
    page.wait_for_timeout(UNDISTURBED)
    page.wait_for_selector("html[data-drawn]", timeout=120_000)
    found = page.evaluate(FIRST)
    page.context.close()
    return found[0], found[1]


def visits(browser: Browser, url: str) -> tuple[float, float]:
    """Returns milliseconds until the model is live on the first visit and on the second one."""
    context, found = browser.new_context(), []
    for _ in range(2):
        page = context.new_page()
        page.goto(url)
        page.wait_for_selector("html[data-live]", timeout=120_000)
        found.append(page.evaluate(LIVE))
        page.close()
    context.close()
    return found[0], found[1]


def translations(page: Page) -> list[tuple[float, float]]:
    """Returns milliseconds of each translation, and the longest time in which the page did not react."""
    found = []
    for text in (*WARM, *SENTENCES):
        page.evaluate(WATCH)
        taken = page.evaluate("(text) => globalThis.attentionLabSite.measure(text)", text)
        found.append((taken, page.evaluate("() => longest")))
    return found[len(WARM) :]


def spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.0f} ms ({min(values):.0f} to {max(values):.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="a site written earlier")
    parser.add_argument("--weights", choices=("float16", "int8"), default="float16")
    args = parser.parse_args()
    checkpoint = load("en-fr")
    torch_times = []
    analyse(checkpoint, Request(WARM[0]))
    for text in SENTENCES:
        begun = time.perf_counter()
        analyse(checkpoint, Request(text))
        torch_times.append(1000 * (time.perf_counter() - begun))
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        for path, content in site_files(checkpoint, find_folder("en-fr"), args.weights).items():
            place = Path(name) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        with served(Path(name)) as url, served(args.before or Path(name)) as former:
            browser = launch(playwright)
            firsts, before = [], []
            for _ in range(args.runs):
                firsts.append(first_content(browser, url))
                if args.before:
                    before.append(first_content(browser, former))
            both = [visits(browser, url) for _ in range(args.runs)]
            page = browser.new_page()
            page.goto(url)
            page.wait_for_selector("html[data-live]", timeout=120_000)
            times = translations(page)
            browser.close()
    print(f"page: {firsts[0][1] / 1e3:.0f} kB; weights: {args.weights}")
    print(f"first content on a slow phone: {spread([ms for ms, _ in firsts])}")
    if before:
        print(f"before: {spread([ms for ms, _ in before])}, {before[0][1] / 1e3:.0f} kB")
    print(f"live, first visit: {spread([ms for ms, _ in both])}; second visit: {spread([ms for _, ms in both])}")
    print(f"12 tokens: {spread([ms for ms, _ in times])}; longest pause of the page: {spread([ms for _, ms in times])}")
    print(f"the same sentences in Python with torch: {spread(torch_times)}")


if __name__ == "__main__":
    main()
