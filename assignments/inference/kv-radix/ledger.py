"""The judge's book of pages: what each holds and who holds it. Every answer of a cache is held against it.

A page is free, owned by a request that computes into it, or cached: then it holds the tokens of one block,
known by its number, and the blocks before it. Cached pages may be locked, any number of times; owned ones
are locked once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from grader.task import Refused

ROOT = -1


@dataclass
class Ledger:
    """Follows the operations on one cache. Raises Refused for the first answer that is wrong."""

    pages: int
    page_size: int
    collide: bool = False
    """Hashes of pages collide in this case: said in messages."""
    free: set[int] = field(default_factory=set)
    locks: dict[int, int] = field(default_factory=dict)
    """By page that is owned or cached."""
    block: dict[int, int] = field(default_factory=dict)
    """By cached page: its block."""
    page_of: dict[int, int] = field(default_factory=dict)
    """By block that is cached: its page."""
    parent: dict[int, int] = field(default_factory=dict)
    """By block: the one before it."""
    children: dict[int, int] = field(default_factory=dict)
    """By block: how many cached ones come right behind it."""
    numbers: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)
    evictable: int = 0
    """Cached pages that nobody has locked."""
    found: int = 0
    """Tokens that were matched."""

    def __post_init__(self) -> None:
        self.free = set(range(self.pages))

    # --- operations

    def match(self, tokens: Sequence[int], answer: object) -> list[int]:
        """The longest cached prefix in whole pages that leaves a token to compute."""
        pages = self._pages("match", answer)
        most = max(0, len(tokens) - 1) // self.page_size
        if len(pages) > most:
            if len(pages) * self.page_size >= len(tokens) and len(tokens) // self.page_size == len(pages):
                raise _wrong(
                    "match",
                    f"found all {len(tokens)} tokens; one must be left to compute: it gives the answer",
                    f"匹配了全部 {len(tokens)} 个 token；至少要留一个计算，输出由它得到",
                )
            raise _wrong(
                "match",
                f"gives {len(pages)} pages for {len(tokens)} tokens; at most {most} can be asked for",
                f"对 {len(tokens)} 个 token 给出 {len(pages)} 页；最多 {most} 页",
            )
        before = ROOT
        for place, block in enumerate(self.blocks(tokens[: most * self.page_size])):
            right = self.page_of.get(block)
            if place >= len(pages):
                if right is None:
                    break
                raise _wrong(
                    "match",
                    f"stops after {place} pages, but the next one is cached as page {right}",
                    f"在 {place} 页之后停止，但下一页已缓存在第 {right} 页",
                )
            page = pages[place]
            if page != right:
                raise self._not_that(page, place, right)
            before = block
        del before
        self.found += len(pages) * self.page_size
        return pages

    def _not_that(self, page: int, place: int, right: int | None) -> Refused:
        """Why a matched page is not the one: free, being computed, or of other tokens."""
        if page in self.free:
            en, zh = "is free: it was evicted or given back", "是空闲页：已被驱逐或归还"
        elif page not in self.block:
            en, zh = "is still being computed; its tokens come in the future", "仍在计算中；其 token 属于未来"
        else:
            en, zh = "holds other tokens", "保存的是别的 token"
            if self.collide:
                en += " (equal hashes are not equal tokens)"
                zh += "（哈希相等不等于 token 相等）"
        better = f"; page {right} is right" if right is not None else "; these tokens are not cached"
        better_zh = f"；应为第 {right} 页" if right is not None else "；这些 token 未被缓存"
        return _wrong(
            "match",
            f"gives page {page} at place {place}, which {en}{better}",
            f"在位置 {place} 给出第 {page} 页，它{zh}{better_zh}",
        )

    def lock(self, pages: Sequence[int]) -> None:
        """Nobody may evict them until they are unlocked as often."""
        for page in pages:
            if page in self.block and not self.locks[page]:
                self.evictable -= 1
            self.locks[page] += 1

    def unlock(self, pages: Sequence[int]) -> None:
        """The other way round."""
        for page in pages:
            self.locks[page] -= 1
            if page in self.block and not self.locks[page]:
                self.evictable += 1

    def can_alloc(self, count: int) -> bool:
        """Whether so many pages can be had."""
        return count <= len(self.free) + self.evictable

    def alloc(self, count: int, answer: object) -> list[int]:
        """Pages to compute into: free ones first, then evicted ones."""
        pages = self._pages("alloc", answer)
        if len(pages) != count or len(set(pages)) != count:
            raise _wrong(
                "alloc",
                f"gives {len(set(pages))} different pages; {count} were asked for",
                f"给出 {len(set(pages))} 个不同的页；要求 {count} 页",
            )
        evicted = [page for page in pages if page not in self.free]
        if len(evicted) > max(0, count - len(self.free)):
            raise _wrong(
                "alloc",
                f"evicts page {evicted[0]} although {len(self.free)} pages are free",
                f"在还有 {len(self.free)} 个空闲页时驱逐了第 {evicted[0]} 页",
            )
        self._evict("alloc", evicted)
        for page in pages:
            self.free.remove(page)
            self.locks[page] = 1
        return pages

    def evict(self, count: int, answer: object) -> list[int]:
        """Cached pages that become free, as many as asked for or as there are."""
        pages = self._pages("evict", answer)
        wanted = min(count, self.evictable)
        if len(pages) != wanted or len(set(pages)) != wanted:
            raise _wrong(
                "evict",
                f"gives {len(set(pages))} different pages; {wanted} of {count} can be evicted",
                f"给出 {len(set(pages))} 个不同的页；要求 {count} 页，可驱逐 {wanted} 页",
            )
        self._evict("evict", pages)
        return pages

    def _evict(self, method: str, pages: Sequence[int]) -> None:
        for page in pages:
            if page in self.free:
                raise _wrong(method, f"evicts page {page}, which is free", f"驱逐了第 {page} 页，它是空闲的")
            if self.locks[page]:
                who = "is locked" if page in self.block else "belongs to a request that computes into it"
                who_zh = "已被锁定" if page in self.block else "属于正在写入它的请求"
                raise _wrong(
                    method, f"gives page {page} away, which {who}", f"给出了第 {page} 页，它{who_zh}"
                )
        going = {self.block[page] for page in pages}
        for block in going:
            parent = self.parent[block]
            if parent != ROOT:
                self.children[parent] -= 1
        for page in pages:
            block = self.block[page]
            if self.children.get(block, 0):
                raise _wrong(
                    method,
                    f"evicts page {page}, but pages behind it stay cached, where nobody can reach them",
                    f"驱逐了第 {page} 页，但其后的页仍在缓存中，再也无法到达",
                )
        for page in pages:
            del self.page_of[self.block.pop(page)]
            del self.locks[page]
            self.free.add(page)
        self.evictable -= len(pages)

    def insert(self, tokens: Sequence[int], pages: Sequence[int], answer: object) -> list[int]:
        """The pages under which the tokens are cached now: those given, or those that were cached before."""
        given = self._pages("insert", answer)
        right = []
        known = self.blocks(tokens)
        for page, block in zip(pages, known, strict=True):
            right.append(self.page_of.get(block, page))
        if given != right:
            if len(given) != len(right):
                raise _wrong(
                    "insert",
                    f"gives {len(given)} pages for {len(right)}",
                    f"对 {len(right)} 页给出了 {len(given)} 页",
                )
            place = next(k for k, page in enumerate(right) if given[k] != page)
            raise _wrong(
                "insert",
                f"gives page {given[place]} at place {place}; these tokens are in page {right[place]}",
                f"在位置 {place} 给出第 {given[place]} 页；这些 token 在第 {right[place]} 页",
            )
        before = ROOT
        for page, kept, block in zip(pages, right, known, strict=True):
            if kept != page:  # A copy: the page goes back, the lock goes over.
                del self.locks[page]
                self.free.add(page)
                self.lock([kept])
            elif page not in self.block:
                self.block[page] = block
                self.page_of[block] = page
                self.parent[block] = before
                if before != ROOT:
                    self.children[before] = self.children.get(before, 0) + 1
            before = block
        return right

    def give_back(self, pages: Sequence[int]) -> None:
        """Owned pages become free again."""
        for page in pages:
            del self.locks[page]
            self.free.add(page)

    # --- what is looked up

    def blocks(self, tokens: Sequence[int]) -> list[int]:
        """Numbers of the full pages of some tokens."""
        size, before, found = self.page_size, ROOT, []
        for at in range(0, len(tokens) - size + 1, size):
            before = self.numbers.setdefault((before, tuple(tokens[at : at + size])), len(self.numbers))
            found.append(before)
        return found

    def _pages(self, method: str, answer: object) -> list[int]:
        """A list of pages, each an integer that is one."""
        if not isinstance(answer, list):
            raise _wrong(
                method,
                f"gives {_short(answer)}; a list of pages is needed",
                f"给出 {_short(answer)}；需要页的列表",
            )
        for page in answer:
            if not isinstance(page, int) or isinstance(page, bool) or not 0 <= page < self.pages:
                last = self.pages - 1
                raise _wrong(
                    method,
                    f"gives {_short(page)} as a page; they are 0 to {last}",
                    f"把 {_short(page)} 当作页；编号为 0 到 {last}",
                )
        return list(answer)


def _wrong(method: str, en: str, zh: str) -> Refused:
    return Refused(f"`{method}` {en}.", f"`{method}` {zh}。")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
