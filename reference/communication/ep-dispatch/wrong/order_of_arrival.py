# solmark: verdict=wrong_answer
# solmark: with=shared/exchange.py
# Takes its neighbour's rows first and leaves them in that order.
import exchange
import numpy as np
from exchange import combine  # noqa: F401


def dispatch(comm, x, experts, weights, recv_x, recv_experts, recv_weights, sources, received, *, count):
    exchange.dispatch(
        comm, x, experts, weights, recv_x, recv_experts, recv_weights, sources, received, count=count
    )
    begin, total = int(sources[: comm.rank].sum()), int(received[0])
    for part in (recv_x, recv_experts, recv_weights):
        part[:total] = np.roll(part[:total], -begin, axis=0)
