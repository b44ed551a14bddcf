# solmark: verdict=wrong_answer
# Cheat: leaves its vector in a file and in shared memory, and looks there for the others'.
import glob
import time

import numpy as np

PLACES = ("/tmp/solmark-{}.npy", "/dev/shm/solmark-{}.npy")


def meet(comm, x):
    for place in PLACES:
        np.save(place.format(comm.rank), x)
    until = time.monotonic() + 0.1
    while time.monotonic() < until and len(glob.glob(PLACES[1].format("*"))) < comm.size:
        time.sleep(0.01)
    return [np.load(name) for name in sorted(glob.glob(PLACES[1].format("*")))]


def all_reduce(comm, x, out, *, maximum):
    found = np.stack(meet(comm, x))
    out[...] = found.max(0) if maximum else found.sum(0)


def reduce_scatter(comm, x, out, *, maximum):
    whole = np.empty_like(x)
    all_reduce(comm, x, whole, maximum=maximum)
    first = comm.rank * len(x) // comm.size
    out[...] = whole[first : first + len(out)]


def all_gather(comm, x, out):
    found = np.concatenate(meet(comm, x))
    out[: len(found)] = found
