# solmark: verdict=wrong_answer
# solmark: with=shared/tree.py
# Remembers that a page is locked, not how often.
import tree
from tree import OutOfPages

__all__ = ["OutOfPages", "PrefixCache"]


class PrefixCache(tree.PrefixCache):
    def lock(self, pages):
        for page in pages:
            node = self.nodes[page]
            self.unlocked -= node.locks == 0
            node.locks = 1
