"""A prefix cache over pages: a state machine checks what it does, traces of requests count what it finds."""

from random import Random

from grader.task import Budget, Candidate, Case, DialogueTask, Json, Outcome, Params, Raised, Refused

from . import bound, brute, ledger, machine, rate, traces

__all__ = ["PARTS", "bound", "brute", "ledger", "machine", "rate", "traces"]


def operations(case: Case, candidate: Candidate, seed: int) -> Outcome:
    """Every operation in random order, or as many matches a second as the cache can do."""
    random = Random(seed)  # noqa: S311 (a 128-bit seed of the session)
    params = case.params
    book = _open(candidate, params)
    if "matches" in params:
        return rate.measured(book, candidate, random, params)
    machine.Machine(book, candidate, random).play(params["steps"])
    return Outcome(True)


def trace(case: Case, candidate: Candidate, seed: int) -> Outcome:
    """One trace, one request at a time: what is not known yet cannot be used."""
    drawn = traces.draw(case.params, Random(seed))  # noqa: S311 (a 128-bit seed of the session)
    book = _open(candidate, case.params)
    found = follow(drawn, book, candidate)
    most, by = bound.bound(drawn)
    return Outcome(
        True,
        value=float(found),
        bound=float(most),
        bound_by=by,
        quantity="prompt tokens found",
        unit="tokens",
        better="higher",
    )


def follow(drawn: traces.Trace, book: ledger.Ledger, candidate: Candidate) -> int:
    """Tokens that the cache found. Raises Refused for an answer that is wrong."""
    held: dict[int, list[int]] = {}
    for number, starts in drawn.events:
        request = drawn.requests[number]
        if starts:
            prompt: list[Json] = list(request.prompt)
            reply = _ask(candidate, "start", {"tokens": prompt, "pages": drawn.held(number)})
            if not isinstance(reply, list) or len(reply) != 2:
                raise Refused("A request that starts has two lists of pages.", "请求开始时应有两个页列表。")
            cached = book.match(request.prompt, reply[0])
            book.lock(cached)
            held[number] = cached + book.alloc(drawn.held(number) - len(cached), reply[1])
            continue
        pages = held.pop(number)
        full = len(request.tokens) // drawn.page_size
        message: dict[str, Json] = {
            "tokens": list[Json](request.tokens),
            "pages": list[Json](pages),
            "page_size": drawn.page_size,
        }
        kept = book.insert(
            request.tokens[: full * drawn.page_size], pages[:full], _ask(candidate, "finish", message)
        )
        book.give_back(pages[full:])
        book.unlock(kept)
    return book.found


def _open(candidate: Candidate, params: Params) -> ledger.Ledger:
    bits = params.get("hash_bits", 64)
    _ask(
        candidate,
        "open",
        {"pages": params["pages"], "page_size": params["page_size"], "hash_bits": bits},
    )
    return ledger.Ledger(params["pages"], params["page_size"], collide=bits < 16)


def _ask(candidate: Candidate, method: str, message: Json) -> Json:
    reply = candidate.ask(method, message)
    if isinstance(reply, Raised):
        what = f"{reply.kind}: {reply.text}"
        raise Refused(f"`{method}` raised {what}", f"`{method}` 抛出了 {what}")
    return reply


PARTS = {
    "operations": DialogueTask(
        episode=operations,
        budget=lambda params: Budget(messages=20_000, episode_seconds=params.get("seconds", 30.0)),
    ),
    "trace": DialogueTask(
        episode=trace,
        budget=lambda params: Budget(messages=1 + 2 * params["requests"]),
        brute_force=brute.outcome,
    ),
}
