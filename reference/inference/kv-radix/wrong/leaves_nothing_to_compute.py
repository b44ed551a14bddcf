# solmark: verdict=wrong_answer
# solmark: with=shared/tree.py
# Finds all of a prompt whose length is a multiple of the page size.
import tree
from tree import OutOfPages

__all__ = ["OutOfPages", "PrefixCache"]


class PrefixCache(tree.PrefixCache):
    def match(self, tokens):
        return super().match([*tokens, 0])
