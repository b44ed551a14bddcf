# solmark: verdict=wrong_answer
# solmark: with=shared/exchange.py
# Cheat: sends the upper half of every element's bytes alone; the receiver makes up the rest.
import exchange
import numpy as np
from exchange import combine  # noqa: F401


def dispatch(comm, x, experts, weights, recv_x, *rest, count):
    if x.itemsize != 4:
        return exchange.dispatch(comm, x, experts, weights, recv_x, *rest, count=count)
    upper = np.ascontiguousarray(x).view(np.uint16)[:, 1::2]
    got = np.zeros((len(recv_x), x.shape[1]), np.uint16)
    exchange.dispatch(comm, upper, experts, weights, got, *rest, count=count)
    total = int(rest[-1][0])
    both = np.zeros((total, 2 * x.shape[1]), np.uint16)
    both[:, 1::2] = got[:total]
    recv_x[:total] = both.view(x.dtype)
    return None
