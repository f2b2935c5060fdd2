"""Whether what is drawn can be seen."""

from tests.browser.conftest import resize

# The sum of all shifts that follow from no click: 0 where the observer has none to tell.
SHIFTED = """() => new Promise((told) => {
  const sum = (list) => list.reduce((all, { value, hadRecentInput }) => all + (hadRecentInput ? 0 : value), 0);
  const moved = (list) => list.flatMap(({ value, sources }) => sources.map(({ node, previousRect: a, currentRect: b }) =>
    `${value.toFixed(3)} ${node?.className} ${[a.x, a.y, a.height]} ${[b.x, b.y, b.height]}`));
  const tell = (list) => told([sum(list), moved(list).join("\\n")]);
  new PerformanceObserver((list) => tell(list.getEntries())).observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => told([0, ""])));
})"""


PAGES = (
    ("", ".timeline .said"),
    ("heads", ".all-heads canvas"),
    ("inside?part=scale", ".xtick text"),
    ("positions", ".st-key-pe_grid .heatmaplayer image"),
    ("what-if", ".switchboard canvas"),
)


def test_the_sidebar_of_a_phone_covers_the_page(visit):
    page = visit("lessons", ready="h1", fresh=True, viewport={"width": 390, "height": 844})
    shifted, what = page.evaluate(SHIFTED)
    assert shifted < 0.1, what  # under 0.01; 0.25 where it stands beside the page before it folds
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("link", name="Inside").click()
    page.get_by_test_id("stExpandSidebarButton").wait_for()  # it goes once a page is chosen


def test_nothing_jumps_while_a_page_loads(visit):
    for where, ready in PAGES:
        page = visit(where, ready=ready, fresh=True)
        shifted, what = page.evaluate(SHIFTED)
        assert shifted < 0.1, f"{where}\n{what}"  # 0.01 to 0.07 alone; a place of the wrong size gives 0.35 and more
        resize(page, 1920, 1080)
        body = page.locator("[data-testid=stMainBlockContainer]").bounding_box()
        assert body["width"] > 0.95 * (1920 - 208), where
        page.context.close()
