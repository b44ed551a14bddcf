# solmark: verdict=wrong_answer
# solmark: with=shared/tree.py
# Evicts everything before it finds that the pages are too few.
import tree
from tree import OutOfPages

__all__ = ["OutOfPages", "PrefixCache"]


class PrefixCache(tree.PrefixCache):
    def alloc(self, count):
        if count > len(self.free_pages):
            self.evict(count - len(self.free_pages))
        return super().alloc(count)
