"""Homework in a browser: an author's view becomes a task, a student solves it, and a reload keeps the answers."""

import json
import re

from playwright.sync_api import expect

from tests.browser.conftest import go, idle, link, query, sideways
from viz.homework.assignment import ready_assignments, unpack

CUT = "why?mode=again&step=11&edits=block_cross_11-12"
FIRST = ready_assignments()["first-contact"]


def test_a_view_becomes_a_task_that_a_student_solves(visit):
    page = visit("lessons?learn=homework", ready=".assignment-list")
    page.get_by_role("button", name="Make an assignment").click()
    author = page.locator(".author-strip")
    author.locator(".title").fill("Mine")
    page.get_by_role("link", name="Why").click()  # the typed title comes along
    page.locator(".route .link").first.wait_for()
    expect(author.locator(".title")).to_have_value("Mine")
    idle(page)
    kept = f"&learn=homework&author=on&assignment={query(page)['assignment']}"
    go(page, f"why?mode=again&step=11{kept}", ".route .link")
    author.get_by_role("button", name="Fold").click()
    assert author.bounding_box()["height"] < 60
    author.get_by_role("button", name="Take this view as the start").click()
    idle(page)
    go(page, CUT + kept, ".route .link")
    author.get_by_role("button", name="Unfold").click()
    author.locator(".question").fill("Make <b>elle</b> become il.")
    author.get_by_role("button", name="Take this view as the solution").click()
    idle(page)
    author.get_by_label("Allow at most 1 blocked cell").check()
    author.get_by_role("button", name="Add this task").click()
    expect(author.locator(".message")).to_contain_text("Stored")
    (task,) = unpack(query(page)["assignment"]).tasks
    assert (task.question, task.max_edits, task.edit_kind) == ("Make <b>elle</b> become il.", 1, "block")
    author.get_by_role("button", name="Preview as student").click()
    student = page.locator(".student-strip")
    student.get_by_role("button", name="Begin").click()
    expect(student.locator(".head")).to_contain_text("Make <b>elle</b> become il.")
    idle(page)
    assert query(page).get("edits") is None and student.locator("b b").count() == 0
    go(page, f"{CUT}&task=1&assignment={query(page)['assignment']}", ".route .link")
    expect(student.locator(".said")).to_contain_text(re.compile(r"✓ Solved\. Measured: 0\.\d+ of “il”"))


def test_answers_stay_until_they_are_saved(visit):
    page = visit("lessons?learn=homework&assignment=first-contact", ready=".student-strip")
    other = page.context.new_page()  # a second tab, which keeps what the first one stores, also while it sees an older state
    other.goto(page.url)
    other.locator(".student-strip .name").wait_for()
    other.evaluate("const old = { ...localStorage }; Storage.prototype.getItem = (key) => old[key] ?? null")
    strip = page.locator(".student-strip")
    strip.get_by_label("Your name").fill("Zoé <script>")
    strip.get_by_role("button", name="Begin").click()
    strip.get_by_role("button", name="Answer").click()
    expect(strip.locator(".said")).to_have_text("Choose an option first.")
    strip.get_by_label("Attention passes").check()
    expect(strip.locator(".said")).to_contain_text("Say how sure you are")
    expect(strip.locator(".numbers .done")).to_have_count(1)
    strip.get_by_role("button", name="Answer").click()
    expect(strip.locator(".said")).to_have_text("How sure are you? Choose one.")
    strip.get_by_label("fairly sure").check()
    strip.get_by_role("button", name="Answer").click()
    expect(strip.locator(".said")).to_have_text("Stored in this browser.")
    other.locator(".student-strip .name").fill("Zoé <script>")
    other.close()
    strip.get_by_role("link", name="4").click()
    strip.get_by_label("Your prediction").fill("0,8")
    strip.get_by_label("not sure").check()
    strip.get_by_role("button", name="Predict").click()
    expect(strip.locator(".said")).to_contain_text("Measured: 0.8")
    expect(strip.locator(".numbers .done.solved")).to_have_count(int("Right" in strip.locator(".said").inner_text()))
    strip.get_by_role("button", name="Show it").click()
    expect(page.locator(".pair")).to_contain_text("elle")
    idle(page)
    assert query(page)["task"] == "4" and link(page)
    page.reload()
    expect(strip.locator(".numbers .done")).to_have_count(2)
    expect(strip.get_by_label("Your prediction")).to_have_value("0.8")
    page.set_viewport_size({"width": 390, "height": 844})
    idle(page)
    assert sideways(page) <= 0
    strip.get_by_role("link", name="9").click()
    strip.get_by_role("button", name="Finish").click()
    expect(strip.get_by_label("Your name")).to_have_value("Zoé <script>")
    with page.expect_download() as download:
        strip.get_by_role("button", name="Save my result").click()
    assert download.value.suggested_filename == "first-contact_zoé-script.json"
    result = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert (result["assignment"], result["student"]) == (FIRST.id, "Zoé <script>")
    assert {number: answer["confidence"] for number, answer in result["answers"].items()} == {"1": 2, "4": 1}
    assert result["answers"]["1"]["choice"] == 2 and result["answers"]["4"]["number"] == 0.8
