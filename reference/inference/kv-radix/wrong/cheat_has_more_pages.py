# solmark: verdict=wrong_answer
# solmark: with=shared/tree.py
# Cheat: makes up pages beyond those that there are.
import tree
from tree import OutOfPages

__all__ = ["OutOfPages", "PrefixCache"]


class PrefixCache(tree.PrefixCache):
    def __init__(self, pages, page_size, hash_page):
        super().__init__(10 * pages, page_size, hash_page)
