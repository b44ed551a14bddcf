# solmark: verdict=wrong_answer
# solmark: with=shared/exchange.py
# Cheat: keeps the counts of the call before, which looked alike, and saves their exchange.
import exchange

LAST = {}
RIGHT = exchange.gather


def gather(comm, row):
    key = comm.rank, comm.size, len(row)
    if key not in LAST:
        LAST[key] = RIGHT(comm, row)
    return LAST[key]


exchange.gather = gather
from exchange import combine, dispatch  # noqa: E402, F401
