"""I03: the judge's book rule by rule, a right cache in its state machine, the bound by brute force."""

import importlib
import importlib.util
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from grader.assignment import load
from grader.task import Raised, Refused

CHECKOUT = Path(__file__).parents[2]
FOLDER = CHECKOUT / "assignments/inference/kv-radix"
ASSIGNMENT = load(FOLDER)
TASK: Any = importlib.import_module(ASSIGNMENT.parts()["trace"].episode.__module__)  # type: ignore[union-attr]
LEDGER, TRACES, BOUND, BRUTE, MACHINE = TASK.ledger, TASK.traces, TASK.bound, TASK.brute, TASK.machine


def module(path: Path, name: str) -> Any:
    """A file as a module of its own."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


ADAPTER = module(FOLDER / "adapter.py", "kv_radix_adapter")
TREE = module(CHECKOUT / "reference/inference/kv-radix/shared/tree.py", "kv_radix_tree")


class Here:
    """A cache of this process as a candidate."""

    def __init__(self, pages: int, page_size: int, kind: Any = TREE.PrefixCache, bits: int = 64) -> None:
        self.waited_ns = 1
        self.module = type("Submission", (), {"PrefixCache": kind})
        self.ask("open", {"pages": pages, "page_size": page_size, "hash_bits": bits})

    def ask(self, method: str, message: Any, *, deadline_seconds: float | None = None) -> Any:
        del deadline_seconds
        self.waited_ns += 1000
        try:
            return ADAPTER.answer(self.module, method, message, None)
        except Exception as error:  # noqa: BLE001 (what the harness does too)
            return Raised(type(error).__name__, str(error))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 60), st.integers(1, 5), st.integers(0, 3))
def test_a_right_cache_passes_every_sequence(seed: int, pages: int, size: int, bits: int) -> None:
    book = LEDGER.Ledger(pages, size)
    MACHINE.Machine(book, Here(pages, size, bits=bits), Random(seed)).play(120)
    assert not any(book.locks.values())
    assert len(book.free) + len(book.block) == pages
    assert book.evictable == len(book.block)


SEEDS = st.integers(0, 2**32)


class Engine(RuleBasedStateMachine):
    """The same operations in an order that hypothesis chooses, and shortens where one fails."""

    @initialize(pages=st.integers(2, 40), size=st.integers(1, 4), bits=st.integers(0, 3))
    def open(self, pages: int, size: int, bits: int) -> None:
        self.book = LEDGER.Ledger(pages, size)
        self.machine = MACHINE.Machine(self.book, Here(pages, size, bits=bits), Random(0))

    @rule(seed=SEEDS, move=st.sampled_from(["begin", "begin", "end", "drop", "look", "evict", "wrong"]))
    def move(self, seed: int, move: str) -> None:
        self.machine.random = Random(seed)
        getattr(self.machine, move)()

    @invariant()
    def every_page_is_in_one_state(self) -> None:
        if not hasattr(self, "book"):
            return
        book = self.book
        assert len(book.free) + len(book.locks) == book.pages
        assert book.free.isdisjoint(book.locks)
        assert book.evictable == sum(not book.locks[page] for page in book.block)
        held = [page for one in self.machine.running for page in one.pages]
        assert sum(book.locks.values()) == len(held)

    def teardown(self) -> None:
        if hasattr(self, "machine"):
            self.machine.play(0)
            assert not any(self.book.locks.values())


TestEngine = Engine.TestCase
TestEngine.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)


def filled() -> Any:
    """Eight pages of two tokens: 0 and 1 cached and not locked, 2 computed into, the rest free."""
    book = LEDGER.Ledger(8, 2)
    book.alloc(2, [0, 1])
    book.insert([1, 2, 3, 4], [0, 1], [0, 1])
    book.unlock([0, 1])
    book.alloc(1, [2])
    return book


@pytest.mark.parametrize(
    ("method", "arguments", "words"),
    [
        ("match", ([1, 2, 3, 4], [0, 1]), "found all 4 tokens"),
        ("match", ([1, 2, 3], [0, 1]), "gives 2 pages for 3 tokens; at most 1"),
        ("match", ([1, 2, 3, 4, 5], [0]), "stops after 1 pages, but the next one is cached as page 1"),
        ("match", ([1, 2, 3, 4, 5], [0, 5]), "page 5 at place 1, which is free"),
        ("match", ([1, 2, 5, 6, 7], [0, 2]), "still being computed; its tokens come in the future"),
        ("match", ([1, 2, 5, 6, 7], [0, 1]), "holds other tokens; these tokens are not cached"),
        ("match", ([1, 2, 3], None), "gives None; a list of pages is needed"),
        ("match", ([1, 2, 3], [8]), "gives 8 as a page; they are 0 to 7"),
        ("match", ([1, 2, 3], [-1]), "gives -1 as a page"),
        ("match", ([1, 2, 3], [True]), "gives True as a page"),
        ("match", ([1, 2, 3], [0.0]), "gives 0.0 as a page"),
        ("alloc", (2, [3]), "gives 1 different pages; 2 were asked for"),
        ("alloc", (2, [3, 3]), "gives 1 different pages; 2 were asked for"),
        ("alloc", (2, [3, 1]), "evicts page 1 although 5 pages are free"),
        ("alloc", (6, [3, 4, 5, 6, 7, 0]), "evicts page 0, but pages behind it stay cached"),
        ("alloc", (6, [3, 4, 5, 6, 7, 2]), "gives page 2 away, which belongs to a request"),
        ("evict", (1, []), "gives 0 different pages; 1 of 1 can be evicted"),
        ("evict", (9, [0]), "gives 1 different pages; 2 of 9 can be evicted"),
        ("evict", (1, [0]), "pages behind it stay cached"),
        ("evict", (1, [5]), "evicts page 5, which is free"),
        ("insert", ([1, 2], [2], [2]), "gives page 2 at place 0; these tokens are in page 0"),
        ("insert", ([1, 2], [2], []), "gives 0 pages for 1"),
        ("insert", ([7, 8], [2], [0]), "gives page 0 at place 0; these tokens are in page 2"),
    ],
)
def test_a_wrong_answer_is_named(method: str, arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(Refused) as refused:
        getattr(filled(), method)(*arguments)
    assert words in refused.value.en
    assert any("\u4e00" <= letter <= "\u9fff" for letter in refused.value.zh)


def test_a_locked_page_is_not_evicted_and_a_copy_goes_back() -> None:
    book = filled()
    book.lock([0, 1])
    with pytest.raises(Refused, match="gives page 1 away, which is locked"):
        book.alloc(6, [3, 4, 5, 6, 7, 1])
    book = filled()
    assert book.insert([1, 2], [2], [0]) == [0]
    assert 2 in book.free
    assert book.locks[0] == 1
    assert book.can_alloc(7)  # Page 1 can be evicted, page 0 is locked.
    assert not book.can_alloc(8)


@pytest.mark.parametrize("seed", range(30))
def test_the_bound_holds_against_every_choice_of_evictions(seed: int) -> None:
    best = BRUTE.outcome(1000 + seed)
    assert best.value <= best.bound


def test_both_kinds_of_bound_occur_and_are_reached() -> None:
    outcomes = [BRUTE.outcome(seed) for seed in range(60)]
    assert {one.bound_by for one in outcomes if one.value == one.bound} == {"reuse", "capacity"}


PARAMS = {"pages": 900, "page_size": 16, "requests": 60, "documents": 0.4, "agents": 0.2}


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([200, 400, 900]))
def test_a_cache_finds_what_is_possible_and_no_more(seed: int, pages: int) -> None:
    trace = TRACES.draw(PARAMS | {"pages": pages}, Random(seed))
    starts = [number for number, begins in trace.events if begins]
    assert starts == sorted(starts) == list(range(len(trace.requests)))
    assert sorted(number for number, begins in trace.events if not begins) == starts
    held = most = 0
    for number, begins in trace.events:
        held += trace.held(number) * (1 if begins else -1)
        most = max(most, held)
    if most > pages:  # One request larger than the cache alone cannot be served.
        return
    book = LEDGER.Ledger(pages, 16)
    found = TASK.follow(trace, book, Here(pages, 16))
    bound, by = BOUND.bound(trace)
    assert found <= bound <= BOUND.hits(trace, None)
    assert (by == "reuse") == (bound == BOUND.hits(trace, None))


def test_endless_memory_finds_everything_that_comes_again() -> None:
    trace = TRACES.draw(PARAMS | {"pages": 100_000}, Random(4))
    book = LEDGER.Ledger(100_000, 16)
    assert TASK.follow(trace, book, Here(100_000, 16)) == BOUND.bound(trace)[0] > 0
