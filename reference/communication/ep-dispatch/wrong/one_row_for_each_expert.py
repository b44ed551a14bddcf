# solmark: verdict=runtime_error
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


def dispatch(*arguments, **named):
    right, exchange.visits = exchange.visits, visits
    try:
        exchange.dispatch(*arguments, **named)
    finally:
        exchange.visits = right
