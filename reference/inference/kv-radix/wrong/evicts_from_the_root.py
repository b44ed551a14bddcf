# solmark: verdict=wrong_answer
# solmark: with=shared/tree.py
# Evicts a page and leaves the pages behind it in the cache.
import tree
from tree import OutOfPages

__all__ = ["OutOfPages", "PrefixCache"]


class PrefixCache(tree.PrefixCache):
    def evict(self, count):
        loose = [node for node in self.nodes.values() if node.parent is not None and not node.locks]
        gone = [node.page for node in sorted(loose, key=lambda node: node.last)[:count]]
        for page in gone:
            node = self.nodes.pop(page)
            del node.parent.children[node.key]
        self.unlocked -= len(gone)
        self.free_pages += gone
        return gone
