"""A lecture hall that follows, on this machine:  python -m benchmarks.rooms [--followers 150] [--seconds 60] [--redis URL]

The lecturer steps twice a second and runs a page every other second, alone and then with followers on streams of events: how
long until each follower has the step, and what the lecturer's own requests take with them against without. Then the view
changes: how long until each has the new document. Then the class is asked: what the votes take, and how long until each
follower has the answer. The driver shares the processors with the server; it says what it took.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from benchmarks.visitors import Visitor, lab, processor_seconds, quantiles, query_of, sentences

STEP = 0.5  # s between two steps of the lecturer
RUNS = 4  # steps between two runs of the lecturer's page
CHANGES = 6  # of the view
QUESTIONS = 3
VOTING = 5.0  # s in which all followers vote
GOAL = 1.0  # s until 95 of 100 have a step


async def fetch(port: int, method: str, path: str, payload: dict | None = None, secret: str = "") -> bytes:
    """Returns the body of an answer. Raises OSError for a refusal."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    body = b"" if payload is None else json.dumps(payload).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAccept-Encoding: gzip\r\n"
    head += f"Authorization: Bearer {secret}\r\n" if secret else ""
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if payload is not None else ""
    try:
        writer.write(f"{head}\r\n".encode() + body)
        answer = await reader.read()
    finally:
        writer.close()
    status, _, rest = answer.partition(b"\r\n")
    if not status.split()[1].startswith(b"2"):
        raise OSError(f"{path}: {status.decode()}")
    return rest.partition(b"\r\n\r\n")[2]


@dataclass
class LectureRoom:
    """A room with its followers, and the times at which each follower received each move."""

    port: int
    code: str
    secret: str
    sent_at: dict[str, float] = field(default_factory=dict)  # when the lecturer sent an address
    delays: list[float] = field(default_factory=list)
    pages: list[float] = field(default_factory=list)  # the same for a document, once it has arrived whole
    lost: list[str] = field(default_factory=list)
    received: int = 0
    answers: list[float] = field(default_factory=list)  # the same for the answer of a question
    revealed_at: dict[int, float] = field(default_factory=dict)  # by the question's number
    wants_pages = False

    @classmethod
    async def open(cls, port: int) -> LectureRoom:
        room = json.loads(await fetch(port, "POST", "/rooms", {"address": "/"}))
        return cls(port, room["code"], room["secret"])

    async def follow(self) -> None:
        """One browser: hears of each move, and fetches the document of each new view."""
        answered: set[int] = set()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(f"GET /rooms/{self.code}/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            async for line in reader:
                if line.startswith(b"data: "):
                    await self._hear(json.loads(line[6:]), answered)
        except (OSError, ValueError) as fault:
            self.lost.append(repr(fault))

    async def _hear(self, news: dict[str, Any], answered: set[int]) -> None:
        address, question = news["address"], news["question"]
        if question and "answer" in question and question["number"] not in answered:
            answered.add(question["number"])
            self.answers.append(time.perf_counter() - self.revealed_at[question["number"]])
            return
        if question or address not in self.sent_at:
            return
        self.delays.append(time.perf_counter() - self.sent_at[address])
        if self.wants_pages:
            page = await fetch(self.port, "GET", f"/rooms/{self.code}/page")
            self.received += len(page)
            self.pages.append(time.perf_counter() - self.sent_at[address])

    async def show(self, address: str) -> float:
        """Seconds that the lecturer's request took."""
        self.sent_at[address] = start = time.perf_counter()
        await fetch(self.port, "POST", f"/rooms/{self.code}/show", {"address": address}, self.secret)
        return time.perf_counter() - start


async def run_lecture(hall: LectureRoom, seconds: float) -> tuple[list[float], list[float]]:
    """Returns the seconds of the lecturer's requests, and of the runs of the page."""
    posts, runs = [], []
    async with Visitor(hall.port) as lecturer:
        await lecturer.run()
        for n in range(round(seconds / STEP)):
            due = time.perf_counter() + STEP
            if n % RUNS == 0:
                runs.append(await lecturer.run(f"layer={n // RUNS % 4 + 1}&head={n // RUNS % 8 + 1}", "heads"))
            posts.append(await hall.show(f"/heads?step={n % 10 + 1}&n={len(hall.sent_at)}"))
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
    return posts, runs


async def change_views(hall: LectureRoom, source: Iterator[str], followers: int) -> None:
    """Shows new sentences, each after all followers have the document of the one before."""
    hall.wants_pages = True
    async with Visitor(hall.port) as lecturer:
        for n in range(CHANGES):
            query = query_of(next(source))
            await lecturer.run(query, "heads")
            await hall.show(f"/heads?{query}")
            while len(hall.pages) < (n + 1) * followers and not hall.lost:
                await asyncio.sleep(0.01)


async def ask_class(hall: LectureRoom, followers: int) -> list[float]:
    """Asks questions on which all followers vote, and reveals each answer. Returns the seconds of the votes."""
    taken: list[float] = []

    async def vote(n: int, number: int) -> None:
        await asyncio.sleep(n / followers * VOTING)
        start, choice = time.perf_counter(), {"word": ("il", "elle")[n % 2], "sure": n % 3 + 1}
        await fetch(hall.port, "POST", f"/rooms/{hall.code}/vote", {"voter": f"follower-{n}", "number": number, **choice})
        taken.append(time.perf_counter() - start)

    for number in range(1, QUESTIONS + 1):
        question = {"kind": "choice", "text": "Which word comes next?", "options": ["il", "elle"]}
        await fetch(hall.port, "POST", f"/rooms/{hall.code}/ask", question, hall.secret)
        await asyncio.gather(*(vote(n, number) for n in range(followers)))
        hall.revealed_at[number] = time.perf_counter()
        await fetch(hall.port, "POST", f"/rooms/{hall.code}/reveal", {"answer": "il"}, hall.secret)
        while len(hall.answers) < number * followers and not hall.lost:
            await asyncio.sleep(0.01)
    return taken


async def measure(port: int, process: int, followers: int, seconds: float) -> bool:
    """Prints the results. Returns False where a follower was lost, or the goal is missed."""
    await run_lecture(await LectureRoom.open(port), RUNS * STEP)  # warm-up
    alone, alone_runs = await run_lecture(await LectureRoom.open(port), seconds / 2)
    hall = await LectureRoom.open(port)
    joining = time.perf_counter()
    following = [asyncio.create_task(hall.follow()) for _ in range(followers)]
    while await present(hall) < followers:
        await asyncio.sleep(0.1)
    print(f"{followers} join at once: all are there after {time.perf_counter() - joining:.1f} s")
    before, driver, start = processor_seconds(process), time.process_time(), time.monotonic()
    posts, runs = await run_lecture(hall, seconds)
    took, drove, elapsed = processor_seconds(process) - before, time.process_time() - driver, time.monotonic() - start
    await asyncio.sleep(2 * STEP)
    steps, expected = list(hall.delays), len(posts) * followers
    print(f"{followers} follow, {len(posts)} steps in {elapsed:.0f} s: {len(steps):,} of {expected:,} came, {spread(steps)}")
    print(f"the lecturer's steps: alone {quantiles(alone)}; followed {quantiles(posts)}; {ratio(posts, alone)} times")
    print(
        f"the lecturer's runs:  alone {quantiles(alone_runs)}; followed {quantiles(runs)}; {ratio(runs, alone_runs)} times"
    )
    print(f"the server took {took:.1f} s of its processor, the driver {drove:.1f} s")
    before, driver = processor_seconds(process), time.process_time()
    await change_views(hall, sentences(3), followers)
    took, drove = processor_seconds(process) - before, time.process_time() - driver
    print(f"{CHANGES} new views, {hall.received / max(1, len(hall.pages)) / 1000:.0f} kB each: {spread(hall.pages)}")
    print(f"the server took {took:.1f} s of its processor, the driver {drove:.1f} s")
    before, driver = processor_seconds(process), time.process_time()
    votes = await ask_class(hall, followers)
    took, drove = processor_seconds(process) - before, time.process_time() - driver
    print(
        f"{QUESTIONS} questions, {len(votes):,} votes in {VOTING:g} s each: {spread(votes)}; answers: {spread(hall.answers)}"
    )
    print(f"the server took {took:.1f} s of its processor, the driver {drove:.1f} s")
    for each in following:
        each.cancel()
    if hall.lost:
        print(f"{len(hall.lost)} LOST: {hall.lost[0]}")
    return not hall.lost and sorted(steps)[int(0.95 * len(steps))] < GOAL


async def present(hall: LectureRoom) -> int:
    """Returns the number of followers that the lecturer sees."""
    reader, writer = await asyncio.open_connection("127.0.0.1", hall.port)
    with contextlib.closing(writer):
        head = f"GET /rooms/{hall.code}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {hall.secret}\r\n\r\n"
        writer.write(head.encode())
        async for line in reader:
            if line.startswith(b"data: "):
                return json.loads(line[6:])["followers"]
    raise OSError("the lecturer's stream ended")


def spread(seconds: list[float]) -> str:
    return f"{quantiles(seconds)}, the last after {max(seconds, default=0) * 1000:.0f} ms"


def ratio(some: list[float], others: list[float]) -> str:
    return f"{sorted(some)[len(some) // 2] / sorted(others)[len(others) // 2]:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--followers", type=int, default=150)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--redis", default="", help="REDIS_URL of the lab; else it keeps its rooms itself")
    args = parser.parse_args()
    with lab(REDIS_URL=args.redis, UPLOADS="0") as (port, process):
        if not asyncio.run(measure(port, process.pid, args.followers, args.seconds)):
            raise SystemExit(f"not all had it, or 95 of 100 had it later than after {GOAL:g} s")


if __name__ == "__main__":
    main()
