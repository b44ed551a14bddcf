# solmark: verdict=wrong_answer
# solmark: with=shared/exchange.py
# Clears the rest of what it received, which is nobody's to write.
import exchange
from exchange import combine  # noqa: F401


def dispatch(comm, x, experts, weights, recv_x, recv_experts, recv_weights, sources, received, *, count):
    recv_x[...] = 0
    exchange.dispatch(
        comm, x, experts, weights, recv_x, recv_experts, recv_weights, sources, received, count=count
    )
