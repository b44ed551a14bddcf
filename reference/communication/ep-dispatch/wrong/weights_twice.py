# solmark: verdict=wrong_answer
# solmark: with=shared/exchange.py
# Applies the weights to x on the way: the experts will do it again.
import exchange
from exchange import combine  # noqa: F401


def dispatch(comm, x, experts, weights, *rest, count):
    exchange.dispatch(
        comm, (x * weights.mean(1, keepdims=True)).astype(x.dtype), experts, weights, *rest, count=count
    )
