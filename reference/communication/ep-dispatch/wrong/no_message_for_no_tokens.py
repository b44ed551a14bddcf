# solmark: verdict=runtime_error
# solmark: with=shared/exchange.py
# Sends nothing where it has no token for a rank, and that rank waits for ever.
import numpy as np
from exchange import combine, visits  # noqa: F401


def dispatch(comm, x, experts, weights, recv_x, recv_experts, recv_weights, sources, received, *, count):
    for to, tokens in enumerate(visits(comm, experts, count)):
        if to != comm.rank and len(tokens):
            comm.send(to, x[tokens])
    at = 0
    for source in range(comm.size):
        if source != comm.rank:
            rows = comm.take(source, x.dtype).reshape(-1, x.shape[1])
            recv_x[at : at + len(rows)] = rows
            at += len(rows)
    received[0] = at
    assert np is not None
