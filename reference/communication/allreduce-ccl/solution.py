# solmark: verdict=accepted
# solmark: with=shared/circulant.py
# solmark: reaches=0.95
# solmark: library=none
# Rounds of doubling distance for any number of ranks; short vectors whole, long ones in blocks.
from circulant import all_gather, all_reduce, reduce_scatter

__all__ = ["all_gather", "all_reduce", "reduce_scatter"]
