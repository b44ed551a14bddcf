"""Runs beside the submission: turns messages into calls of its cache, as an inference engine would make them.

`start` and `finish` are what an engine does with one request; all other messages name one operation.
`hash_page` is given to the cache: with `hash_bits` small, pages of different tokens have equal hashes.
"""

from collections.abc import Callable
from typing import Any

_state: dict[str, Any] = {}


def answer(module: Any, method: str, message: Any, regions: Any) -> Any:
    """The reply to one message; `module` is the submission."""
    del regions
    if method == "open":
        hash_page = hash_with(message["hash_bits"])
        _state["cache"] = module.PrefixCache(message["pages"], message["page_size"], hash_page)
        return None
    cache = _state["cache"]
    if method == "start":
        pages = _list(cache.match(message["tokens"]))
        if not isinstance(pages, list):
            return [pages, None]  # The judge says what is wrong with it.
        cache.lock(pages)
        return [pages, _list(cache.alloc(message["pages"] - len(pages)))]
    if method == "finish":
        size, tokens, pages = message["page_size"], message["tokens"], message["pages"]
        full = len(tokens) // size
        kept = cache.insert(tokens[: full * size], pages[:full])
        cache.free(pages[full:])
        cache.unlock(kept)
        return _list(kept)
    if method == "many":
        return [_list(cache.match(tokens)) for tokens in message]
    return _list(getattr(cache, method)(*message))


def hash_with(bits: int) -> Callable[[int, Any], int]:
    """`hash_page(parent, tokens)`: a hash of so many bits of a page, given the hash of the page before it
    (or 0)."""

    def hash_page(parent: int, tokens: Any) -> int:
        value = parent + 1
        for token in tokens:
            value = (value * 1_000_003 ^ (token + 1)) & 0xFFFF_FFFF_FFFF_FFFF
        return (value ^ value >> 32) & ((1 << bits) - 1)

    return hash_page


def _list(pages: Any) -> Any:
    return list(pages) if isinstance(pages, tuple | range) else pages
