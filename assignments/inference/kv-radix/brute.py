"""Tiny traces and every choice of what to evict: what the bound is held against."""

import itertools
from random import Random

from grader.task import Outcome

from .bound import bound, number_blocks
from .traces import Request, Trace


def outcome(seed: int) -> Outcome:
    """Most tokens that any cache finds in a tiny trace, and the bound."""
    trace = tiny(Random(seed))  # noqa: S311 (questions that nobody is graded on)
    most, by = bound(trace)
    return Outcome(
        True, value=float(best(trace)), bound=float(most), bound_by=by, unit="tokens", better="higher"
    )


def tiny(random: Random) -> Trace:
    """Some requests of a few pages of one token each, one or two at a time, with hardly more room than they
    need."""
    known = [tuple(random.choices(range(2), k=random.randint(2, 4))) for _ in range(3)]
    requests = tuple(
        Request(random.choice(known), (random.randrange(2),)) for _ in range(random.randint(6, 9))
    )
    events: list[tuple[int, bool]] = []
    running: list[int] = []
    beside = random.choice((0, 0, 1))
    for number in range(len(requests)):
        while len(running) > beside:
            events.append((running.pop(0), False))
        events.append((number, True))
        running.append(number)
    events += [(number, False) for number in running]
    most = held = 0
    for number, starts in events:
        held += len(requests[number].tokens) * (1 if starts else -1)
        most = max(most, held)
    return Trace(most + random.randint(0, 1), 1, requests, tuple(events))


def best(trace: Trace) -> int:
    """Tokens found by the best choice of evictions, tried all: every set of blocks that may stay, at every
    event."""
    blocks = number_blocks(trace)
    states: dict[frozenset[int], int] = {frozenset(): 0}
    running: dict[int, list[int]] = {}
    for request, starts in trace.events:
        mine = blocks[request]
        after: dict[frozenset[int], int] = {}
        if starts:
            running[request] = list(mine.all)
        else:
            del running[request]
        pinned = [block for held in running.values() for block in held]
        private = sum(blocks[one].private for one in running)
        for before, found in states.items():
            cached = before if starts else before | set(mine.all)
            score = found
            if starts:
                prefix = list(itertools.takewhile(cached.__contains__, mine.usable))
                score += len(prefix) * trace.page_size
            room = trace.pages - private - len(set(pinned))
            keep = [block for block in cached if block not in pinned]
            held = cached & set(pinned)
            # To keep more is never worse, so that only what must go is tried.
            for some in itertools.combinations(sorted(keep), max(0, min(room, len(keep)))):
                state = held | frozenset(some)
                after[state] = max(after.get(state, 0), score)
        states = after
    return max(states.values())
