"""A checkpoint brought as a zip, in a real Chromium: a bad one is told, a good one is shown, and nobody else sees it."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

from playwright.sync_api import expect

from model import checkpoint as checkpoints
from model.text.tokenizer import Tokenizer
from tests.browser.conftest import idle, query
from tests.support import tiny


def packed(folder: Path) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as out:
        for path in folder.iterdir():
            out.write(path, f"fox/{path.name}")
    return made.getvalue()


def test_a_zip_is_refused_with_a_sentence_or_shown_to_its_session_alone(visit, tmp_path):
    made = tiny.checkpoint(Tokenizer.train(tiny.SENTENCES, 300))
    object.__setattr__(made, "languages", ("Foxish", "Lampish"))
    checkpoints.save(made, tmp_path)
    whole = packed(tmp_path)
    page = visit()
    page.get_by_role("button", name="Bring your own").click()
    box = page.locator("input[type=file]")
    for name, content, told in (
        ("half.zip", whole[:-100], "half.zip begins as a zip and has no end: half a download? Get it again."),
        ("fox.zip", whole.replace(b'"schema": 1', b'"schema": 7'), "fox.zip holds a damaged config.json"),
    ):
        box.set_input_files({"name": name, "mimeType": "application/zip", "buffer": content})
        expect(page.locator(".lab-fault")).to_contain_text(told)
        idle(page)
    assert "checkpoint" not in query(page)
    box.set_input_files({"name": "fox.zip", "mimeType": "application/zip", "buffer": whole})
    expect(page.get_by_role("heading", name="Foxish")).to_be_visible()
    idle(page)
    name = query(page)["checkpoint"]
    assert re.fullmatch(r"fox \(zip [0-9a-f]{12}\)", name)
    expect(page.locator(".lab-fault")).to_have_count(0)
    expect(page.get_by_text("Whoever opens your link has to bring the same zip there.")).to_be_visible()
    other = visit(f"?checkpoint={name}", ready=".lab-fault")
    expect(other.locator(".lab-fault")).to_contain_text("Bring the same zip here")
