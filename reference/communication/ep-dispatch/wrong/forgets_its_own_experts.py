# solmark: verdict=wrong_answer
# solmark: with=shared/exchange.py
# Adds up what comes over the network; what its own experts made stays where it is.
import exchange
from exchange import dispatch  # noqa: F401


def combine(comm, experts, sources, y, out, *, count):
    silent = y.copy()
    begin = int(sources[: comm.rank].sum())
    silent[begin : begin + int(sources[comm.rank])] = 0
    exchange.combine(comm, experts, sources, silent, out, count=count)
