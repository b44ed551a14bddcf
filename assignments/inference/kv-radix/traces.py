"""Requests to an inference engine: chats that come back, templates that many share, documents that nobody
reads twice.

Everything is drawn from the seed. A request is a prompt and an answer; it holds its pages from start to
finish.
"""

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

VOCABULARY = 32_000
LOAD = 0.5
"""Most of the pages that requests hold at a time; the rest is for what may come back."""


@dataclass(frozen=True)
class Request:
    """One request: the prompt, and the answer that becomes known when it is finished."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]

    @property
    def tokens(self) -> tuple[int, ...]:
        """Prompt and answer."""
        return self.prompt + self.answer


@dataclass(frozen=True)
class Trace:
    """Requests, and the order in which they start and finish: (request, whether it starts)."""

    pages: int
    page_size: int
    requests: tuple[Request, ...]
    events: tuple[tuple[int, bool], ...]

    def held(self, request: int) -> int:
        """Pages that a request holds from start to finish."""
        return -(-len(self.requests[request].tokens) // self.page_size)


def draw(params: Mapping[str, Any], random: Random) -> Trace:
    """A trace of these parameters: `pages`, `page_size`, `requests`, and shares `documents` and `agents`."""
    arrivals = sorted(_arrivals(params, random), key=lambda one: one[0])[: params["requests"]]
    requests = tuple(request for _, request in arrivals)
    return Trace(
        params["pages"],
        params["page_size"],
        requests,
        _events(params, [time for time, _ in arrivals], requests),
    )


def _arrivals(params: Mapping[str, Any], random: Random) -> list[tuple[float, Request]]:
    """(time, request) of more requests than are wanted, in no order."""
    templates = [_words(random, random.randint(100, 500)) for _ in range(6)]
    found: list[tuple[float, Request]] = []
    time = 0.0
    while len(found) < 2 * params["requests"]:
        time += random.expovariate(1.0)
        kind = random.random()
        if kind < params["documents"]:
            prompt = _words(random, random.randint(400, 1600))
            found.append((time, Request(prompt, _words(random, random.randint(10, 60)))))
        elif kind < params["documents"] + params["agents"]:
            found += _agent(random, time, random.choice(templates))
        else:
            found += _chat(random, time, templates[min(int(random.expovariate(0.7)), len(templates) - 1)])
    return [one for one in found if one[0] < time]


def _chat(random: Random, time: float, template: tuple[int, ...]) -> list[tuple[float, Request]]:
    """Turns of one conversation: each prompt is all that was said before, and a question."""
    turns, said = [], template
    for _ in range(1 + int(random.expovariate(0.25))):
        prompt = said + _words(random, random.randint(10, 120))
        answer = _words(random, random.randint(20, 200))
        turns.append((time, Request(prompt, answer)))
        said = prompt + answer
        time += 4.0 + random.expovariate(1 / 18.0)
    return turns


def _agent(random: Random, time: float, template: tuple[int, ...]) -> list[tuple[float, Request]]:
    """Several attempts at one task, from one prompt, soon after each other."""
    task = template + _words(random, random.randint(200, 700))
    return [
        (
            time + random.expovariate(0.4),
            Request(task + _words(random, 8), _words(random, random.randint(20, 150))),
        )
        for _ in range(random.randint(3, 6))
    ]


def _events(
    params: Mapping[str, Any], times: list[float], requests: tuple[Request, ...]
) -> tuple[tuple[int, bool], ...]:
    """Starts in the order of arrival, each when there is room, and finishes as answers get long."""
    most = math.floor(params["pages"] * LOAD)
    events: list[tuple[int, bool]] = []
    running: list[tuple[float, int, int]] = []
    held, now = 0, 0.0
    for number, (time, request) in enumerate(zip(times, requests, strict=True)):
        now = max(now, time)
        size = -(-len(request.tokens) // params["page_size"])
        while running and (running[0][0] <= now or held + size > most):
            end, ended, freed = heapq.heappop(running)
            now, held = max(now, end), held - freed
            events.append((ended, False))
        events.append((number, True))
        heapq.heappush(running, (now + len(request.answer) / 50.0, number, size))
        held += size
    events += [(ended, False) for _, ended, _ in sorted(running)]
    return tuple(events)


def _words(random: Random, count: int) -> tuple[int, ...]:
    return tuple(random.choices(range(VOCABULARY), k=count))
