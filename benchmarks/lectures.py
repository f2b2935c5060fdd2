"""The ready lectures, walked stop by stop in a browser:  python -m benchmarks.lectures [TALK ...] [--pictures FOLDER]

The lab runs on this machine. A Chromium of 1280 x 720 pixels opens each talk in lecture mode and presses Page Down, the key
of a clicker. A stop's machine time is the time from the key until nothing is under way: no run of the app, no drawing, and
no part of the page that is still to come. The walk presses the next key at once. In a lecture the lab computes the next
stop while the lecturer speaks, so a lecturer waits for this time at most. Talks share the lab's caches.

The time of the lecturer and of the class follows from the texts, by the rules of `viz/classroom/talk_time.py`: line and
notes are said at 130 words a minute, and each question to the class takes 30 seconds (a prediction with votes 60 seconds,
a task the minutes that its line states).
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from benchmarks.visitors import lab
from tests.browser.conftest import TIMEOUT, WATCH, idle, launch
from viz.classroom import talk_time
from viz.classroom.talk import READY, Talk, ready_talks

SIZE = {"width": 1280, "height": 720}
# Milliseconds from the key until nothing is under way, in three frames in a row. The timer that sends an unanswered stop
# again draws nothing.
COMPLETE = """([place, again, limit]) => new Promise((resolve, reject) => {
  const end = performance.now() + limit;
  let calm = 0, first = 0;
  const look = () => {
    const busy = lab.under_way().some((each) => !each.startsWith(again));
    const shown = attentionLabRoots.get("talk_strip")?.querySelector(".place")?.textContent.trim();
    if (busy || shown !== place) calm = 0;
    else if ((calm += 1) === 1) first = performance.now();
    if (calm >= 3) resolve(first - lab.pressed);
    else if (performance.now() < end) requestAnimationFrame(look);
    else reject(new Error(`${shown} instead of ${place}: ${lab.under_way()}`));
  };
  look();
})"""
PRESSED = (
    """addEventListener("keydown", () => { lab.pressed = performance.now(); }, true);"""  # before any script of the page
)
AGAIN = "a timer of 1000 ms"

FORMAT = "{:<30} {:>5} {:>8} {:>8} {:>6} {:>9} {:>9} {:>8} {:>11}"
COLUMNS = ("lecture", "stops", "median s", "most s", "words", "speaking", "questions", "total", "advertised")


def walk_talk(browser: Browser, url: str, name: str, talk: Talk, pictures: Path | None) -> list[float]:
    """Returns the machine seconds of each stop. Raises RuntimeError for a stop with a fault."""
    context = browser.new_context(viewport=SIZE)
    context.set_default_timeout(TIMEOUT)
    context.add_init_script(path=WATCH)
    context.add_init_script(PRESSED)
    page = context.new_page()
    page.goto(f"{url}/?talk={name}&lecture=on")
    page.locator(".talk-strip .place").wait_for()
    idle(page)
    seconds = []
    for number in range(1, len(talk.stops) + 1):
        page.keyboard.press("PageDown")
        seconds.append(page.evaluate(COMPLETE, [f"{number} of {len(talk.stops)}", AGAIN, TIMEOUT]) / 1000)
        if faults := page.locator(".talk-strip .fault").all_inner_texts():
            raise RuntimeError(f"{name} {number}: {' '.join(faults)}")
        idle(page)
        if pictures:
            page.screenshot(path=pictures / f"{name}-{number:02}.png")
    context.close()
    return seconds


def row_of(talk: Talk, seconds: list[float]) -> tuple[str, ...]:
    """Returns the cells of a talk: counts, seconds of a stop, and minutes of the talk."""
    planned, advertised = talk_time.total_time(talk), talk_time.advertised_minutes(talk)
    total = (planned.seconds + sum(seconds)) / 60
    title = "none" if advertised is None else f"{advertised} ({total / advertised:.0%})"
    minutes = [f"{value:.1f}" for value in (planned.speaking_seconds / 60, planned.class_seconds / 60, total)]
    machine = [f"{value:.2f}" for value in (statistics.median(seconds), max(seconds))]
    return (talk.title, str(len(talk.stops)), *machine, str(planned.words), *minutes, title)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "talks", nargs="*", choices=[*READY, []], metavar="TALK", help=f"of {', '.join(READY)}; default: all"
    )
    parser.add_argument("--pictures", type=Path, help="folder for a picture of each stop")
    options = parser.parse_args()
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    print(f"Assumed: {talk_time.WORDS_A_MINUTE} words a minute for lines and notes, {talk_time.QUESTION_SECONDS} s for")
    print(f"a question, {talk_time.PREDICTION_SECONDS} s for a prediction with votes, and the stated minutes of each task.")
    print("Speaking, questions, total and advertised are in minutes. The total includes the machine.\n")
    print(FORMAT.format(*COLUMNS), flush=True)
    slowest = []
    with lab(HOST="127.0.0.1") as (port, _), sync_playwright() as playwright:
        browser = launch(playwright)
        for name in options.talks or READY:
            talk = ready_talks()[name]
            seconds = walk_talk(browser, f"http://127.0.0.1:{port}", name, talk, options.pictures)
            print(FORMAT.format(*row_of(talk, seconds)), flush=True)
            slowest.append((max(seconds), name, 1 + seconds.index(max(seconds))))
        browser.close()
    worst, name, number = max(slowest)
    print(f"\nSlowest stop: {name} {number}, {worst:.2f} s.")


if __name__ == "__main__":
    main()
