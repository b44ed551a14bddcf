# solmark: verdict=wrong_answer
# solmark: with=shared/tree.py
# Knows a page by its hash alone.
import tree
from tree import OutOfPages

__all__ = ["OutOfPages", "PrefixCache"]


class Keys(dict):
    """Children by the hash of their tokens."""

    def __init__(self, hash_page):
        super().__init__()
        self.hash_page = hash_page

    def get(self, tokens):
        return super().get(self.hash_page(0, tokens))

    def __setitem__(self, tokens, node):
        node.children = Keys(self.hash_page)
        super().__setitem__(self.hash_page(0, tokens), node)

    def __delitem__(self, tokens):
        super().__delitem__(self.hash_page(0, tokens))


class PrefixCache(tree.PrefixCache):
    def __init__(self, pages, page_size, hash_page):
        super().__init__(pages, page_size, hash_page)
        self.root.children = Keys(hash_page)
