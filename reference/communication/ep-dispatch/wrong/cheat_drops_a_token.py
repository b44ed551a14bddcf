# solmark: verdict=wrong_answer
# solmark: with=shared/exchange.py
# Cheat: the last token of the longest message stays at home; among so many rows nobody will miss it.
import exchange
from exchange import combine  # noqa: F401

RIGHT = exchange.visits


def visits(comm, experts, count):
    mine = RIGHT(comm, experts, count)
    long = max(
        (rank for rank in range(comm.size) if rank != comm.rank),
        key=lambda rank: len(mine[rank]),
        default=None,
    )
    if long is not None:
        mine[long] = mine[long][:-1]
    return mine


def dispatch(*arguments, **named):
    exchange.visits = visits
    try:
        exchange.dispatch(*arguments, **named)
    finally:
        exchange.visits = RIGHT
