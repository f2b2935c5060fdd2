import dataclasses
import gc
import itertools
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import cachetools
import numpy as np
import pytest

from model.checkpoint import CheckpointError
from model.config import MAX_TOKENS
from model.decoding.strategy import Decoding
from model.edits.intervention import Intervention
from model.experiments import effects
from model.inference import analyse, passes
from model.inference.request import MAX_PAD, Request, RequestError
from tests.support import tiny
from tests.support.viz_helpers import Lab
from viz import cache, computations, page_context, pages
from viz.server.serve import MIN_CACHE_MB
from viz.state import result_cache, work_queue
from viz.state.view import View

MANY = 8


@pytest.fixture(autouse=True)
def empty():
    """No answer from another test, none left for the next."""
    for kept in (cache.analyse, computations.mask_effects):
        kept.cache_clear()
    yield
    for kept in (cache.analyse, computations.mask_effects):
        kept.cache_clear()


class Answer(SimpleNamespace):
    """Stands for an analysis."""

    def __init__(self, nbytes: int, request: Request) -> None:
        super().__init__(nbytes=nbytes, request=request)

    def without_scores(self) -> "Answer":
        return self


class Network:
    """Stands for the network: counts what it is asked, and takes its time."""

    def __init__(self, nbytes: int = 8, seconds: float = 0.05, fault: Exception | None = None) -> None:
        self.asked: list[Request] = []
        self.nbytes, self.seconds, self.fault = nbytes, seconds, fault

    def __call__(self, checkpoint: object, request: Request, *_: object) -> SimpleNamespace:
        self.asked.append(request)
        time.sleep(self.seconds)
        if self.fault:
            raise self.fault
        return Answer(self.nbytes, request)


@pytest.fixture
def network(monkeypatch):
    def made(**options) -> Network:
        stub = Network(**options)
        monkeypatch.setattr(analyse, "analyse", stub)
        for name in ("mask_effects",):
            monkeypatch.setattr(effects, name, stub)
        monkeypatch.setattr(cache, "checkpoint", lambda name, device: f"{name} on {device}")
        monkeypatch.setattr(computations, "_target", lambda request, device: None)
        return stub

    return made


def together(ask, count: int = MANY) -> list:
    """What each of many threads gets that ask at the same time; an error counts as an answer."""
    start = threading.Barrier(count)

    def visitor(number: int):
        start.wait(60)
        try:
            return ask(number)
        except Exception as fault:
            return fault

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(visitor, range(count), timeout=120))


@pytest.mark.parametrize("ask", [cache.analyse, computations.mask_effects])
def test_who_asks_the_same_at_once_shares_one_computation(network, ask):
    stub = network()
    answers = together(lambda number: ask(Request("Nine owls."), "cpu"))
    assert len(stub.asked) == 1
    assert all(answer is answers[0] for answer in answers)
    assert ask(Request("Nine owls."), "cpu") is answers[0]
    assert len(stub.asked) == 1


def test_who_asks_something_else_does_not_wait(monkeypatch, network):
    network()
    monkeypatch.setattr(work_queue, "SHORT", work_queue.WorkQueue(MANY))
    meeting = threading.Barrier(MANY)  # broken unless all are inside at the same time

    def compute(checkpoint, request, *_):
        meeting.wait(60)
        return Answer(1, request)

    monkeypatch.setattr(analyse, "analyse", compute)
    answers = together(lambda number: cache.analyse(Request(f"Owl {number}."), "cpu"))
    assert [answer.request.source for answer in answers] == [f"Owl {number}." for number in range(MANY)]


PLAIN = Request("Nine owls.")


def test_the_oldest_answer_goes_first(network):
    stub = network(nbytes=cache.MAX_BYTES // 4 + 1, seconds=0)
    requests = [Request(f"Owl {number}.") for number in range(8)]
    for request in requests:
        cache.analyse(request, "cpu")
        assert cache.analyse.cache.currsize <= cache.MAX_BYTES
    assert len(cache.analyse.cache) == 3
    cache.analyse(requests[-1], "cpu")
    assert len(stub.asked) == 8
    cache.analyse(requests[0], "cpu")
    assert len(stub.asked) == 9


def test_what_could_not_be_kept_is_refused_in_a_sentence(monkeypatch, tiny_checkpoint):
    monkeypatch.setattr(cache, "checkpoint", lambda name, device: tiny_checkpoint)
    monkeypatch.setattr(cache, "MAX_BYTES", 1000)
    with pytest.raises(RequestError, match=r"^The maps of \d+ source and \d+ target tokens would take .* Shorten"):
        cache.analyse(PLAIN, "cpu")


def test_the_baseline_is_decoded_once(monkeypatch, tiny_checkpoint):
    monkeypatch.setattr(cache, "checkpoint", lambda name, device: tiny_checkpoint)
    decoded, search = [], Decoding.search
    monkeypatch.setattr(Decoding, "search", lambda *given, **named: decoded.append(given) or search(*given, **named))
    plain = Request("The red fox.", decoding=Decoding(max_total_tokens=4))
    given, again = (dataclasses.replace(plain, mode=m, intervention=tiny.edited("off_dec.1")) for m in ("given", "again"))
    edited = cache.analyse(given, "cpu")
    for name in ("causal_mask", "padding_mask"):
        assert computations.mask_effects(plain, "cpu")[name].labels == edited.trace.outputs.labels
    computations.result(plain, "cpu", computations.HEAD_EFFECTS(), lambda share: None)
    assert (len(decoded), edited.baseline.trace.outputs) == (1, cache.analyse(plain, "cpu").trace.outputs)
    found = cache.analyse(again, "cpu")
    assert (len(decoded), found.baseline.translation) == (2, cache.analyse(plain, "cpu").translation)
    alone = analyse.analyse(tiny_checkpoint, again)
    assert (found.translation, found.tree) == (alone.translation, alone.tree)


def test_the_longest_text_fits_into_the_cache():
    for name in ("en-fr", "en-fr-learned", "en-fr-peek"):
        config = cache.checkpoint(name, "cpu").config
        largest = 3 * passes.trace_bytes(config, MAX_TOKENS + MAX_PAD, MAX_TOKENS)
        assert largest < min(cache.MAX_BYTES // 4, MIN_CACHE_MB * 1024 * 1024 // 2)


@pytest.mark.parametrize("ask", [cache.analyse, computations.mask_effects])
def test_an_error_is_raised_again_and_not_kept(network, ask):
    stub = network(fault=RequestError("The sentence has 130 tokens."), seconds=0)
    for _ in range(2):
        with pytest.raises(RequestError, match=r"^The sentence has 130 tokens\.$"):
            ask(PLAIN, "cpu")
    assert len(stub.asked) == 2
    stub.fault = None
    assert ask(PLAIN, "cpu").request is PLAIN


def test_only_offered_folders_are_loaded(saved):
    said = []
    for name in (str(saved), "/tmp", "/nowhere", "../checkpoints/en-fr", f"{saved}/", "x" * 10**6):
        with pytest.raises(CheckpointError, match=r"expected one of .*en-fr, en-fr-learned, en-fr-peek") as fault:
            cache.checkpoint(name, "cpu")
        said.append(str(fault.value).replace(repr(name[:60]), "it"))
        cache.refresh(name)
    assert len(set(said)) == 1  # which of them are there is not told


def test_nobody_can_write_to_what_all_share(monkeypatch, tiny_checkpoint):
    monkeypatch.setattr(cache, "checkpoint", lambda name, device: tiny_checkpoint)
    request = Request(
        "The red fox.", extra_padding=2, intervention=Intervention(causal_mask=False), decoding=Decoding(max_total_tokens=4)
    )
    analysis = cache.analyse(request, "cpu")
    effects = computations.mask_effects(request, "cpu").values()
    arrays = [array for effect in effects for array in (effect.before, effect.after)]
    for trace in (analysis.trace, analysis.baseline.trace):
        arrays += [trace.log_probs, trace.token_log_probs]
        arrays += [a for group in (trace.patterns, trace.masks) for a in group.values()]
        assert trace.scores == {}
    assert len(arrays) == 4 + 2 * (2 + 2 * 6)
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = np.zeros_like(array)


def made_up(request: str, device: str, progress: object) -> object:
    return object()


def made_up_figure(request: str, device: str, step: int = 0) -> object:
    return object()


def other_figure(request: str, device: str, step: int = 0) -> object:
    return object()


@pytest.fixture
def declared(monkeypatch):
    """A computation and two figures that are declared here alone."""
    monkeypatch.setattr(result_cache, "_forget", [*result_cache._forget])
    figures = result_cache.cached_figure(made_up_figure), result_cache.cached_figure(other_figure)
    return result_cache.cached(2, ignore=("progress",))(made_up), *figures


def test_folders_are_read_once_in_two_seconds(monkeypatch, home):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(cache, "_recent", cachetools.TTLCache(1000, cache.READ_SECONDS, lambda: clock.now))
    assert cache.checkpoint_names() == ("saved",)
    home.rename(home.with_name("renamed"))
    clock.now = 0.99 * cache.READ_SECONDS
    assert cache.checkpoint_names() == ("saved",)
    clock.now = 1.01 * cache.READ_SECONDS
    assert cache.checkpoint_names() == ("renamed",)


def test_an_entry_that_expires_between_two_looks_is_read_again(monkeypatch):
    clock = itertools.count()  # s: each look at the time is one second later
    monkeypatch.setattr(cache, "_recent", cachetools.TTLCache(10, 2, lambda: next(clock)))
    assert [cache.read_recently(len, "abc") for _ in range(5)] == [3] * 5


def test_changed_files_clear_the_caches(monkeypatch, tmp_path, declared):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("{}")
    monkeypatch.setenv("CHECKPOINTS", str(tmp_path))
    number, figure, _ = declared

    def found() -> tuple[object, object]:
        cache.refresh("mine")
        return number("a", "cpu", print), figure("a", "cpu")

    first = found()
    assert found() == first
    (tmp_path / "mine" / "config.json").write_text('{"schema": 1}')
    second = found()
    assert first[0] is not second[0]
    assert first[1] is not second[1]
    assert found() == second


def test_the_key_is_function_and_arguments(declared):
    number, figure, other = declared
    drawn = figure("a", "cpu", 3)
    assert drawn is figure("a", step=3, device="cpu")
    assert figure("a", "cpu") is figure("a", "cpu", 0)
    assert len({drawn, figure("b", "cpu", 3), figure("a", "cuda", 3), figure("a", "cpu", 4), other("a", "cpu", 3)}) == 5
    assert number("a", "cpu", print) is number("a", "cpu", repr)  # who hears of the progress is no part of it
    assert number("a", "cpu", print) is not number("a", "cuda", print)
    mode = "dark"
    with pytest.raises(ValueError, match="captures mode; expected a function without captured variables"):
        result_cache.cached_figure(lambda request, device: mode)


@dataclasses.dataclass(frozen=True)
class Record:
    values: np.ndarray
    rows: tuple[np.ndarray, ...] = ()


def test_all_places_together_hold_a_number_of_bytes():
    ledger = result_cache.Ledger(100_000)
    keeps = [
        result_cache.cached(1000, ledger=ledger),
        result_cache.cached(80_000, getsizeof=lambda record: record.values.nbytes, ledger=ledger),
    ]
    by_count, by_bytes = (each(lambda number: Record(np.full(1000, number))) for each in keeps)
    first = by_count(0)
    for number in range(1, 20):
        assert by_count(0) is first  # used again and again, so it stays
        by_bytes(number)
        by_count(number)
        assert ledger.total <= 100_000
    held = [*by_count.cache.values(), *by_bytes.cache.values()]
    assert ledger.total == sum(map(result_cache.estimate_bytes, by_count.cache.values())) + 8_000 * len(by_bytes.cache)
    assert 10 <= len(held) <= 12 and by_count.known(1) is None
    for each in (by_count, by_bytes):
        each.cache_clear()
    assert ledger.total == 0


def test_a_result_in_use_is_found_again():
    ledger = result_cache.Ledger(20_000)
    computed = []
    ask = result_cache.cached(8, ledger=ledger)(lambda number: computed.append(number) or Record(np.full(1000, number)))
    held = ask(0)
    for number in range(1, 5):
        ask(number)
    assert len(ask.cache) == 2
    assert ask(0) is held and ledger.total <= 20_000 and computed == [0, 1, 2, 3, 4]
    ask.cache_clear()
    assert ask(0) is not held  # a checkpoint has changed, say


def test_a_page_s_record_does_not_hold_the_arrays(monkeypatch, tiny_checkpoint):
    named = dataclasses.replace(tiny_checkpoint, name=View().checkpoint)
    monkeypatch.setattr(cache, "checkpoint", lambda name, device: named)
    context = page_context.build(View(source="The red fox.", layer=0, head=0))
    held, translation = weakref.ref(context.analysis), context.analysis.translation
    assert context.analysis is cache.analyse(context.request, context.view.device)
    cache.analyse.cache_clear()
    gc.collect()
    assert held() is None
    assert context.analysis.translation == translation  # computed again


@pytest.fixture
def checkpoint_stays(monkeypatch):
    """Leaves checkpoints in their cache: to load one takes longer than a page, and it has no arrays of a sentence."""
    kept = cache._loaded.cache_clear
    monkeypatch.setattr(result_cache, "_forget", [each for each in result_cache._forget if each != kept])


LINKS = [(page.name, link) for page in pages.PAGES for link in ({}, {"lecture": "on"})]


@pytest.mark.parametrize(("page", "link"), [*LINKS, ("translate", {"decode": "beam", "show": "decoding"})], ids=str)
@pytest.mark.usefixtures("checkpoint_stays")
@pytest.mark.every(3)
def test_a_session_holds_no_arrays_between_its_runs(page, link):
    result_cache.clear_all()
    lab = Lab(pages.find(page).file, text="The old man reads a letter.", **link)
    held = [weakref.ref(analysis) for analysis in cache.analyse.cache.values()]
    result_cache.clear_all()
    gc.collect()
    assert lab.app_test.session_state and not [analysis for each in held if (analysis := each())]
