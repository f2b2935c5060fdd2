"""Tabs of the browser that tests use in turn: what a tab has compiled once, it need not compile for each test."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Error, Page

SIZE = {"width": 1280, "height": 720}
LIGHT = "/_stcore/health"  # of the lab's own origin, without a script


class Tab:
    """A browser profile with one page. `errors` hears what goes wrong in it."""

    def __init__(self, browser: Browser, scripts: tuple[Path, ...], timeout: int, **options) -> None:
        self.context: BrowserContext = browser.new_context(**{"viewport": SIZE} | options)
        self.context.set_default_timeout(timeout)
        for script in scripts:
            self.context.add_init_script(path=script)
        self.page: Page = self.context.new_page()
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: self.errors.append(f"dialog: {dialog.message}"))

    def look(self, viewport: dict = SIZE, color_scheme: str = "light", reduced_motion: str = "no-preference") -> None:
        """Sets the size and the media of the page, which need no new profile."""
        self.page.set_viewport_size(viewport)
        self.page.emulate_media(media="null", color_scheme=color_scheme, reduced_motion=reduced_motion)

    def wipe(self, lab: str) -> None:
        """As a new profile: nothing stored, nothing allowed, no way back. Playwright's Error where the page is gone."""
        for other in self.context.pages:
            if other != self.page:
                other.close()
        self.page.unroute_all(behavior="ignoreErrors")
        self.page.mouse.move(0, 0)
        self.page.goto(lab + LIGHT)
        self.page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        self.context.clear_cookies()
        self.context.clear_permissions()
        tools = self.context.new_cdp_session(self.page)
        tools.send("Page.resetNavigationHistory")
        tools.detach()


class Tabs:
    """Those that are free. `OWN` are the options of a profile that a tab can take on without a new one."""

    OWN = frozenset(("viewport", "color_scheme", "reduced_motion"))

    def __init__(self, browser: Browser, lab: str, script: Path, timeout: int) -> None:
        self.browser, self.lab, self.script, self.timeout = browser, lab, script, timeout
        self.free: list[Tab] = []

    @contextmanager
    def lent(self) -> Iterator["LentTabs"]:
        """For one test: its tabs come back wiped, or are closed."""
        lent = LentTabs(self)
        try:
            yield lent
        finally:
            for tab in lent.new:
                tab.context.close()
            for tab in lent.shared:
                try:
                    tab.wipe(self.lab)
                except Error:  # closed by the test, or crashed
                    tab.context.close()
                else:
                    self.free.append(tab)


class LentTabs:
    """Tabs that one test has taken."""

    def __init__(self, tabs: Tabs) -> None:
        self.tabs, self.new, self.shared = tabs, [], []

    def take(self, scripts: tuple[Path, ...], fresh: bool, **options) -> Tab:
        """A tab of the look that is asked for; a new profile where it must be `fresh` or differs in more than its look."""
        if fresh or scripts or not options.keys() <= Tabs.OWN:
            tab = Tab(self.tabs.browser, (self.tabs.script, *scripts), self.tabs.timeout, **options)
            self.new.append(tab)
            return tab
        tab = self.tabs.free.pop() if self.tabs.free else Tab(self.tabs.browser, (self.tabs.script,), self.tabs.timeout)
        self.shared.append(tab)
        tab.errors.clear()
        tab.look(**options)
        return tab

    def errors(self) -> list[str]:
        return [error for tab in (*self.new, *self.shared) for error in tab.errors]
