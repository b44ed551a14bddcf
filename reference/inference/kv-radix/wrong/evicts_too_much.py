# solmark: verdict=wrong_answer
# solmark: with=shared/tree.py
# Evicts a quarter more than it was asked to, to have some in stock.
import tree
from tree import OutOfPages

__all__ = ["OutOfPages", "PrefixCache"]


class PrefixCache(tree.PrefixCache):
    def evict(self, count):
        return super().evict(count + max(1, count // 4))
