"""The numbers of a view leave the page as files, and as lines on the clipboard."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from model.export import read
from model.export.checks import parse
from tests.browser.conftest import TIMEOUT, idle

NAME = "attention-en-fr-cross-l3-h2-step1-the-red-fox-sleeps"


def test_the_numbers_of_a_view_are_saved_and_copied(visit):
    page = visit("heads?text=The+red+fox+sleeps.&kind=cross&layer=3&head=2", ready=".all-heads canvas")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".st-key-save button").first.click()
    page.locator(".save .offer").first.wait_for()
    idle(page)

    def had(label: str) -> tuple[str, bytes]:
        with page.expect_download(timeout=TIMEOUT) as download:
            page.locator(".save .offer", has_text=label).click()
        return download.value.suggested_filename, Path(download.value.path()).read_bytes()

    name, content = had("CSV")
    assert name == f"{NAME}.zip"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.namelist() == ["weights-cross-3-2.csv", "heads.csv"]
    name, content = had("npz")
    assert (name, read(content).request.source) == (f"{NAME}.npz", "The red fox sleeps.")
    page.locator(".save .offer", has_text="Checks").click()
    page.locator(".save .told", has_text="Copied.").wait_for()
    said = parse(page.evaluate("navigator.clipboard.readText()"))
    assert {check.kind.name for check in said} >= {"translation", "weight", "later"}
