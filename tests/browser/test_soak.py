"""Sessions come and go beside half requests and garbage: nothing fails, and no thread or file is left open."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from benchmarks.soak import BOUND, KEPT, looked_at, soak
from benchmarks.visitors import lab

SESSIONS, SECONDS, THINK = 8, 15.0, 1.0  # about 100 runs; `benchmarks.soak` runs for minutes
THREADS = 12  # more than at the start: pools that grow with the first runs, and runs under way at the moment of a look
# Streamlit keeps a session that left for two minutes, with the event loop of its thread: three files, and its socket. Who
# comes: the sessions, and one a 2 s that sends garbage. Were a file left behind by every run, it would be twice as many.
FILES = 5 * (SESSIONS + int(SECONDS / 2))


def test_sessions_leave_no_fault_no_thread_and_no_open_file():
    with lab(KEEP_MB=str(KEPT)) as (port, process):
        before = looked_at(process.pid, 0, 0)
        with ThreadPoolExecutor(1) as beside:  # a thread of its own: the other tests' browser has an event loop in this one
            looks, faults = beside.submit(lambda: asyncio.run(soak(port, process.pid, SESSIONS, SECONDS, THINK))).result()
        after = looked_at(process.pid, SECONDS, 0)
    assert faults == []
    assert looks[-1].runs > SESSIONS
    assert max(look.megabytes for look in looks) < BOUND
    assert after.threads <= before.threads + THREADS, looks
    assert after.files <= before.files + FILES, looks
