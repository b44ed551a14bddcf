# solmark: verdict=accepted
# One message for each token and each rank that needs it, to rank 0 first; an empty one ends them.
import numpy as np


def ranks_of(comm, experts, count):
    edges = [rank * count // comm.size for rank in range(comm.size + 1)]
    return [((experts >= low) & (experts < high)) for low, high in zip(edges, edges[1:], strict=False)]


def packed(*parts):
    return np.concatenate([np.ascontiguousarray(part).view(np.uint8) for part in parts])


def dispatch(comm, x, experts, weights, recv_x, recv_experts, recv_weights, sources, received, *, count):
    here = ranks_of(comm, experts, count)

    def rows(rank):
        for token in np.flatnonzero(here[rank].any(1)):
            mine = here[rank][token]
            yield x[token], np.where(mine, experts[token], -1), np.where(mine, weights[token], np.float32(0))

    for rank in range(comm.size):
        if rank != comm.rank:
            for row in rows(rank):
                comm.send(rank, packed(*row))
            comm.send(rank, x[:0])
    at = 0
    ends = np.cumsum([x.shape[1] * x.itemsize, experts.shape[1] * experts.itemsize])
    for rank in range(comm.size):
        before = at
        if rank == comm.rank:
            for row in rows(rank):
                recv_x[at], recv_experts[at], recv_weights[at] = row
                at += 1
        else:
            while len(message := comm.take(rank, np.uint8)):
                row, chosen, weight = np.split(message, ends)
                recv_x[at] = row.view(x.dtype)
                recv_experts[at] = chosen.view(experts.dtype)
                recv_weights[at] = weight.view(np.float32)
                at += 1
        sources[rank] = at - before
    received[0] = at


def combine(comm, experts, sources, y, out, *, count):
    at = 0
    here = ranks_of(comm, experts, count)
    total = np.zeros(out.shape, np.float64 if out.dtype.kind == "f" else out.dtype)
    for rank in range(comm.size):
        for _ in range(sources[rank]):
            if rank != comm.rank:
                comm.send(rank, y[at])
            at += 1
    own = iter(y[sources[: comm.rank].sum() :])
    for rank in range(comm.size):
        for token in np.flatnonzero(here[rank].any(1)):
            total[token] += next(own) if rank == comm.rank else comm.take(rank, y.dtype)
    out[...] = total
