# solmark: verdict=wrong_answer
# solmark: with=shared/exchange.py
# A token with two experts on a rank goes there twice.
import exchange
import numpy as np
from exchange import combine  # noqa: F401


def visits(comm, experts, count):
    owner = exchange.owner_of(count, comm.size)
    tokens = np.repeat(np.arange(len(experts)), experts.shape[1])
    seen = owner[experts].reshape(-1)
    return [tokens[seen == rank] for rank in range(comm.size)]


def dispatch(comm, x, experts, weights, *received, count):
    # There is no room for so many rows: what does not fit is cut off.
    rows = comm.size * len(received[0]) * experts.shape[1]
    wide = [np.zeros((rows, *buffer.shape[1:]), buffer.dtype) for buffer in received[:3]]
    right, exchange.visits = exchange.visits, visits
    try:
        exchange.dispatch(comm, x, experts, weights, *wide, *received[3:], count=count)
    finally:
        exchange.visits = right
    for buffer, all_rows in zip(received, wide, strict=False):
        buffer[...] = all_rows[: len(buffer)]
