# solmark: verdict=wrong_answer
# solmark: with=shared/tree.py
# Evicts leaves whether they are locked or not.
import tree
from tree import OutOfPages

__all__ = ["OutOfPages", "PrefixCache"]


class PrefixCache(tree.PrefixCache):
    def alloc(self, count):
        missing = count - len(self.free_pages)
        leaves = [n for n in self.nodes.values() if n.parent is not None and not n.children]
        for node in leaves[: max(0, missing)]:
            del node.parent.children[node.key], self.nodes[node.page]
            self.unlocked -= not node.locks
            self.free_pages.append(node.page)
        return super().alloc(count)
