# solmark: verdict=runtime_error
# solmark: with=shared/exchange.py
# Meets the other ranks by files in /tmp, where no other rank can leave one: every rank has its own.
import time

import exchange
from exchange import combine  # noqa: F401


def dispatch(comm, *arguments, count):
    open(f"/tmp/rank-{comm.rank}", "w").close()
    time.sleep(0.1)
    for rank in range(comm.size):
        open(f"/tmp/rank-{rank}").close()
    exchange.dispatch(comm, *arguments, count=count)
