"""Tokens to the ranks of their experts and back, in an order that keeps the busiest rank's link busy."""

from random import Random

import numpy as np

ROUNDS = 250


def owner_of(count, ranks):
    return np.repeat(np.arange(ranks), [(r + 1) * count // ranks - r * count // ranks for r in range(ranks)])


def visits(comm, experts, count):
    """By rank, this rank's tokens that some expert there is to see."""
    seen = owner_of(count, comm.size)[experts]
    return [np.flatnonzero((seen == rank).any(1)) for rank in range(comm.size)]


def gather(comm, row):
    """Everybody's row of small numbers, in rounds of doubling distance."""
    rank, size = comm.rank, comm.size
    rows = {rank: np.asarray(row, np.uint16)}
    far = 1
    while far < size:
        count = min(far, size - far)
        comm.send((rank - far) % size, np.concatenate([rows[(rank + i) % size] for i in range(count)]))
        data = comm.take((rank + far) % size, np.uint16).reshape(count, -1)
        rows |= {(rank + far + i) % size: data[i] for i in range(count)}
        far *= 2
    return [rows[other].astype(int).tolist() for other in range(size)]


def makespan(orders, durations):
    """When the last of all messages ends; a rank's leave in its order, each as soon as both links are free."""
    size = len(orders)
    out, into, at, end = [0] * size, [0] * size, [0] * size, 0
    while True:
        first = None
        for rank in range(size):
            if at[rank] < len(orders[rank]):
                to = orders[rank][at[rank]]
                start = max(out[rank], into[to])
                if first is None or start < first[0]:
                    first = (start, rank, to)
        if first is None:
            return end
        start, rank, to = first
        out[rank] = into[to] = start + durations[rank][to]
        end = max(end, out[rank])
        at[rank] += 1


def plan(traffic, alpha, row_ns):
    """For every rank the order in which it sends: rotations, improved by exchanges of two."""
    size = len(traffic)
    durations = [[alpha + rows * row_ns for rows in line] for line in traffic]
    orders = [
        [(rank + step) % size for step in range(1, size) if traffic[rank][(rank + step) % size]] for rank in range(size)
    ]
    least = max(
        max(sum(durations[rank][to] for to in orders[rank]) for rank in range(size)),
        max(sum(durations[rank][to] for rank in range(size) if to in orders[rank]) for to in range(size)),
    )
    random = Random(0)
    best = makespan(orders, durations)
    for _ in range(ROUNDS * size):
        if best <= least * 1.001:
            break
        rank = random.randrange(size)
        if len(orders[rank]) < 2:
            continue
        one, other = random.sample(range(len(orders[rank])), 2)
        mine = orders[rank]
        mine[one], mine[other] = mine[other], mine[one]
        found = makespan(orders, durations)
        if found <= best:
            best = found
        else:
            mine[one], mine[other] = mine[other], mine[one]
    return orders


def order(comm, traffic, row_bytes):
    return plan(traffic, comm.alpha_ns, row_bytes * comm.byte_ns)[comm.rank]


def dispatch(comm, x, experts, weights, recv_x, recv_experts, recv_weights, sources, received, *, count):
    rank, size = comm.rank, comm.size
    top, first = experts.shape[1], rank * count // size
    mine = visits(comm, experts, count)
    owner = owner_of(count, size)
    small = np.uint8 if count < 250 * size else np.uint32
    far = small(np.iinfo(small).max)

    def packed(to):
        """Of its tokens: the experts there by their number on that rank, their weights, and x."""
        tokens = mine[to]
        here = owner[experts[tokens]] == to
        numbers = np.where(here, experts[tokens] - to * count // size, far).astype(small)
        return np.concatenate(
            [part.reshape(-1).view(np.uint8) for part in (numbers, weights[tokens][here], np.ascontiguousarray(x[tokens]))]
        )

    row = x.shape[1] * x.itemsize
    if size > 2:
        traffic = gather(comm, [len(tokens) for tokens in mine])
    else:
        traffic = [[len(tokens) for tokens in mine]] * size
    for to in order(comm, traffic, row) if size > 2 else [to for to in range(size) if to != rank]:
        comm.send(to, packed(to))
    at = 0
    for source in range(size):
        if source == rank:
            data = packed(rank)
        elif size > 2 and not traffic[source][rank]:
            data = np.empty(0, np.uint8)
        else:
            data = comm.take(source, np.uint8)
        rows = traffic[source][rank] if size > 2 or source == rank else rows_in(data, top * small().itemsize, far, row, small)
        numbers = data[: rows * top * small().itemsize].view(small).reshape(rows, top)
        here = numbers != far
        values = data[numbers.nbytes :]
        known = values[: 4 * int(here.sum())].copy().view(np.float32)
        recv_experts[at : at + rows] = np.where(here, numbers.astype(np.int64) + first, -1)
        recv_weights[at : at + rows] = 0
        recv_weights[at : at + rows][here] = known
        recv_x[at : at + rows] = values[known.nbytes :].copy().view(x.dtype).reshape(rows, x.shape[1])
        sources[source] = rows
        at += rows
    received[0] = at


def rows_in(data, numbers, far, row, small):
    """Rows of a message whose length alone tells them: the weights are as many as there are experts."""
    rows = 0
    top = numbers // small().itemsize
    while True:
        here = int((data[: rows * numbers].view(small) != far).sum())
        if rows * (numbers + row) + 4 * here == len(data):
            return rows
        rows += 1
        assert top
        assert rows <= len(data)


def combine(comm, experts, sources, y, out, *, count):
    rank, size = comm.rank, comm.size
    mine = visits(comm, experts, count)
    edges = np.concatenate([[0], np.cumsum(sources)])
    row = out.shape[1] * out.itemsize
    if size > 2:
        traffic = gather(comm, sources)
        turn = order(comm, traffic, row)
    else:
        turn = [to for to in range(size) if to != rank and sources[to]]
    for to in turn:
        comm.send(to, y[edges[to] : edges[to + 1]])
    total = np.zeros(out.shape, np.float32 if out.dtype == np.float16 else out.dtype)
    for source in range(size):
        tokens = mine[source]
        if source == rank:
            total[tokens] += y[edges[rank] : edges[rank + 1]]
        elif len(tokens):
            total[tokens] += comm.take(source, y.dtype).reshape(len(tokens), -1)
    out[...] = total
