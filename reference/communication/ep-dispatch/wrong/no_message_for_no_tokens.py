# solmark: verdict=runtime_error
# solmark: with=naive.py
# Leaves out messages without a row, and with them the end that the receiver waits for.
import naive
from naive import combine  # noqa: F401


class Thrifty:
    def __init__(self, comm):
        self.comm = comm

    def __getattr__(self, name):
        return getattr(self.comm, name)

    def send(self, to, array):
        if len(array):
            self.comm.send(to, array)


def dispatch(comm, *arguments, count):
    naive.dispatch(Thrifty(comm), *arguments, count=count)
