"""Layout algebra: a dialogue of one exchange. All questions of a case go in one message; answers are checked.

Parameters of a case of part `algebra`: `operation`, `bits` (sizes are about 2^bits), `questions`, and
`refused` (how many more have no answer, so that the call must raise ValueError). Of part `swizzle`: `pitch`,
`rows` and `pattern` (`matrix`, `transpose`).
"""

import itertools
from collections.abc import Sequence
from random import Random

from grader.task import Candidate, Case, DialogueTask, Json, Outcome, Raised

from . import banks, model, questions
from .adapter import TOO_MANY, cap
from .model import Layout, MalformedError
from .questions import Question

EXHAUSTIVE = 4096
SAMPLES = 200
Fault = tuple[str, str] | None


def algebra(case: Case, candidate: Candidate, seed: int) -> Outcome:
    """Ask all questions of the case at once; every answer must be right."""
    random = Random(seed)  # noqa: S311 (a 128-bit seed of the session)
    params = case.params
    asked = [
        questions.MAKERS[params["operation"]](random, params["bits"]) for _ in range(params["questions"])
    ]
    asked += [
        questions.inadmissible(random, params["operation"], params["bits"])
        for _ in range(params.get("refused", 0))
    ]
    random.shuffle(asked)
    reply = candidate.ask(params["operation"], [_arguments(question) for question in asked])
    if isinstance(reply, Raised):
        return Outcome(
            False, f"The call raised {reply.kind}: {reply.text}", f"调用抛出了 {reply.kind}：{reply.text}"
        )
    if not isinstance(reply, list) or len(reply) != len(asked):
        return Outcome(False, f"{len(asked)} answers are needed.", f"需要 {len(asked)} 个答案。")
    for question, answer in zip(asked, reply, strict=True):
        fault = check(question, answer, random)
        if fault is not None:
            call = f"{question.operation}({', '.join(map(_show, question.arguments))})"
            return Outcome(False, f"{call}: {fault[0]}", f"{call}：{fault[1]}")
    return Outcome(True)


def check(question: Question, answer: Json, random: Random) -> Fault:
    """What is wrong with an answer, in both languages; None if nothing is."""
    if isinstance(answer, dict) and "raised" in answer:
        kind, text = answer["raised"], answer.get("text", "")
        if kind == TOO_MANY:
            modes = sum(1 if isinstance(one, int) else model.rank(one) for one in question.arguments)
            return (
                f"more than {cap(modes)} steps for {modes} modes; work on modes, never on indices",
                f"{modes} 个模式用了超过 {cap(modes)} 步；应对模式操作，绝不要逐个下标计算",
            )
        if kind != "ValueError":
            return f"raised {kind}: {text}", f"抛出了 {kind}：{text}"
        return (
            ("raised ValueError, but there is an answer", "抛出了 ValueError，但答案存在")
            if question.admissible
            else None
        )
    if isinstance(answer, dict) and "returned" in answer:
        return (
            f"returned {answer['returned']}; a pair (shape, stride) of integers or nested tuples is needed",
            f"返回了 {answer['returned']}；需要由整数或嵌套元组组成的 (shape, stride) 对",
        )
    if not question.admissible:
        return ("there is no answer: raise ValueError", "答案不存在：应抛出 ValueError")
    try:
        layout = model.decode(answer)
    except MalformedError as error:
        return f"the answer is no layout: {error.en}", f"答案不是布局：{error.zh}"
    if question.max_rank is not None and model.rank(layout) > question.max_rank:
        return (
            f"{model.show(layout)} has {model.rank(layout)} modes; {question.max_rank} are enough",
            f"{model.show(layout)} 有 {model.rank(layout)} 个模式；{question.max_rank} 个就够",
        )
    # One mode may come back as several: then they are read as one.
    whole = len(question.modes) == 1
    parts = [layout] if whole else model.modes(layout)
    if len(parts) != len(question.modes):
        return (
            f"{model.show(layout)} has {len(parts)} top-level modes; {len(question.modes)} are needed",
            f"{model.show(layout)} 的顶层模式有 {len(parts)} 个；需要 {len(question.modes)} 个",
        )
    for part, chain in zip(parts, question.modes, strict=True):
        fault = _differs(part, chain, random)
        if fault is not None:
            return fault
    return None


def _differs(found: Layout, chain: Sequence[Layout], random: Random) -> Fault:
    wanted = model.size(chain[-1])
    if model.size(found) != wanted:
        return (
            f"{model.show(found)} has size {model.size(found)}; {wanted} is right",
            f"{model.show(found)} 的大小是 {model.size(found)}；应为 {wanted}",
        )
    if wanted <= EXHAUSTIVE:
        indices: Sequence[int] = range(wanted)
    else:
        edges = [2**k + d for k in range(wanted.bit_length()) for d in (-1, 0) if 2**k + d < wanted]
        indices = [*edges, wanted - 1, *(random.randrange(wanted) for _ in range(SAMPLES))]
    wanted_of, found_of = [*map(model.leaves, reversed(chain))], [model.leaves(found)]
    for index in indices:
        value, got = model.along(wanted_of, index), model.along(found_of, index)
        if got != value:
            return (
                f"{model.show(found)} maps {index} to {got}; {value} is right",
                f"{model.show(found)} 把 {index} 映到 {got}；应为 {value}",
            )
    return None


def _arguments(question: Question) -> Json:
    return [
        argument if isinstance(argument, int) else model.encode(argument) for argument in question.arguments
    ]


def _show(argument: Layout | int) -> str:
    return str(argument) if isinstance(argument, int) else model.show(argument)


def swizzle(case: Case, candidate: Candidate, seed: int) -> Outcome:
    """Ask for one swizzle of a tile and price the accesses with it; the bound needs no swizzle."""
    random = Random(seed)  # noqa: S311 (a 128-bit seed of the session)
    tile = banks.Tile(case.params["rows"], case.params["pitch"])
    accesses = _accesses(tile, case.params["pattern"], random)
    message: Json = {
        "rows": tile.rows,
        "pitch": tile.pitch,
        "accesses": [
            {"bytes": width, "places": [list(place) for place in places]} for width, places in accesses
        ],
    }
    reply = candidate.ask("pick_swizzle", message)
    if isinstance(reply, Raised):
        return Outcome(
            False, f"The call raised {reply.kind}: {reply.text}", f"调用抛出了 {reply.kind}：{reply.text}"
        )
    fault = _invalid(tile, accesses, reply)
    if fault is not None:
        return Outcome(False, *fault)
    assert isinstance(reply, list)
    bits, base, shift = (int(str(value)) for value in reply)
    return Outcome(
        True,
        value=float(sum(banks.cycles(tile, access, (bits, base, shift)) for access in accesses)),
        bound=float(sum(banks.bound(access) for access in accesses)),
        bound_by="banks",
        quantity="bank cycles",
        unit="cycles",
    )


def _accesses(tile: banks.Tile, pattern: str, random: Random) -> list[banks.Access]:
    copies = [banks.rows_of(tile, 16, random.randrange(tile.rows)) for _ in range(4)]
    if pattern == "transpose":
        columns = [banks.columns_of(tile, 4, random.randrange(tile.pitch // 4)) for _ in range(12)]
        return [banks.rows_of(tile, 4, random.randrange(tile.rows)) for _ in range(4)] + columns
    reads = [
        banks.matrices(
            tile, 16 * random.randrange(max(1, tile.rows // 16)), 16 * random.randrange(tile.pitch // 16)
        )
        for _ in range(12)
    ]
    return copies + reads


def _invalid(tile: banks.Tile, accesses: Sequence[banks.Access], reply: Json) -> Fault:
    if (
        not isinstance(reply, list)
        or len(reply) != 3
        or not all(
            isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 32 for value in reply
        )
    ):
        found = reply.get("returned", reply) if isinstance(reply, dict) else reply
        return (
            f"A swizzle is three integers (bits, base, shift) from 0 to 32, not {str(found)[:200]}.",
            f"swizzle 是三个 0 到 32 的整数 (bits, base, shift)，而不是 {str(found)[:200]}。",
        )
    bits, base, shift = (int(str(value)) for value in reply)
    if shift < bits:
        return (
            "The shift must be at least the number of bits: the two fields overlap.",
            "shift 不得小于 bits：两个位段重叠。",
        )
    if bits and base + bits > (tile.rows * tile.pitch).bit_length() - 1:
        return ("The swizzle moves addresses out of the tile.", "该 swizzle 会把地址移出 tile。")
    widest = max(width for width, _ in accesses)
    if bits and 1 << base < widest:
        return (
            f"Base {base} tears pieces of {widest} bytes apart; a thread moves them as one.",
            f"base {base} 会拆开 {widest} 字节的片段；一个线程须把它作为整体搬动。",
        )
    return None


def every_swizzle(seed: int) -> Outcome:
    """The best of all swizzles of a small tile, and the bound."""
    random = Random(seed)  # noqa: S311 (questions that nobody is graded on)
    tile = banks.Tile(random.choice((16, 32)), random.choice((64, 128)))
    accesses = _accesses(tile, random.choice(("matrix", "transpose")), random)
    fields = itertools.product(range(5), range(2, 7), range(8))
    fitting = [list(one) for one in fields if _invalid(tile, accesses, list(one)) is None]
    prices = [sum(banks.cycles(tile, access, (b, m, s)) for access in accesses) for b, m, s in fitting]
    least = sum(map(banks.bound, accesses))
    return Outcome(True, value=float(min(prices)), bound=float(least), bound_by="banks", unit="cycles")


PARTS = {
    "algebra": DialogueTask(episode=algebra, message_seconds=2.0),
    "swizzle": DialogueTask(episode=swizzle, message_seconds=5.0, brute_force=every_swizzle),
}
