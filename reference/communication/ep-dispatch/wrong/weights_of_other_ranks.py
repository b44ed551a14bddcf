# solmark: verdict=wrong_answer
# solmark: with=shared/exchange.py
# Leaves the weights of other ranks' experts in, which would be counted there as well.
import exchange
from exchange import combine  # noqa: F401


def dispatch(comm, x, experts, weights, recv_x, recv_experts, recv_weights, sources, received, *, count):
    exchange.dispatch(
        comm, x, experts, weights, recv_x, recv_experts, recv_weights, sources, received, count=count
    )
    total = int(received[0])
    empty = recv_experts[:total] < 0
    recv_weights[:total][empty] = 0.5
