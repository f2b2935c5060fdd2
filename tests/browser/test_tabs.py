"""A tab that a test has used is as a new one for the next: else tests would depend on those before them."""

from __future__ import annotations

from tests.browser.conftest import WATCH
from tests.browser.tabs import LIGHT

KEPT = """() => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  return [localStorage.length, sessionStorage.length, document.cookie.includes("kept"), dark];
}"""


def test_a_tab_keeps_nothing_of_the_test_before(lab, tabs):
    with tabs.lent() as lent:
        used = lent.take((), False, color_scheme="dark", viewport={"width": 390, "height": 800})
        for _ in range(2):
            used.page.goto(lab + LIGHT)
        used.page.evaluate("() => { localStorage.a = sessionStorage.a = document.cookie = 'kept=yes'; }")
        used.page.route("**/*", lambda route: route.abort())
        used.context.new_page()
        used.errors.append("of this test")
        assert lent.errors() == ["of this test"]
        assert used.page.evaluate(KEPT) == [1, 1, True, True]
        assert lent.take((), False) is not used, "one test never has a tab twice"
        assert lent.take((WATCH,), False) not in lent.shared
    with tabs.lent() as lent:
        again = [lent.take((), False), lent.take((), False)]
        assert used in again and lent.errors() == []
        assert used.page.go_back() is None and used.context.pages == [used.page]
        used.page.goto(lab + LIGHT)
        assert used.page.evaluate(KEPT) == [0, 0, False, False]
        assert used.page.viewport_size == {"width": 1280, "height": 720}
