"""The part `predict`: the bound of a call on machines that differ from question to question.

Parameters of a case: `questions`, `largest` (of rows and columns), and `machines`: `memory` (ridge far above
this kernel, as on every GPU), `both` (ridges from far below it to far above).
"""

from random import Random

from grader.task import Candidate, Case, Cost, Json, Outcome, Params, Raised

from .work import ITEM, cost

DTYPES = ("float32", "float16", "bfloat16")
ACCURACY = 1e-6
"""Largest relative error of a prediction: the formula is exact, its rounding is not held against anybody."""

Question = dict[str, Json]
Sentences = tuple[str, str]


def episode(case: Case, candidate: Candidate, seed: int) -> Outcome:
    """Ask for one prediction after the other; each must be right."""
    random = Random(seed)  # noqa: S311 (a 128-bit seed of the session; nobody gains from guessing shapes)
    for _ in range(case.params["questions"]):
        asked = question(case.params, random)
        reply = candidate.ask("predict", asked)
        if isinstance(reply, Raised):
            call = f"predict({shown(asked)})"
            return Outcome(
                False,
                f"{call} raised {reply.kind}: {reply.text}",
                f"{call} 抛出了 {reply.kind}：{reply.text}",
            )
        fault = wrong(asked, reply)
        if fault is not None:
            return Outcome(False, *(f"predict({shown(asked)}): {text}" for text in fault))
    return Outcome(True)


def question(params: Params, random: Random) -> Question:
    """A shape and a machine: operations and bytes a second, its ridge around this kernel's intensity."""
    largest = params["largest"]
    dtype = random.choice(DTYPES)
    bandwidth = 10.0 ** random.uniform(9, 13)
    intensity = 5 / (4 * ITEM[dtype])
    low, high = {"memory": (4.0, 100.0), "both": (0.05, 20.0)}[params["machines"]]
    ridge = intensity * low * (high / low) ** random.random()
    return {
        "rows": 0 if random.random() < 0.05 else random.randrange(1, largest),
        "columns": random.choice((1, random.randrange(1, 64), random.randrange(1, largest))),
        "dtype": dtype,
        "operations_per_second": ridge * bandwidth,
        "bytes_per_second": bandwidth,
    }


def expected(asked: Question) -> tuple[float, float]:
    """Seconds that arithmetic and memory need at least."""
    work: Cost = cost({"rows": asked["rows"], "columns": asked["columns"], "dtype": asked["dtype"]})
    operations, bandwidth = asked["operations_per_second"], asked["bytes_per_second"]
    assert isinstance(operations, float)
    assert isinstance(bandwidth, float)
    return sum(work.operations.values()) / operations, work.dram_bytes / bandwidth


def wrong(asked: Question, reply: Json) -> Sentences | None:
    """What is wrong with a prediction, None if nothing is."""
    form = (
        'it must return (seconds, "memory" or "compute")',
        '它必须返回 (秒数, "memory" 或 "compute")',
    )
    if not isinstance(reply, list) or len(reply) != 2:
        return form
    seconds, by = reply
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or by not in ("memory", "compute"):
        return form
    try:
        seconds = float(seconds)
    except OverflowError:  # An integer beyond every float.
        return form
    compute, memory = expected(asked)
    bound = max(compute, memory)
    if abs(seconds - bound) > ACCURACY * bound:
        return f"{seconds:.6g} s is not the bound", f"{seconds:.6g} 秒不是下界"
    binding = "compute" if compute > memory else "memory"
    if by != binding and abs(compute - memory) > ACCURACY * bound:
        return f"it is bound by {binding}, not by {by}", f"受限于 {binding}，而不是 {by}"
    return None


def shown(asked: Question) -> str:
    """The question as a call."""
    return ", ".join(f"{name}={value!r}" for name, value in asked.items())
