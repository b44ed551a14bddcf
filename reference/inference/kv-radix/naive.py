# solmark: verdict=accepted
# solmark: with=shared/tree.py
# What was used longest ago goes first, whatever it is.
import tree
from tree import OutOfPages

__all__ = ["OutOfPages", "PrefixCache"]


class PrefixCache(tree.PrefixCache):
    known = 0
