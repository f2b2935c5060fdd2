"""Pictures of every page, light and dark, from a running lab: python -m tests.browser.screenshots FOLDER [NAME ...]"""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import sync_playwright

from tests.browser.conftest import TIMEOUT, WATCH, idle, launch, start_server, stop

CHANGED = "?kind=encoder&scope=layer&mode=again&step=11&edits=block_enc_9-12"
OWN = "Le chien n'a pas traversé la route car il était timide."
TWICE = "The dog sees the dog."
ASKED = "localStorage.setItem('attention-lab-tour', 'offered')"  # who has been here before is not offered the tour
READY = (
    ".lab-designs, .lab-variants-none, "
    ".timeline .said, .lesson-list, .tokens .pieces, .side-by-side canvas, "
    ".switchboard canvas, .sum .bar, .all-heads canvas, .stages h2, .blueprint svg, .js-plotly-plot .main-svg"
)
VIEWS = {
    "heads-light": ("heads?kind=cross&step=11&layer=3&head=3", "light", 1280, 720),
    "heads-dark": ("heads?kind=encoder&order=similarity&layer=2&head=3&words=merged", "dark", 1280, 720),
    "heads-phone": ("heads?kind=cross&step=11&layer=3&head=3", "light", 390, 2000),
    "heads-together": ("heads?kind=cross&step=11&layer=3&head=3&sites=all", "light", 1280, 720),
    "inside-light": ("inside?kind=cross&step=11&layer=3&head=3&stage=4", "light", 1280, 720),
    "inside-dark": ("inside?kind=decoder&step=6&layer=3&head=2&stage=6", "dark", 1280, 760),
    "inside-phone": ("inside?kind=cross&step=11&layer=3&head=3&stage=7", "light", 390, 1100),
    "map-light": ("inside?part=map&kind=cross&step=11&layer=4", "light", 1280, 720),
    "map-dark": ("inside?part=map&kind=encoder&step=11&layer=4", "dark", 1280, 720),
    "scale-light": ("inside?part=scale&kind=cross&layer=3&head=3&step=11", "light", 1280, 720),
    "lens-light": ("inside?part=lens&step=11", "light", 1280, 720),
    "lens-dark": ("inside?part=lens&step=11", "dark", 1280, 720),
    "tokens-light": ("inside?part=tokens&cut_text=unconstitutionally&cut=typed", "light", 1280, 720),
    "lecture-light": ("?step=11&lecture=on", "light", 1280, 720),
    "lecture-dark": ("heads?layer=3&head=2&lecture=on", "dark", 1280, 720),
    "lessons-light": ("lessons", "light", 1280, 720),
    "heads-find": ("heads?find=encoder_9_2&layer=3&head=2&kind=encoder", "light", 1280, 720),
    "embeddings-light": ("inside?part=embeddings&step=11", "light", 1280, 740),
    "positions-light": ("positions", "light", 1280, 720),
    "positions-dark": ("positions?scheme=learned", "dark", 1280, 740),
    "positions-rotary": ("positions?scheme=rotary", "light", 1280, 720),
    "positions-sentence": (f"positions?text={quote(TWICE)}", "light", 1280, 1640),
    "positions-phone": ("positions", "light", 390, 1640),
    "what-if-light": (f"what-if{CHANGED}", "light", 1280, 960),
    "what-if-dark": ("what-if?try=order", "dark", 1280, 960),
    "what-if-phone": (f"what-if{CHANGED}", "light", 390, 1640),
    "why-light": ("why?step=11&kind=decoder&layer=4&head=1", "light", 1280, 780),
    "training-light": ("training?checkpoint=en-fr-learned&trained=1002&kind=encoder&layer=2&head=1", "light", 1280, 960),
    "training-dark": ("training?checkpoint=en-fr-learned&trained=4935&kind=encoder&layer=2&head=1", "dark", 1280, 960),
    "compare-light": ("compare?kind=cross&step=12&layer=3&head=2", "light", 1280, 840),
    "compare-dark": ("compare?differs=checkpoint&kind=cross&step=11", "dark", 1280, 940),
    "compare-phone": ("compare?kind=cross&step=12&layer=3&head=2", "light", 390, 2200),
    "variants-light": ("variants", "light", 1280, 960),
    "variants-sentence": ("variants?about=maps", "dark", 1280, 760),
    "fill-in-light": ("?checkpoint=bert-mini", "light", 1280, 960),
    "continue-light": ("?checkpoint=gpt-mini", "light", 1280, 960),
    "judge-light": ("?checkpoint=sentiment-bert", "light", 1280, 960),
    "translate-light": ("?step=11&layer=3&head=3", "light", 1280, 720),
    "translate-dark": ("?step=11&layer=3&head=3&causal=off", "dark", 1280, 720),
    "translate-edit": ("?step=11&layer=3&head=3&causal=off", "light", 1280, 1040),
    "translate-phone": ("?step=11&layer=3&head=3", "light", 390, 1640),
    "decoding-light": ("?step=11&show=decoding&decode=beam", "light", 1280, 780),
    "decoding-dark": ("?step=11&show=decoding&decode=beam&width=8", "dark", 1280, 960),
    "decoding-sample": ("?step=11&show=decoding&decode=sample&temperature=0.9&top_p=0.9&seed=4", "light", 1280, 780),
    "decoding-yours": (f"?step=8&show=decoding&rows=training&target={quote(OWN)}", "light", 1280, 780),
    "decoding-phone": ("?step=11&show=decoding&decode=beam", "light", 390, 2000),
}


def main(folder: Path, *names: str) -> None:
    """All of `VIEWS`, or those of some names."""
    folder.mkdir(parents=True, exist_ok=True)
    server, url = start_server()
    try:
        with sync_playwright() as playwright:
            browser = launch(playwright)
            for name in names or VIEWS:
                query, scheme, width, height = VIEWS[name]
                page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
                page.add_init_script(path=WATCH)
                page.add_init_script(ASKED)
                page.goto(url + "/" + query)
                page.locator(READY).first.wait_for(timeout=TIMEOUT)
                idle(page)
                page.screenshot(path=folder / f"{name}.png")
                page.close()
            browser.close()
    finally:
        stop(server)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
