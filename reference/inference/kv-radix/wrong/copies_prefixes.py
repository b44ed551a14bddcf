# solmark: verdict=time_limit
# solmark: with=shared/tree.py
# Looks up every prefix as a whole: the work grows with the square of the length.
import tree
from tree import OutOfPages

__all__ = ["OutOfPages", "PrefixCache"]


class PrefixCache(tree.PrefixCache):
    def __init__(self, pages, page_size, hash_page):
        super().__init__(pages, page_size, hash_page)
        self.prefixes = {}

    def match(self, tokens):
        found = []
        for end in range(self.size, len(tokens), self.size):
            page = self.prefixes.get(tuple(tokens[:end]))
            node = self.nodes.get(page)
            if node is None or node.key != tuple(tokens[end - self.size : end]):
                break
            found.append(page)
        return super().match(tokens) if found else []

    def insert(self, tokens, pages):
        kept = super().insert(tokens, pages)
        for place, page in enumerate(kept):
            self.prefixes[tuple(tokens[: (place + 1) * self.size])] = page
        return kept
