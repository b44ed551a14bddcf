# solmark: verdict=wrong_answer
# solmark: with=shared/tree.py
# Returns its own page where the tokens are cached in another one.
import tree
from tree import OutOfPages

__all__ = ["OutOfPages", "PrefixCache"]


class PrefixCache(tree.PrefixCache):
    def insert(self, tokens, pages):
        super().insert(tokens, pages)
        return list(pages)
