"""The server's event loop hears all that other threads tell it, in order, and is woken far less often."""

import asyncio
import threading

from viz import loop


class Counted(loop.Loop):
    woken = 0

    def _write_to_self(self) -> None:
        before = self._is_awake
        super()._write_to_self()
        self.woken += self._is_awake and not before


def test_nothing_is_lost_and_it_is_woken_seldom():
    heard, made, each, block = [], Counted(), 2000, 500
    done, caught_up = asyncio.Event(), {(who, n): threading.Event() for who in range(3) for n in range(0, each, block)}

    def hear(what: tuple[int, int]) -> None:
        heard.append(what)
        if what in caught_up:
            caught_up[what].set()
        if len(heard) == 3 * each:
            done.set()

    def tell(number: int) -> None:
        for n in range(each):
            made.call_soon_threadsafe(hear, (number, n))
            if n % block == 0:  # the loop may fall asleep here
                assert caught_up[number, n].wait(60)

    async def listen() -> None:
        threads = [threading.Thread(target=tell, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        await asyncio.wait_for(done.wait(), 60)

    try:
        made.run_until_complete(listen())
    finally:
        made.close()
    for number in range(3):
        assert [n for who, n in heard if who == number] == list(range(each))
    assert 1 <= made.woken < each


def test_one_message_alone_wakes_it():
    made = loop.new()
    told = made.create_future()

    async def waits() -> str:
        threading.Timer(0.02, lambda: made.call_soon_threadsafe(told.set_result, "heard")).start()
        return await asyncio.wait_for(told, 60)

    try:
        assert made.run_until_complete(waits()) == "heard"
    finally:
        made.close()
