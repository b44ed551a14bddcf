"""Tokens to the ranks of their experts and back, in rounds that keep the busiest rank's link busy."""

import numpy as np

CRUMBS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 1 << 30)


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


def makespan(turns, alpha, row_ns):
    """When the last message ends; a rank's leave in its order, each as soon as both links are free;
    who has waited longer goes first."""
    size = len(turns)
    out, into, at, end = [0] * size, [0] * size, [0] * size, 0
    while True:
        first = None
        for rank in range(size):
            if at[rank] < len(turns[rank]):
                to, rows = turns[rank][at[rank]]
                turn = (max(out[rank], into[to]), out[rank], rank, to, rows)
                first = turn if first is None else min(first, turn)
        if first is None:
            return end
        start, _, rank, to, rows = first
        out[rank] = into[to] = start + alpha + rows * row_ns
        end = max(end, out[rank])
        at[rank] += 1


def matching(allowed):
    """A partner for every sender, or None: augmenting paths."""
    size = len(allowed)
    sender = [-1] * size

    def grows(rank, seen):
        for to in range(size):
            if allowed[rank][to] and to not in seen:
                seen.add(to)
                if sender[to] < 0 or grows(sender[to], seen):
                    sender[to] = rank
                    return True
        return False

    if not all(grows(rank, set()) for rank in range(size)):
        return None
    return [sender.index(rank) for rank in range(size)]


def widest(rest):
    """The matching whose smallest entry is largest."""
    values = sorted({value for line in rest for value in line if value})
    low, high, best = 0, len(values) - 1, None
    while low <= high:
        middle = (low + high) // 2
        found = matching([[value >= values[middle] for value in line] for line in rest])
        if found is None:
            high = middle - 1
        else:
            best, low = found, middle + 1
    return best


def rounds(traffic, crumb):
    """By rank (to, rows) in rounds in which nobody waits for anybody: Birkhoff's decomposition.

    The matrix is filled up until every rank sends and receives as much as the busiest one; then a matching
    always exists. What would be left of a pair and is at most `crumb` rows goes along.
    """
    size = len(traffic)
    left = [[rows if rank != to else 0 for to, rows in enumerate(line)] for rank, line in enumerate(traffic)]
    most = max(max(map(sum, left)), max(map(sum, zip(*left, strict=True))))
    spare_out, spare_in = (
        [most - sum(line) for line in left],
        [most - sum(line) for line in zip(*left, strict=True)],
    )
    rest = [list(line) for line in left]
    for rank in range(size):
        for to in range(size):
            fill = min(spare_out[rank], spare_in[to])
            rest[rank][to] += fill
            spare_out[rank] -= fill
            spare_in[to] -= fill
    turns = [[] for _ in range(size)]
    while any(map(any, left)):
        partner = widest(rest)
        length = min(rest[rank][partner[rank]] for rank in range(size))
        for rank, to in enumerate(partner):
            rest[rank][to] -= length
            rows = min(length, left[rank][to])
            if left[rank][to] - rows <= crumb:
                rows = left[rank][to]
            if rows:
                turns[rank].append((to, rows))
                left[rank][to] -= rows
    return turns


def rotations(traffic):
    """By rank (to, rows), each to its next neighbour first."""
    size = len(traffic)
    return [
        [
            (to, traffic[rank][to])
            for to in ((rank + step) % size for step in range(1, size))
            if traffic[rank][to]
        ]
        for rank in range(size)
    ]


def plan(traffic, alpha, row_ns):
    """The best of a few schedules: few large messages, or more of them and less waiting."""
    plans = [rotations(traffic), *(rounds(traffic, crumb) for crumb in CRUMBS)]
    return min(plans, key=lambda turns: makespan(turns, alpha, row_ns))


def dispatch(comm, x, experts, weights, recv_x, recv_experts, recv_weights, sources, received, *, count):
    rank, size = comm.rank, comm.size
    top, first = experts.shape[1], rank * count // size
    mine = visits(comm, experts, count)
    owner = owner_of(count, size)
    small = np.uint8 if count < 250 * size else np.uint32
    far = small(np.iinfo(small).max)

    def packed(to, tokens):
        """Of some tokens: the experts there by their number on that rank, their weights, and x."""
        here = owner[experts[tokens]] == to
        numbers = np.where(here, experts[tokens] - to * count // size, far).astype(small)
        parts = (numbers, weights[tokens][here], np.ascontiguousarray(x[tokens]))
        return np.concatenate([part.reshape(-1).view(np.uint8) for part in parts])

    traffic = gather(comm, [len(tokens) for tokens in mine])
    turns = plan(traffic, comm.alpha_ns, comm.byte_ns * (x.shape[1] * x.itemsize + 5 * top // 2))
    sent = [0] * size
    for to, rows in turns[rank]:
        comm.send(to, packed(to, mine[to][sent[to] : sent[to] + rows]))
        sent[to] += rows
    at = 0
    for source in range(size):
        pieces = [rows for to, rows in turns[source] if to == rank] if source != rank else [len(mine[rank])]
        for rows in pieces:
            data = packed(rank, mine[rank]) if source == rank else comm.take(source, np.uint8)
            numbers = data[: rows * top * small().itemsize].view(small).reshape(rows, top)
            here = numbers != far
            values = data[numbers.nbytes :]
            known = values[: 4 * int(here.sum())].copy().view(np.float32)
            recv_experts[at : at + rows] = np.where(here, numbers.astype(np.int64) + first, -1)
            recv_weights[at : at + rows] = 0
            recv_weights[at : at + rows][here] = known
            recv_x[at : at + rows] = values[known.nbytes :].copy().view(x.dtype).reshape(rows, x.shape[1])
            at += rows
        sources[source] = sum(pieces)
    received[0] = at


def combine(comm, experts, sources, y, out, *, count):
    rank, size = comm.rank, comm.size
    mine = visits(comm, experts, count)
    edges = np.concatenate([[0], np.cumsum(sources)])
    traffic = gather(comm, sources)
    turns = plan(traffic, comm.alpha_ns, comm.byte_ns * out.shape[1] * out.itemsize)
    sent = [0] * size
    for to, rows in turns[rank]:
        begin = edges[to] + sent[to]
        comm.send(to, y[begin : begin + rows])
        sent[to] += rows
    total = np.zeros(out.shape, np.float32 if out.dtype == np.float16 else out.dtype)
    for source in range(size):
        at = 0
        if source == rank:
            total[mine[rank]] += y[edges[rank] : edges[rank + 1]]
            continue
        for rows in [rows for to, rows in turns[source] if to == rank]:
            tokens = mine[source][at : at + rows]
            total[tokens] += comm.take(source, y.dtype).reshape(rows, -1)
            at += rows
    out[...] = total
