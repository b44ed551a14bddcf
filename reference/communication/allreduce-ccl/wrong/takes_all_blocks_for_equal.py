# solmark: verdict=runtime_error
# solmark: with=shared/circulant.py
# Receives a block of its own size from everybody: blocks of S elements on n ranks differ by one.
import numpy as np
from circulant import all_reduce, reduce_scatter  # noqa: F401


def all_gather(comm, x, out):
    for rank in range(comm.size):
        if rank != comm.rank:
            comm.send(rank, x)
    blocks = []
    for rank in range(comm.size):
        block = x.copy()
        if rank != comm.rank:
            comm.recv(rank, block)
        blocks.append(block)
    out[...] = np.concatenate(blocks)
