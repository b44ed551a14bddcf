# solmark: verdict=accepted
# solmark: with=shared/tree.py
# solmark: reaches=0.9
# solmark: library=none
# A tree of pages; what continues nothing that was seen before goes first, then what was used longest ago.
from tree import OutOfPages, PrefixCache

__all__ = ["OutOfPages", "PrefixCache"]
