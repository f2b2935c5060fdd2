"""Takes the pictures of README.md and docs/ from a running lab: python -m tests.browser.screenshots FOLDER [NAME ...]"""

import io
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from tests.browser.conftest import TIMEOUT, WATCH, idle, launch, start_server, stop

CHANGED = "?kind=cross&scope=layer&mode=again&step=11&edits=block_cross_11-12"
READY = (
    ".timeline .said, .side-by-side canvas, .switchboard canvas, .route .link, .all-heads canvas, .stages h2, "
    ".js-plotly-plot .main-svg, .chart-canvas"
)
VIEWS = {
    "heads-light": ("heads?kind=cross&step=11&layer=3&head=4", "light", 1280, 720),
    "inside-light": ("inside?kind=cross&step=11&layer=3&head=4&stage=4", "light", 1280, 720),
    "lecture-light": ("?step=11&layer=3&head=4&lecture=on", "light", 1280, 720),
    "positions-light": ("positions", "light", 1280, 720),
    "what-if-light": (f"what-if{CHANGED}", "light", 1280, 960),
    "why-light": ("why?step=11", "light", 1280, 780),
    "training-light": ("training?checkpoint=en-fr-learned&trained=1002&kind=encoder&layer=2&head=1", "light", 1280, 960),
    "compare-light": ("compare?kind=cross&step=11&layer=1&head=5", "light", 1280, 840),
    "fill-in-light": ("?checkpoint=bert-mini", "light", 1280, 960),
    "translate-light": ("?step=11&layer=3&head=4", "light", 1280, 720),
    "decoding-light": ("?step=11&show=decoding&decode=beam", "light", 1280, 780),
}


def main(folder: Path, *names: str) -> None:
    """Takes all `VIEWS`, or those with the given names."""
    folder.mkdir(parents=True, exist_ok=True)
    server, url = start_server()
    try:
        with sync_playwright() as playwright:
            browser = launch(playwright)
            for name in names or VIEWS:
                query, scheme, width, height = VIEWS[name]
                page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
                page.add_init_script(path=WATCH)
                page.goto(url + "/" + query)
                page.locator(READY).first.wait_for(timeout=TIMEOUT)
                idle(page)
                picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
                picture.quantize(256, dither=Image.Dither.NONE).save(folder / f"{name}.png", optimize=True)
                page.close()
            browser.close()
    finally:
        stop(server)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
