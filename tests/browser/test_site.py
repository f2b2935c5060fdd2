"""The static site in a browser: it translates without a server, keeps what was typed, and says what it lacks."""

import functools
import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, expect

from model import Decoding, Request, analyse
from model.checkpoint import find_folder
from model.experiments.routes import find_route
from model.export.schema import intervention
from model.io import numbers
from tests.browser.conftest import TIMEOUT
from viz.offline.site.site_files import site_files
from viz.state.links import parse

PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 720}
TEXT = "The house that my father built is small."
BOX = "The cat didn't fit in the box because it was too small."
HOSTILE = "<script>alert(1)</script> 😀 the cat"


class Quiet(SimpleHTTPRequestHandler):
    missing = ""  # part of the names that the server does not find
    rest: threading.Event | None = None  # until it is set, the page is sent without the weights of its map

    def do_GET(self) -> None:
        if self.missing and self.missing in self.path:
            self.send_error(503)
        elif self.rest and self.path == "/":
            self.send_page(self.rest)
        else:
            super().do_GET()

    def send_page(self, rest: threading.Event) -> None:
        page = (Path(self.directory) / "index.html").read_bytes()
        cut = page.index(b'id="weights">') + 2000
        self.send_response(200)
        self.end_headers()
        self.wfile.write(page[:cut])
        rest.wait(TIMEOUT / 1000)
        self.wfile.write(page[cut:])

    def log_message(self, *_: object) -> None:
        """Writes no line for each request."""


@pytest.fixture(scope="module")
def site(shipped, tmp_path_factory) -> Iterator[str]:
    """The site behind a plain server of files, and its address."""
    folder = tmp_path_factory.mktemp("site")
    for name, content in site_files(shipped, find_folder("en-fr")).items():
        path: Path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def visit(browser, site) -> Iterator[Callable[..., Page]]:
    """Opens the site in a profile without stored data; fails on an error of a script and on a request to elsewhere."""
    contexts, wrong = [], []

    def opened(query: str = "", size=DESKTOP, script: str = "", live: bool = True) -> Page:
        context = browser.new_context(viewport=size, color_scheme="light")
        context.set_default_timeout(TIMEOUT)
        contexts.append(context)
        if script:
            context.add_init_script(script)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on("request", lambda asked: None if asked.url.startswith(site) else wrong.append(asked.url))
        page.goto(site + query)
        page.locator("html[data-live]" if live else "html[data-drawn]").wait_for(state="attached")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def ask(page: Page, text: str) -> None:
    page.fill("#text", text)
    page.press("#text", "Enter")


def says(page: Page, text: str) -> None:
    """Waits until the page has this translation."""
    page.wait_for_function(
        "text => document.querySelector('.part-timeline').shadowRoot.querySelector('.said').textContent.trim() === text",
        arg=text,
    )


def test_a_visitor_translates_cuts_and_searches(visit, shipped):  # on a phone; the texts and numbers are those of Python
    page = visit(f"?layer=1&head=mean&text={BOX}", size=PHONE)
    plain = analyse(shipped, Request(BOX))
    page.click("#edits [data-focus=head]")
    cut = analyse(shipped, Request(BOX, mode="again", intervention=intervention(["off_cross.1"])))
    assert cut.translation != plain.translation
    says(page, cut.translation)
    assert plain.translation in page.inner_text("#edits")
    page.click("#edits .edit")
    says(page, plain.translation)
    page.fill("#text", TEXT)
    tab = "tabs.querySelector('[data-show=decoding]')"  # an edit and a tab of the awaited sentence
    page.evaluate(f"ask.requestSubmit(); edits.querySelector('[data-focus=head]').click(); {tab}.click()")
    page.locator("#edits .edit").wait_for()
    assert page.locator("#tabs [aria-pressed=true]").get_attribute("data-show") == "decoding"
    page.click("#edits .edit")
    plain = analyse(shipped, Request(TEXT))
    says(page, plain.translation)
    assert numbers.three_digits(plain.log_prob) in page.inner_text(".part-timeline .how")
    page.click("#edits [data-focus=causal]")
    page.locator("#edits .without").wait_for()
    page.click("#edits .edit")
    page.locator("#edits .without").wait_for(state="detached")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.click("#tabs [data-show=decoding]")
    page.click("#decode [data-decode=beam]")
    beam = analyse(shipped, Request(TEXT, decoding=Decoding("beam")))
    says(page, beam.translation)
    page.locator(".part-beam_tree .list .pick").first.wait_for()
    assert page.locator(".part-beam_tree .list .pick").count() == len(beam.tree)
    assert page.evaluate("location.search").count("decode=beam") == 1
    faults = parse(dict(page.evaluate("[...new URLSearchParams(location.search)]")))[1]
    assert faults == ()


def test_a_word_is_forced_and_a_route_is_found(visit, shipped):
    page = visit("?text=She+bought+a+red+car.&step=4&show=route")
    analysis = analyse(shipped, Request("She bought a red car."))
    says(page, analysis.translation)
    page.click("#route .primary")
    page.locator(".part-route .link").first.wait_for()
    order = analysis.trace.log_probs[3].argsort()[::-1]
    route = find_route(shipped, analysis, 3, int(order[0]), int(order[1]))
    assert page.locator(".part-route .link").count() == len(route.links)
    assert f"Completeness {route.completeness:.2f}" in page.inner_text("#route")
    page.fill(".part-candidates [data-focus=typed]", "deux")
    page.press(".part-candidates [data-focus=typed]", "Enter")
    page.locator("#branch button").wait_for()
    assert page.inner_text(".part-timeline .said").startswith("Elle a acheté deux")
    page.click("#branch button")
    says(page, analysis.translation)


def test_bad_input_is_one_sentence_and_nothing_is_lost(visit):
    page = visit("?layer=99&target=Bonjour&edits=patch_enc.2_6&text=A+cat.")
    page.wait_for_function("() => document.getElementById('status').textContent.includes('is unknown here')")
    assert page.input_value("#text") == "A cat."
    for text, told in (("", "There is no sentence yet"), ("word " * 1000, "The limit is 128")):
        ask(page, text)
        page.wait_for_function("told => document.getElementById('status').textContent.includes(told)", arg=told)
        assert page.input_value("#text") == text
    page = visit()
    ask(page, HOSTILE)
    page.wait_for_function("() => new URLSearchParams(location.search).get('text')?.includes('script')")
    assert page.inner_text("#status") == "" and page.input_value("#text") == HOSTILE


@pytest.mark.parametrize(
    ("script", "told"),
    [("delete globalThis.Worker;", "This browser cannot start the model"), ("", "The model did not load")],
)
def test_the_first_sentence_needs_no_model(visit, monkeypatch, script, told):
    monkeypatch.setattr(Quiet, "missing", "" if script else "model/weights")
    page = visit(script=script, live=False)
    assert page.inner_text(".part-timeline .said").startswith("Le chien n'a pas mangé")
    ask(page, TEXT)
    page.wait_for_function("told => document.getElementById('status').textContent.includes(told)", arg=told)
    assert page.input_value("#text") == TEXT
    page.click("#tabs [data-show=attention]")
    page.locator(".part-head_map canvas").first.wait_for()
    if not script:  # the next translation tries again
        monkeypatch.setattr(Quiet, "missing", "")
        ask(page, TEXT)
        page.locator("html[data-live]").wait_for(state="attached")
        says(page, "La maison que mon père a construite est petite.")


def test_the_translation_is_drawn_before_the_map_has_arrived(browser, site, monkeypatch):
    monkeypatch.setattr(Quiet, "rest", threading.Event())
    page = browser.new_context().new_page()
    page.goto(site, wait_until="commit")
    expect(page.locator(".part-timeline .said")).not_to_be_empty()
    expect(page.locator(".part-candidates [data-focus]").first).to_be_visible()
    assert not page.evaluate("document.querySelector('.part-head_map').shadowRoot")
    assert page.locator("html[data-drawn]").count() == 0
    Quiet.rest.set()
    page.locator("html[data-drawn]").wait_for(state="attached")
    expect(page.locator(".part-head_map canvas").first).to_be_visible()
    page.context.close()


def test_a_view_that_did_not_load_is_tried_again(visit, monkeypatch):
    monkeypatch.setattr(Quiet, "missing", "later")
    page = visit("?show=lessons")
    page.click("#later button")
    page.locator("#later button").wait_for()
    assert page.inner_text("#later").startswith("This view did not load. Check the connection")
    page.click("#tabs [data-show=attention]")
    assert page.locator("#later").is_hidden()
    monkeypatch.setattr(Quiet, "missing", "")
    page.click("#tabs [data-show=decoding]")
    page.click("#decode [data-decode=beam]")
    page.locator(".part-beam_tree .list .pick").first.wait_for()
    assert page.locator("#later").is_hidden()


def test_the_second_visit_needs_no_network(visit, shipped):
    page = visit()
    page.wait_for_function("() => navigator.serviceWorker.ready.then(() => true)")
    page.wait_for_function("() => caches.match(new URL('./', location.href)).then(Boolean)")
    page.context.set_offline(True)
    assert not page.evaluate("navigator.onLine")
    page.reload()
    page.locator("html[data-live]").wait_for(state="attached")
    ask(page, TEXT)
    says(page, analyse(shipped, Request(TEXT)).translation)
    page.click("#tabs [data-show=lessons]")
    page.locator("#lessons button").first.wait_for()


def test_back_leads_to_the_sentence_before_a_guess(visit):
    page = visit("?step=77")
    assert page.locator(".part-timeline .timeline").get_attribute("data-step") == "16"
    ask(page, "She bought a red car.")
    says(page, "Elle a acheté une voiture rouge.")
    ask(page, TEXT)
    says(page, "La maison que mon père a construite est petite.")
    page.go_back()
    says(page, "Elle a acheté une voiture rouge.")
    assert page.input_value("#text") == "She bought a red car."
    page.click("text=Predict first")
    page.fill(".part-candidates [data-focus=guess]", "elle")
    page.press(".part-candidates [data-focus=guess]", "Enter")
    page.locator(".part-candidates .verdict").wait_for()


def test_a_refused_storage_changes_nothing(visit, shipped):
    page = visit(script="Object.defineProperty(globalThis, 'caches', { get() { throw new Error('refused'); } });")
    ask(page, TEXT)
    says(page, analyse(shipped, Request(TEXT)).translation)


def test_a_typed_sentence_survives_a_reload(visit, monkeypatch):
    """Also one whose translation waits for the model."""
    monkeypatch.setattr(Quiet, "missing", "model/weights")
    page = visit(live=False)
    page.fill("#text", TEXT)
    page.reload()
    page.locator("html[data-drawn]").wait_for(state="attached")
    assert page.input_value("#text") == TEXT
    page.press("#text", "Enter")
    page.wait_for_function("() => document.getElementById('status').textContent.includes('did not load')")
    monkeypatch.setattr(Quiet, "missing", "")
    page.reload()
    page.locator("html[data-drawn]").wait_for(state="attached")
    says(page, "La maison que mon père a construite est petite.")
    assert page.input_value("#text") == TEXT


def test_a_forced_token_keeps_the_focus_and_a_cut_head_is_marked(visit):
    page = visit("?edits=off_cross.3.2")
    page.locator("#edits .without").wait_for()
    assert ", switched off: 3.2. Arrow keys" in page.locator(".part-head_map canvas").first.get_attribute("aria-label")
    row = page.locator(".part-candidates .row:not(.on)").first
    name = row.get_attribute("data-focus")
    row.focus()
    page.keyboard.press("Enter")
    page.locator("#branch button").wait_for()
    focused = page.evaluate("() => document.activeElement.shadowRoot?.activeElement?.dataset.focus")
    assert focused == name
    assert page.locator(f".part-candidates .row.on[data-focus='{name}']").count() == 1


def test_paper_has_no_buttons_and_no_fields(visit):
    page = visit()
    page.emulate_media(media="print")
    hidden = "#text", "#ask button", "#tabs button", ".part-timeline .btn", ".part-candidates input", ".part-head_map select"
    for part in hidden:
        assert not page.locator(part).first.is_visible(), part
    assert page.locator(".part-candidates .row").first.is_visible()


def test_lessons_are_checked(visit):
    page = visit("?show=lessons")
    page.click("text=Where is the model least sure?")
    verdict = "text => document.querySelector('#lesson .verdict')?.textContent.includes(text)"
    page.wait_for_function(verdict, arg="Step 1 writes")
    trace = page.locator(".part-timeline")
    for _ in range(12):
        if page.evaluate(verdict, "Solved."):
            break
        step = int(trace.locator(".timeline").get_attribute("data-step"))
        trace.locator("button.forward").click()
        page.wait_for_function(verdict, arg=f"Step {step + 1} writes")
    assert page.evaluate(verdict, "Solved.")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_nothing(visit, size):
    page = visit(size=size)
    page.evaluate(AXE_SCRIPT)
    for show in ("attention", "decoding", "route", "lessons"):
        page.click(f"#tabs [data-show={show}]")
        found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
        assert not [(each["id"], [node["html"][:120] for node in each["nodes"]]) for each in found["violations"]]


def test_an_assignment_is_solved(visit):
    page = visit("?assignment=first-contact")
    strip = page.locator(".student-strip")
    strip.get_by_label("Your name").fill("Ada")
    strip.get_by_role("button", name="Begin").click()
    expect(strip.locator(".head")).to_contain_text("Task 1 of 9")
    strip.get_by_role("link", name="6").click()
    expect(strip.locator(".head")).to_contain_text("Make “elle” become “il”")
    page.wait_for_function("() => new URLSearchParams(location.search).get('show') === 'route'")
    page.evaluate("() => history.pushState(null, '', `${location.search}&edits=block_cross_11-12`)")
    page.evaluate("() => dispatchEvent(new PopStateEvent('popstate'))")
    expect(strip.locator(".said")).to_have_text(re.compile(r"✓ Solved\. Measured: 0\.\d+ of “il”\."))
    page.reload()
    expect(strip.locator(".numbers .done")).to_have_count(1)
    strip.get_by_role("link", name="9").click()
    strip.get_by_role("button", name="Finish").click()
    with page.expect_download() as download:
        strip.get_by_role("button", name="Save my result").click()
    result = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert result["student"] == "Ada" and result["answers"]["6"]["view"]["view"]["edits"] == "block_cross_11-12"
    page.goto(page.url.split("?")[0] + "?assignment=~damaged")
    expect(strip).to_contain_text("The assignment in this link is damaged.")
