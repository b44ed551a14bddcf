"""Most prompt tokens that any cache can find, even one that knows all requests: Belady's rule on single
pages.

The tree is left out: a page counts as found wherever its tokens and all before them were computed and kept,
even if the page before it was not kept. That can only make it more.
"""

import heapq
from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass

from .traces import Trace


@dataclass(frozen=True)
class Blocks:
    """Full pages of a request, each known by a number that stands for its tokens and all before them."""

    all: tuple[int, ...]
    usable: tuple[int, ...]
    """Those that may be found: one token of the prompt is left to compute."""
    private: int
    """Pages beside these, which are never full."""


def bound(trace: Trace) -> tuple[int, str]:
    """Tokens, and what binds: `reuse` where even endless memory finds no more, else `capacity`."""
    endless, kept = hits(trace, None), hits(trace, trace.pages)
    return (endless, "reuse") if endless <= kept else (kept, "capacity")


def hits(trace: Trace, pages: int | None) -> int:
    """Most prompt tokens found with so many pages; with None, with as many as are wanted.

    A page that no running request holds waits for the next request that wants it, and is found if it is
    kept until then. At any time as many can wait as running requests leave; when there are too many, the
    one that is wanted last is dropped: no choice keeps more (Belady).
    """
    blocks = number_blocks(trace)
    uses: defaultdict[int, list[int]] = defaultdict(list)
    for time, (request, starts) in enumerate(trace.events):
        if starts:
            for block in blocks[request].usable:
                uses[block].append(time)
    computed: set[int] = set()
    held: Counter[int] = Counter()
    waiting: dict[int, int] = {}
    order: list[tuple[int, int]] = []
    found = private = 0
    for time, (request, starts) in enumerate(trace.events):
        mine = blocks[request]
        if starts:
            found += sum(block in computed and (block in waiting or held[block] > 0) for block in mine.usable)
            private += mine.private
            for block in mine.all:
                waiting.pop(block, None)
                held[block] += 1
        else:
            private -= mine.private
            computed.update(mine.all)
            for block in mine.all:
                held[block] -= 1
                if not held[block]:
                    del held[block]
                    later = uses[block]
                    place = bisect_right(later, time)
                    if place < len(later):
                        waiting[block] = later[place]
                        heapq.heappush(order, (-later[place], block))
        while pages is not None and len(waiting) > max(0, pages - len(held) - private):
            use, block = heapq.heappop(order)
            if waiting.get(block) == -use:
                del waiting[block]
    return found * trace.page_size


def number_blocks(trace: Trace) -> list[Blocks]:
    """The full pages of every request. Equal numbers: equal tokens, and equal tokens before them."""
    numbers: dict[tuple[int, tuple[int, ...]], int] = {}
    size = trace.page_size
    found = []
    for request in trace.requests:
        tokens, parent, mine = request.tokens, -1, []
        for at in range(0, len(tokens) - size + 1, size):
            parent = numbers.setdefault((parent, tokens[at : at + size]), len(numbers))
            mine.append(parent)
        usable = (len(request.prompt) - 1) // size
        held = -(-len(tokens) // size)
        found.append(Blocks(tuple(mine), tuple(mine[:usable]), held - len(mine)))
    return found
