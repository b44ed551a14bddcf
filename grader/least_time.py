"""The least time in which ranks on one switch can get what they need, found by trying every schedule.

For tiny questions, to hold bounds against. What a rank knows is a set of items (thing, contributors as bits):
of one thing, two partial results that share no contributor can be added up. A rank sends one message at a
time and receives one at a time; a message takes alpha and what its items take. Messages start when another
one has just ended, or at the beginning: to wait longer never helps.
"""

import heapq
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

Items: TypeAlias = frozenset[tuple[int, int]]
"""(thing, contributors)."""
Flight: TypeAlias = tuple[int, int, int, Items]
"""(end, from, to, what)."""
Flights: TypeAlias = tuple[Flight, ...]


def least_time(start: Sequence[Items], done: Callable[[int, Items], bool], alpha: int, duration: int) -> int:
    """Dijkstra's search over what everybody knows and what is on its way; each item takes `duration`.

    `done` says whether what a rank knows is all it needs. Raises ValueError if no schedule ends.
    """
    queue: list[tuple[int, int, tuple[Items, ...], Flights]] = [(0, 0, tuple(start), ())]
    seen: dict[tuple[tuple[Items, ...], Flights], int] = {}
    number = itertools.count(1)
    while queue:
        now, _, known, flights = heapq.heappop(queue)
        if all(done(rank, mine) for rank, mine in enumerate(known)):
            return now
        key = known, tuple((end - now, source, to, items) for end, source, to, items in flights)
        if seen.get(key, now + 1) <= now:
            continue
        seen[key] = now
        for more in _starts(now, known, flights, alpha, duration):
            going = sorted((*flights, *more), key=lambda flight: (flight[:3], sorted(flight[3])))
            if not going:
                continue
            end = going[0][0]
            landed = [flight for flight in going if flight[0] == end]
            after = list(known)
            for _, _, to, items in landed:
                after[to] = _closed(after[to] | items)
            heapq.heappush(queue, (end, next(number), tuple(after), tuple(going[len(landed) :])))
    raise ValueError("no schedule ends")


def _starts(
    now: int, known: tuple[Items, ...], flights: Flights, alpha: int, duration: int
) -> Iterator[Flights]:
    """Every set of messages that can start now, the empty one included."""
    ranks = range(len(known))
    free = [rank for rank in ranks if all(flight[2] != rank for flight in flights)]
    choices: list[list[Flight | None]] = []
    for sender in ranks:
        if any(flight[1] == sender for flight in flights):
            continue
        mine: list[Flight | None] = [None]
        for to in free:
            if to != sender:
                mine += [
                    (now + alpha + len(items) * duration, sender, to, items)
                    for items in _messages(known[sender], known[to])
                ]
        choices.append(mine)
    for chosen in itertools.product(*choices):
        more = tuple(flight for flight in chosen if flight is not None)
        if len({flight[2] for flight in more}) == len(more):
            yield more


def _messages(mine: Items, theirs: Items) -> Iterator[Items]:
    """Every message that tells the receiver something: of each thing one partial result or none."""
    by_thing: dict[int, list[tuple[int, int] | None]] = {}
    for item in sorted(mine - theirs):
        by_thing.setdefault(item[0], [None]).append(item)
    for chosen in itertools.product(*by_thing.values()):
        items = frozenset(item for item in chosen if item is not None)
        if items:
            yield items


def _closed(known: Items) -> Items:
    """All partial results that can be formed."""
    found = set(known)
    while True:
        more = {
            (thing, one | other)
            for thing, one in found
            for again, other in found
            if thing == again and not one & other
        } - found
        if not more:
            return frozenset(found)
        found |= more
