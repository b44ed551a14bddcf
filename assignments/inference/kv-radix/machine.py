"""A state machine that plays engine: random operations in every order, each answer held against the
ledger."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from grader.task import Candidate, Json, Raised, Refused

from .ledger import Ledger

OUT_OF_PAGES = "OutOfPages"


@dataclass
class Running:
    """A request between start and end: its tokens, and its pages, cached ones first."""

    tokens: list[int]
    pages: list[int]


@dataclass
class Machine:
    """Random requests over few different tokens, so that prefixes meet, split and collide."""

    ledger: Ledger
    candidate: Candidate
    random: Random
    running: list[Running] = field(default_factory=list)
    said: list[list[int]] = field(default_factory=list)
    """Token lists that were inserted before."""

    def play(self, steps: int) -> None:
        """So many operations, then an end at which every page must come back. Raises Refused."""
        moves = (self.begin, self.begin, self.end, self.end, self.look, self.evict, self.drop, self.wrong)
        for _ in range(steps):
            self.random.choice(moves)()
        while self.running:
            self.end()
        self.drain()

    def begin(self) -> None:
        """A request: match, lock, allocate what is missing."""
        ledger, tokens = self.ledger, self.tokens()
        cached = ledger.match(tokens, self.ask("match", [tokens]))
        self.tell("lock", [cached])
        ledger.lock(cached)
        held = -(-(len(tokens) + self.random.randrange(2 * ledger.page_size)) // ledger.page_size)
        fresh = self.alloc(held - len(cached))
        if fresh is None:
            self.tell("unlock", [cached])
            ledger.unlock(cached)
            return
        answer = held * ledger.page_size - len(tokens)
        tokens = tokens + self.words(self.random.randint(0, answer))
        self.running.append(Running(tokens, cached + fresh))

    def end(self) -> None:
        """A request is finished: its full pages go into the cache, the rest is given back."""
        if not self.running:
            return
        ledger, one = self.ledger, self.running.pop(self.random.randrange(len(self.running)))
        full = len(one.tokens) // ledger.page_size
        tokens, pages = one.tokens[: full * ledger.page_size], one.pages[:full]
        kept = ledger.insert(tokens, pages, self.ask("insert", [tokens, pages]))
        self.tell("free", [one.pages[full:]])
        ledger.give_back(one.pages[full:])
        self.tell("unlock", [kept])
        ledger.unlock(kept)
        self.said.append(one.tokens)

    def drop(self) -> None:
        """A request is aborted: what it computed is given back, what it found unlocked."""
        if not self.running:
            return
        one = self.running.pop(self.random.randrange(len(self.running)))
        found = [page for page in one.pages if page in self.ledger.block]
        own = [page for page in one.pages if page not in self.ledger.block]
        self.tell("free", [own])
        self.ledger.give_back(own)
        self.tell("unlock", [found])
        self.ledger.unlock(found)

    def look(self) -> None:
        """A match alone changes nothing."""
        tokens = self.tokens()
        self.ledger.match(tokens, self.ask("match", [tokens]))

    def evict(self) -> None:
        """Make room."""
        count = self.random.randint(0, 4)
        self.ledger.evict(count, self.ask("evict", [count]))

    def alloc(self, count: int) -> list[int] | None:
        """Pages, or None where there must not be any."""
        reply = self.candidate.ask("alloc", [count])
        if self.ledger.can_alloc(count):
            if isinstance(reply, Raised):
                raise _raised("alloc", reply, f"{count} pages could be had", f"本可得到 {count} 页")
            return self.ledger.alloc(count, reply)
        if not isinstance(reply, Raised) or reply.kind != OUT_OF_PAGES:
            found = f"raised {reply.kind}" if isinstance(reply, Raised) else "returned"
            found_zh = f"抛出了 {reply.kind}" if isinstance(reply, Raised) else "返回了结果"
            raise Refused(
                f"`alloc` {found}, but {count} pages cannot be had: raise OutOfPages and change nothing.",
                f"`alloc` {found_zh}，但得不到 {count} 页：应抛出 OutOfPages，且不改变任何状态。",
            )
        return None

    def wrong(self) -> None:
        """What no engine may do: it must be refused, and nothing change."""
        ledger = self.ledger
        loose = [page for page in range(ledger.pages) if not ledger.locks.get(page, 0)]
        not_owned = [page for page in range(ledger.pages) if page in ledger.free or page in ledger.block]
        method = self.random.choice(("unlock", "free"))
        pages = loose if method == "unlock" else not_owned
        if not pages:
            return
        page = self.random.choice(pages)
        reply = self.candidate.ask(method, [[page]])
        if isinstance(reply, Raised) and reply.kind == "ValueError":
            return
        state = "free" if page in ledger.free else "cached and not locked" if method == "unlock" else "cached"
        state_zh = "空闲" if page in ledger.free else "在缓存中且未锁定" if method == "unlock" else "在缓存中"
        what = f"raised {reply.kind}" if isinstance(reply, Raised) else "was accepted"
        what_zh = f"抛出了 {reply.kind}" if isinstance(reply, Raised) else "被接受"
        raise Refused(
            f"`{method}` of page {page}, which is {state}, {what}; right is ValueError.",
            f"对第 {page} 页（{state_zh}）的 `{method}` {what_zh}；应抛出 ValueError。",
        )

    def drain(self) -> None:
        """Nobody holds anything: all pages must be there."""
        ledger = self.ledger
        pages = self.alloc(ledger.pages)
        if pages is not None:
            self.tell("free", [pages])
            ledger.give_back(pages)
        tokens = self.tokens()
        ledger.match(tokens, self.ask("match", [tokens]))

    def tokens(self) -> list[int]:
        """A prompt that often continues, cuts off or leaves what was said before."""
        known = [*self.said, *(one.tokens for one in self.running)]
        before = self.random.choice(known) if known and self.random.random() < 0.8 else []
        cut = len(before) if self.random.random() < 0.4 else self.random.randint(0, len(before))
        return before[:cut] + self.words(self.random.randint(0 if cut else 1, 3 * self.ledger.page_size))

    def words(self, count: int) -> list[int]:
        """Tokens out of three."""
        return self.random.choices(range(3), k=count)

    def ask(self, method: str, message: Sequence[Json]) -> Json:
        """An operation that has an answer."""
        reply = self.candidate.ask(method, list(message))
        if isinstance(reply, Raised):
            raise _raised(method, reply)
        return reply

    def tell(self, method: str, message: Sequence[Sequence[int]]) -> None:
        """An operation whose answer says nothing."""
        reply = self.candidate.ask(method, [list(pages) for pages in message])
        if isinstance(reply, Raised):
            raise _raised(method, reply)


def _raised(method: str, reply: Raised, why: str = "", why_zh: str = "") -> Refused:
    what = f"{reply.kind}: {reply.text}"
    return Refused(
        f"`{method}` raised {what}" + (f", but {why}." if why else "."),
        f"`{method}` 抛出了 {what}" + (f"，但{why_zh}。" if why_zh else "。"),
    )
