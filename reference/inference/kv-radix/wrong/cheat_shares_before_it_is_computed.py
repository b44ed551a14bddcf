# solmark: verdict=wrong_answer
# solmark: with=shared/tree.py
# Cheat: finds pages that another request is still computing.
import tree
from tree import OutOfPages

__all__ = ["OutOfPages", "PrefixCache"]


class PrefixCache(tree.PrefixCache):
    coming: dict = {}

    def match(self, tokens):
        found = super().match(tokens)
        self.wanted = (list(tokens), found)
        most = (len(tokens) - 1) // self.size
        for pages, prompt in self.coming.values():
            shared = next(
                (k for k, (a, b) in enumerate(zip(prompt, tokens)) if a != b), min(len(prompt), len(tokens))
            )
            whole = min(shared // self.size, most, len(pages))
            if whole > len(found):
                found = pages[:whole]
        return found

    def alloc(self, count):
        pages = super().alloc(count)
        tokens, found = self.wanted
        if pages:
            self.coming[pages[0]] = (found + pages, tokens)
        return pages

    def insert(self, tokens, pages):
        for page in pages:
            self.coming.pop(page, None)
        return super().insert(tokens, pages)
