"""A priced network: what carrying messages between ranks would take, in whole picoseconds.

The topology is a networkx graph whose nodes 0 .. n - 1 are ranks; all others are switches. An edge is one
direction of a link and has two attributes: `alpha_ps`, the latency of a message, and `byte_ps`, the time of
one byte. A message goes along the path of the least latency and holds every link of it for

    the sum of alpha_ps + bytes x the largest byte_ps,

from its start to its end: a rank on one link sends one message at a time and receives one at a time. The
messages of a rank leave in the order in which it sent them, each as soon as all of its path is free; of two
that wait for one link the one that has waited longer goes first, then that of the lower rank.

A program of sends, which never wait, and receives from a named rank gives the same result in whatever order
its ranks really run. So messages are carried first and priced afterwards, from what each rank did in order.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import networkx as nx  # type: ignore[import-untyped,unused-ignore]

    Graph: TypeAlias = nx.DiGraph[Any]

MAX_PS = 10**12
"""A link may take at most a second for a message or a byte."""


class NetworkError(ValueError):
    """The topology cannot be priced: the assignment's fault."""


@dataclass(frozen=True)
class Send:
    """A message that a rank sent: to whom, and its bytes."""

    to: int
    size: int


@dataclass(frozen=True)
class Receive:
    """A receive that was answered with the next message from a rank."""

    source: int


Step: TypeAlias = Send | Receive


@dataclass(frozen=True)
class Route:
    """The links of a path, and what a message on it takes."""

    links: tuple[tuple[Any, Any], ...]
    alpha_ps: int
    byte_ps: int

    def duration(self, size: int) -> int:
        """Picoseconds from the start of a message of `size` bytes to its end."""
        return self.alpha_ps + size * self.byte_ps


@dataclass(frozen=True)
class Price:
    """What a program took: until the last message had arrived, and what each rank sent."""

    total_ps: int
    rank_ps: tuple[int, ...]
    """When each rank was done."""
    sent: tuple[int, ...]
    """Bytes by rank."""
    messages: tuple[int, ...]


class Network:
    """Routes between all ranks of a topology. Raises NetworkError."""

    def __init__(self, graph: "Graph", ranks: int) -> None:
        import networkx as nx  # type: ignore[import-untyped,unused-ignore]

        self.ranks = ranks
        missing = [rank for rank in range(ranks) if rank not in graph]
        if missing:
            raise NetworkError(f"rank {missing[0]} is no node of the topology")
        for source, to, link in graph.edges(data=True):
            for name in ("alpha_ps", "byte_ps"):
                value = link.get(name)
                if type(value) is not int or not (name == "alpha_ps") <= value <= MAX_PS:
                    raise NetworkError(
                        f"link {source}-{to}: {name} is {value!r}; right is an integer above 0"
                    )
        self._routes: dict[tuple[int, int], Route] = {}
        for source in range(ranks):
            paths = nx.single_source_dijkstra_path(graph, source, weight="alpha_ps")
            for to in range(ranks):
                if to == source:
                    continue
                if to not in paths:
                    raise NetworkError(f"there is no path from rank {source} to rank {to}")
                self._routes[source, to] = _route(graph, paths[to])

    def route(self, source: int, to: int) -> Route:
        """The path of every message from one rank to another."""
        return self._routes[source, to]

    def price(self, steps: Sequence[Sequence[Step]]) -> Price:
        """Replay what each rank did, in its own order. Every receive must have its message."""
        return _Replay(self, steps).run()


def switch(ranks: int, alpha_ps: int, byte_ps: int) -> "Graph":
    """Every rank on one switch: any message takes alpha_ps + bytes x byte_ps."""
    graph = _graph()
    for rank in range(ranks):
        graph.add_edge(rank, "switch", alpha_ps=alpha_ps - alpha_ps // 2, byte_ps=byte_ps)
        graph.add_edge("switch", rank, alpha_ps=max(1, alpha_ps // 2), byte_ps=byte_ps)
    return graph


def ring(ranks: int, alpha_ps: int, byte_ps: int) -> "Graph":
    """Every rank beside the next one, the last beside the first; messages pass through the ranks between."""
    graph = _graph()
    for rank in range(ranks if ranks > 2 else ranks - 1):
        for source, to in ((rank, (rank + 1) % ranks), ((rank + 1) % ranks, rank)):
            graph.add_edge(source, to, alpha_ps=alpha_ps, byte_ps=byte_ps)
    graph.add_nodes_from(range(ranks))
    return graph


def servers(count: int, each: int, near: tuple[int, int], far: tuple[int, int]) -> "Graph":
    """Servers of `each` ranks on a switch of their own; one link from each server to the others.

    `near` and `far` are (alpha_ps, byte_ps) of a message within a server, and of the link out of it.
    """
    graph = _graph()
    for server in range(count):
        inside = switch(each, *near)
        names = {rank: server * each + rank for rank in range(each)} | {"switch": f"server {server}"}
        graph.add_edges_from((names[a], names[b], link) for a, b, link in inside.edges(data=True))
        for source, to in ((f"server {server}", "spine"), ("spine", f"server {server}")):
            graph.add_edge(source, to, alpha_ps=far[0], byte_ps=far[1])
    return graph


def _graph() -> "Graph":
    import networkx as nx  # type: ignore[import-untyped,unused-ignore]

    return nx.DiGraph()


def _route(graph: "Graph", path: Sequence[Any]) -> Route:
    links = tuple(pairwise(path))
    data: list[Mapping[str, int]] = [graph.edges[link] for link in links]
    return Route(links, sum(link["alpha_ps"] for link in data), max(link["byte_ps"] for link in data))


@dataclass
class _Waiting:
    """A message that has been sent and not started."""

    issued: int
    source: int
    to: int
    size: int


@dataclass
class _Replay:
    """Always starts next the message that can start first: whatever is sent later could not start before."""

    network: Network
    steps: Sequence[Sequence[Step]]
    clocks: list[int] = field(default_factory=list)
    at: list[int] = field(default_factory=list)
    queues: list[deque[_Waiting]] = field(default_factory=list)
    arrived: dict[tuple[int, int], deque[int]] = field(default_factory=dict)
    free: dict[tuple[Any, Any], int] = field(default_factory=dict)
    left: list[int] = field(default_factory=list)
    """By rank, when the last message that it has started ends."""
    end: int = 0

    def run(self) -> Price:
        ranks = self.network.ranks
        self.clocks, self.at, self.left = [0] * ranks, [0] * ranks, [0] * ranks
        self.queues = [deque() for _ in range(ranks)]
        for rank in range(ranks):
            self._advance(rank)
        while heads := [queue[0] for queue in self.queues if queue]:
            first = min(heads, key=lambda head: (self._start(head), self._ready(head), head.source))
            self._carry(first)
        if any(at < len(steps) for at, steps in zip(self.at, self.steps, strict=True)):
            raise ValueError("a receive has no message")
        sends = [[step for step in steps if isinstance(step, Send)] for steps in self.steps]
        return Price(
            total_ps=max([self.end, *self.clocks]),
            rank_ps=tuple(self.clocks),
            sent=tuple(sum(send.size for send in mine) for mine in sends),
            messages=tuple(len(mine) for mine in sends),
        )

    def _advance(self, rank: int) -> None:
        """Let a rank go on until it waits for a message that has not been carried."""
        steps = self.steps[rank]
        while self.at[rank] < len(steps):
            step = steps[self.at[rank]]
            if isinstance(step, Send):
                self.queues[rank].append(_Waiting(self.clocks[rank], rank, step.to, step.size))
            else:
                waiting = self.arrived.get((step.source, rank))
                if not waiting:
                    return
                self.clocks[rank] = max(self.clocks[rank], waiting.popleft())
            self.at[rank] += 1

    def _ready(self, message: _Waiting) -> int:
        """When it came to be the next one of its rank."""
        return max(message.issued, self.left[message.source])

    def _start(self, message: _Waiting) -> int:
        links = self.network.route(message.source, message.to).links
        return max(self._ready(message), *(self.free.get(link, 0) for link in links))

    def _carry(self, message: _Waiting) -> None:
        route = self.network.route(message.source, message.to)
        end = self._start(message) + route.duration(message.size)
        self.left[message.source] = end
        self.free.update(dict.fromkeys(route.links, end))
        self.end = max(self.end, end)
        self.queues[message.source].popleft()
        self.arrived.setdefault((message.source, message.to), deque()).append(end)
        self._advance(message.to)
