# solmark: verdict=wrong_answer
# solmark: with=shared/tree.py
# Leaves evicted pages in the tree: they are found after they were given away.
import tree
from tree import OutOfPages

__all__ = ["OutOfPages", "PrefixCache"]


class PrefixCache(tree.PrefixCache):
    def evict(self, count):
        before = {page: (node.parent, node.key, node) for page, node in self.nodes.items()}
        gone = super().evict(count)
        for page in gone:
            parent, key, node = before[page]
            parent.children.setdefault(key, node)
        return gone
