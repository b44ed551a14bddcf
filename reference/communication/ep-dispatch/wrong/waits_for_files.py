# solmark: verdict=time_limit
# solmark: with=shared/exchange.py
# With seven ranks it waits in a loop of its own for files that no other rank can leave there.
import os

import exchange
from exchange import combine  # noqa: F401


def dispatch(comm, *arguments, count):
    open(f"/tmp/rank-{comm.rank}", "w").close()
    while comm.size == 7 and len([name for name in os.listdir("/tmp") if name.startswith("rank-")]) < 7:
        pass
    exchange.dispatch(comm, *arguments, count=count)
