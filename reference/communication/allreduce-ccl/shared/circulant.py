"""Collectives in rounds of doubling distance, for any number of ranks."""

import numpy as np


def combine(into, other, maximum):
    (np.maximum if maximum else np.add)(into, other, out=into)


def cut(elements, ranks):
    edges = [rank * elements // ranks for rank in range(ranks + 1)]
    return [slice(begin, end) for begin, end in zip(edges, edges[1:], strict=False)]


def distances(ranks):
    return [1 << bit for bit in range((ranks - 1).bit_length())]


def gather(comm, out):
    """Bruck's all-gather: out holds this rank's block; afterwards all of them."""
    rank, size = comm.rank, comm.size
    blocks = cut(len(out), size)
    for far in distances(size):
        count = min(far, size - far)
        mine = [blocks[(rank + i) % size] for i in range(count)]
        theirs = [blocks[(rank + far + i) % size] for i in range(count)]
        comm.send((rank - far) % size, np.concatenate([out[block] for block in mine]))
        data = comm.take((rank + far) % size, out.dtype)
        at = 0
        for block in theirs:
            length = block.stop - block.start
            out[block] = data[at : at + length]
            at += length


def scatter(comm, work, maximum):
    """The same backwards: partial results go where the blocks would have come from. work is overwritten."""
    rank, size = comm.rank, comm.size
    blocks = cut(len(work), size)
    for far in reversed(distances(size)):
        count = min(far, size - far)
        theirs = [blocks[(rank + far + i) % size] for i in range(count)]
        mine = [blocks[(rank + i) % size] for i in range(count)]
        comm.send((rank + far) % size, np.concatenate([work[block] for block in theirs]))
        data = comm.take((rank - far) % size, work.dtype)
        at = 0
        for block in mine:
            length = block.stop - block.start
            combine(work[block], data[at : at + length], maximum)
            at += length
    return blocks[rank]


def double(comm, out, maximum):
    """Recursive doubling of whole vectors: a power of two ranks."""
    other = np.empty_like(out)
    for far in distances(comm.size):
        comm.send(comm.rank ^ far, out)
        comm.recv(comm.rank ^ far, other)
        combine(out, other, maximum)


def collect(comm, out, maximum):
    """Everybody's whole vector to everybody, and then the sum: few rounds for any number of ranks."""
    vectors = np.zeros(comm.size * len(out), out.dtype)
    vectors[comm.rank * len(out) : (comm.rank + 1) * len(out)] = out
    gather(comm, vectors)
    rows = vectors.reshape(comm.size, len(out))
    out[...] = (rows.max if maximum else rows.sum)(axis=0, **({} if maximum else {"dtype": out.dtype}))


def halve(comm, out, maximum):
    """Reduce-scatter and all-gather: the fewest bytes."""
    scatter(comm, out, maximum)
    gather(comm, out)


def select(comm, nbytes):
    """The algorithm of the least predicted time."""
    size, steps = comm.size, (comm.size - 1).bit_length()
    alpha, byte = comm.alpha_ns, comm.byte_ns * nbytes
    times = {
        halve: 2 * steps * alpha + 2 * (size - 1) / size * byte,
        collect: steps * alpha + (size - 1) * byte,
    }
    if size & (size - 1) == 0:
        times[double] = steps * (alpha + byte)
    return min(times, key=times.get)


def all_reduce(comm, x, out, *, maximum):
    out[...] = x
    if comm.size > 1:
        select(comm, out.nbytes)(comm, out, maximum)


def reduce_scatter(comm, x, out, *, maximum):
    work = x.copy()
    out[...] = work[scatter(comm, work, maximum)]


def all_gather(comm, x, out):
    out[cut(len(out), comm.size)[comm.rank]] = x
    gather(comm, out)
