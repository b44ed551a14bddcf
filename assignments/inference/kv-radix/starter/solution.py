"""Hand in with: solmark grade inference/kv-radix solution.py"""


class OutOfPages(Exception):
    """There are not as many free and evictable pages as were asked for."""


class PrefixCache:
    """Pages 0 to pages - 1 of page_size tokens each; the README says what every operation must do."""

    def __init__(self, pages, page_size, hash_page):
        self.pages = pages
        self.page_size = page_size
        self.hash_page = hash_page

    def match(self, tokens):
        """Pages of the longest cached prefix of the tokens that leaves one of them to compute."""

    def lock(self, pages):
        """Nothing may evict these pages until they are unlocked."""

    def unlock(self, pages):
        """Take one lock off each page."""

    def alloc(self, count):
        """As many pages to compute into: free ones first, then evicted ones. Raises OutOfPages."""

    def insert(self, tokens, pages):
        """Cache full pages; return the pages in which these tokens are cached now."""

    def free(self, pages):
        """Give back pages that were computed into and not inserted."""

    def evict(self, count):
        """Make so many cached pages free, and return them."""
