"""A picture of the notebook as it runs: python -m tests.browser.notebook_picture FILE.png"""

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from playwright.sync_api import sync_playwright

from tests.browser.conftest import ROOT, TIMEOUT, launch

TOUR = ROOT / "docs" / "notebook.ipynb"
WIDTH, HEIGHT = 1180, 1170  # px
SHOWN = "show(analysis"  # the cell that stands at the top of the picture
AIR = 76  # px above it


def main(file: Path) -> None:
    tour = nbformat.read(TOUR, as_version=4)
    NotebookClient(tour, timeout=600, resources={"metadata": {"path": str(TOUR.parent)}}).execute()
    tour.cells = [cell for cell in tour.cells if "attention_map" not in cell.source]  # its chart is fetched from elsewhere
    body, _ = HTMLExporter(template_name="lab").from_notebook_node(tour)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "notebook.html"
        page_file.write_text(body, encoding="utf-8")
        browser = launch(playwright)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.route(lambda url: not url.startswith("file:"), lambda route: route.abort())
        page.goto(page_file.as_uri())
        page.frame_locator("iframe").first.locator("html[data-drawn]").wait_for(state="attached", timeout=TIMEOUT)
        cell = page.locator(".jp-CodeCell", has_text=SHOWN).first
        top = cell.evaluate("cell => cell.getBoundingClientRect().top + scrollY")
        page.evaluate("top => scrollTo(0, top)", top - AIR)
        page.screenshot(path=file)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
