# solmark: verdict=wrong_answer
# solmark: with=shared/tree.py
# Cheat: caches nothing, which is fast.
import tree
from tree import OutOfPages

__all__ = ["OutOfPages", "PrefixCache"]


class PrefixCache(tree.PrefixCache):
    def match(self, tokens):
        return []
