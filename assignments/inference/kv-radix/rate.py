"""Operations a second, by the judge's clock: a full cache, and matches in messages of many."""

from random import Random

from grader.task import Candidate, Json, Outcome, Params, Raised, Refused

from .ledger import Ledger

FRAME_TOKENS = 8_000
"""Tokens of one message."""


def measured(book: Ledger, candidate: Candidate, random: Random, params: Params) -> Outcome:
    """Fill the cache with one deep tree, then time matches in it; each is checked.

    A cache that looks at every page, or copies prefixes at every step, does not end in time. Raises Refused.
    """
    size = book.page_size
    trunk = [random.randrange(1000) for _ in range(size * params["depth"])]
    said = [trunk]
    _fill(book, candidate, trunk)
    while len(book.free) > params["depth"] + params["branch"]:
        cut = random.randrange(params["depth"]) * size
        leaf = trunk[:cut] + [random.randrange(1000) for _ in range(size * params["branch"])]
        _fill(book, candidate, leaf)
        said.append(leaf)
    before, done = candidate.waited_ns, 0
    while done < params["matches"]:
        asked: list[list[int]] = []
        while sum(map(len, asked)) < FRAME_TOKENS - len(trunk) - size * params["branch"]:
            asked.append([*random.choice(said), random.randrange(1000)])
        reply = candidate.ask("many", list[Json](asked))
        if isinstance(reply, Raised):
            what = f"{reply.kind}: {reply.text}"
            raise Refused(f"`match` raised {what}", f"`match` 抛出了 {what}")
        if not isinstance(reply, list) or len(reply) != len(asked):
            raise Refused(f"{len(asked)} matches are needed.", f"需要 {len(asked)} 个匹配结果。")
        for tokens, pages in zip(asked, reply, strict=True):
            book.match(tokens, pages)
        done += len(asked)
    each = done / max(1e-9, (candidate.waited_ns - before) / 1e9)
    return Outcome(
        True,
        f"{each:,.0f} matches a second, by the judge's clock.",
        f"按评测器的时钟，每秒 {each:,.0f} 次匹配。",
    )


def _fill(book: Ledger, candidate: Candidate, tokens: list[int]) -> None:
    """One request from start to finish."""
    held = len(tokens) // book.page_size
    message: dict[str, Json] = {"tokens": list[Json](tokens), "pages": held}
    reply = candidate.ask("start", message)
    if not isinstance(reply, list) or len(reply) != 2:
        raise Refused("A request that starts has two lists of pages.", "请求开始时应有两个页列表。")
    cached = book.match(tokens, reply[0])
    book.lock(cached)
    pages = cached + book.alloc(held - len(cached), reply[1])
    message = {"tokens": list[Json](tokens), "pages": list[Json](pages), "page_size": book.page_size}
    answer = candidate.ask("finish", message)
    if isinstance(answer, Raised):
        raise Refused(f"`insert` raised {answer.kind}: {answer.text}", f"`insert` 抛出了 {answer.kind}")
    book.unlock(book.insert(tokens, pages, answer))
