# solmark: verdict=wrong_answer
# solmark: with=shared/circulant.py
# Cuts the vector into blocks of S // n elements: what does not divide evenly is nobody's.
import circulant


def even(elements, ranks):
    size = elements // ranks
    return [slice(rank * size, (rank + 1) * size) for rank in range(ranks)]


circulant.cut = even
from circulant import all_gather, all_reduce, reduce_scatter  # noqa: E402, F401
