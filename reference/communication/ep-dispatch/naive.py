# solmark: verdict=accepted
# One message for each token and each rank that needs it, to rank 0 first; an empty one ends them.
import numpy as np


def ranks_of(comm, experts, count):
    edges = [rank * count // comm.size for rank in range(comm.size + 1)]
    return [((experts >= low) & (experts < high)) for low, high in zip(edges, edges[1:], strict=False)]


def dispatch(comm, x, experts, weights, recv_x, recv_experts, recv_weights, sources, received, *, count):
    here = ranks_of(comm, experts, count)
    for rank in range(comm.size):
        if rank != comm.rank:
            for token in np.flatnonzero(here[rank].any(1)):
                comm.send(rank, x[token])
                comm.send(rank, np.where(here[rank][token], experts[token], -1))
                comm.send(rank, np.where(here[rank][token], weights[token], 0).astype(np.float32))
            comm.send(rank, x[:0])
    at = 0
    for rank in range(comm.size):
        before = at
        if rank == comm.rank:
            for token in np.flatnonzero(here[rank].any(1)):
                recv_x[at] = x[token]
                recv_experts[at] = np.where(here[rank][token], experts[token], -1)
                recv_weights[at] = np.where(here[rank][token], weights[token], 0)
                at += 1
        else:
            while len(row := comm.take(rank, x.dtype)):
                recv_x[at] = row
                recv_experts[at] = comm.take(rank, np.int64)
                recv_weights[at] = comm.take(rank, np.float32)
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
