"""A tree of pages: each child is known by its page's tokens themselves, so that no hash can be wrong."""

import heapq


class OutOfPages(Exception):
    """Free and evictable pages together are too few."""


class Node:
    """A cached page; or one that a request still computes, which has no parent."""

    __slots__ = ("children", "key", "last", "locks", "page", "parent", "worth")

    def __init__(self, page, parent=None, key=None):
        self.page, self.parent, self.key = page, parent, key
        self.children, self.locks, self.last, self.worth = {}, 1, 0, 0


class PrefixCache:
    """Keeps what is likely to be wanted again: leaves go in the order of their last use plus their worth."""

    known = 1 << 40
    """Operations by which a page outlives its last use if something before it was found in the cache: what
    continues nothing that was seen before, such as a document, goes first."""

    def __init__(self, pages, page_size, hash_page):
        self.size = page_size
        self.free_pages = list(range(pages - 1, -1, -1))
        self.root = Node(None)
        self.nodes = {}
        self.heap = []
        self.clock = 0
        self.offers = 0
        self.unlocked = 0

    def match(self, tokens):
        self.clock += 1
        node, found = self.root, []
        for at in range(0, (len(tokens) - 1) // self.size * self.size, self.size):
            child = node.children.get(tuple(tokens[at : at + self.size]))
            if child is None:
                break
            child.last = self.clock
            found.append(child.page)
            node = child
        return found

    def lock(self, pages):
        for page in pages:
            node = self.nodes[page]
            if node.locks == 0:
                self.unlocked -= 1
            node.locks += 1

    def unlock(self, pages):
        self.clock += 1
        for page in pages:
            if page not in self.nodes or self.nodes[page].locks == 0:
                raise ValueError(f"page {page} is not locked")
        for page in pages:
            node = self.nodes[page]
            node.locks -= 1
            node.last = self.clock
            if node.locks == 0:
                self.unlocked += 1
                self.offer(node)

    def alloc(self, count):
        if count > len(self.free_pages) + self.unlocked:
            raise OutOfPages(f"{count} pages are wanted, {len(self.free_pages) + self.unlocked} can be had")
        if count > len(self.free_pages):
            self.evict(count - len(self.free_pages))
        pages = [self.free_pages.pop() for _ in range(count)]
        for page in pages:
            self.nodes[page] = Node(page)
        return pages

    def free(self, pages):
        for page in pages:
            if page not in self.nodes or self.nodes[page].parent is not None:
                raise ValueError(f"page {page} belongs to no request")
        for page in pages:
            del self.nodes[page]
            self.free_pages.append(page)

    def insert(self, tokens, pages):
        self.clock += 1
        node, kept, fresh = self.root, [], True
        for place, page in enumerate(pages):
            key = tuple(tokens[place * self.size : (place + 1) * self.size])
            child = node.children.get(key)
            if child is None:
                child = self.nodes[page]
                child.parent, child.key = node, key
                child.worth = 0 if fresh else self.known
                node.children[key] = child
            else:
                fresh = False
                if child.page != page:
                    self.lock([child.page])
                    del self.nodes[page]
                    self.free_pages.append(page)
                child.worth = self.known
            child.last = self.clock
            kept.append(child.page)
            node = child
        return kept

    def evict(self, count):
        gone = []
        while len(gone) < count and self.heap:
            score, _, node = heapq.heappop(self.heap)
            if self.nodes.get(node.page) is not node or node.locks or node.children:
                continue
            if score != self.score(node):
                self.offer(node)
                continue
            parent = node.parent
            del parent.children[node.key], self.nodes[node.page]
            self.unlocked -= 1
            gone.append(node.page)
            if parent is not self.root and not parent.locks:
                self.offer(parent)
        self.free_pages += gone
        return gone

    def score(self, node):
        return node.last + node.worth

    def offer(self, node):
        """Put a node where it can be found for eviction, if it is a leaf."""
        if not node.children:
            self.offers += 1
            heapq.heappush(self.heap, (self.score(node), self.offers, node))
