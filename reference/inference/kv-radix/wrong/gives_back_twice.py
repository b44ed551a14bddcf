# solmark: verdict=wrong_answer
# solmark: with=shared/tree.py
# Takes back pages that are free or cached.
import tree
from tree import OutOfPages

__all__ = ["OutOfPages", "PrefixCache"]


class PrefixCache(tree.PrefixCache):
    def free(self, pages):
        for page in pages:
            self.nodes.pop(page, None)
            self.free_pages.append(page)
