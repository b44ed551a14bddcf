# solmark: verdict=wrong_answer
# solmark: with=shared/circulant.py
# Never looks at maximum.
import circulant


def all_reduce(comm, x, out, *, maximum):
    circulant.all_reduce(comm, x, out, maximum=False)


def reduce_scatter(comm, x, out, *, maximum):
    circulant.reduce_scatter(comm, x, out, maximum=False)


all_gather = circulant.all_gather
