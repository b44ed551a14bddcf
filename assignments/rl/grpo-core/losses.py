"""The part `losses`: one call after the other, values and gradients held against the oracle."""

from typing import TYPE_CHECKING, Any

from grader.task import Candidate, Case, Outcome, Raised

from . import mistakes, oracle, questions
from .questions import Question

if TYPE_CHECKING:
    import torch

RELATIVE = 1e-9
"""Of each element: float64 keeps 1e-15, float32 arithmetic about 1e-7."""
ABSOLUTE = 1e-13
ADVANTAGE = 1e-9
"""Of an advantage: the mean of equal rewards is rounded, then divided by 1e-6."""


def episode(case: Case, candidate: Candidate, seed: int) -> Outcome:
    """Ask all questions of the case; every answer must be right."""
    import numpy as np

    random = np.random.default_rng(seed)
    params = case.params
    for number, question in enumerate(questions.drawn(params, random), start=1):
        fault = _asked(params, question, candidate)
        if fault is not None:
            call = _call(params, question)
            return Outcome(
                False, f"Question {number}, {call}: {fault[0]}", f"第 {number} 个问题，{call}：{fault[1]}"
            )
    return Outcome(True)


def _asked(params: Any, question: Question, candidate: Candidate) -> tuple[str, str] | None:
    """Ask one question; what is wrong with the answer, in both languages."""
    function = params["function"]
    spec = questions.answer_spec(params)
    candidate.write_tensors("given", question.given)
    message: dict[str, Any] = {
        "arguments": list(questions.ARGUMENTS[function]),
        "keywords": dict(question.keywords),
        "answers": [[name, dtype, list(shape)] for name, (dtype, shape) in spec.items()],
        "gradient": 0 if questions.is_loss(function) else None,
    }
    if question.rows is not None:
        message["rows"] = list(question.rows)
    reply = candidate.ask(function, message)
    if isinstance(reply, Raised):
        return f"it raised {reply.kind}: {reply.text}", f"抛出了 {reply.kind}：{reply.text}"
    if reply is not None:
        return _returned(params, reply)
    found = candidate.read_tensors("answer")
    given = question.part()
    expected = oracle.ORACLES[function](given, question.keywords)
    for name in spec:
        fault = _differs(function, name, found[name], expected[name])
        if fault is None:
            continue
        hint = mistakes.of(
            function,
            given,
            question.keywords,
            expected,
            found,
            lambda one, other: _first_wrong(function, one, other) is None,
        )
        return fault if hint is None else (f"{fault[0]} {hint[0]}", f"{fault[1]}{hint[1]}")
    return None


def _returned(params: Any, reply: object) -> tuple[str, str]:
    """An answer of another form than asked for."""
    what = reply.get("returned") if isinstance(reply, dict) else None
    what = str(what)[:200] if what is not None else "something else"
    if questions.is_loss(params["function"]):
        return (
            f"it returned {what}; a float64 tensor of one element is needed, the loss.",
            f"返回了 {what}；需要只有一个元素的 float64 张量，即损失。",
        )
    wanted = ", ".join(f"{dtype}{list(shape)}" for dtype, shape in questions.answer_spec(params).values())
    return f"it returned {what}; {wanted} is needed.", f"返回了 {what}；需要 {wanted}。"


def _differs(
    function: str, name: str, found: "torch.Tensor", expected: "torch.Tensor"
) -> tuple[str, str] | None:
    place = _first_wrong(function, found, expected)
    if place is None:
        return None
    got, right = found[place].item(), expected[place].item()
    what = {
        "value": ("the loss", "损失"),
        "gradient": (f"its gradient at {list(place)}", f"它在 {list(place)} 处的梯度"),
    }.get(name, (f"{name} at {list(place)}", f"{name} 在 {list(place)} 处"))
    return f"{what[0]} is {got:.9g}; {right:.9g} is right.", f"{what[1]}是 {got:.9g}；应为 {right:.9g}。"


def _first_wrong(function: str, found: "torch.Tensor", expected: "torch.Tensor") -> tuple[int, ...] | None:
    import torch

    if found.dtype == torch.bool:
        wrong = found != expected
    else:
        slack = ADVANTAGE if function in ("group_advantages", "gae") else ABSOLUTE
        wrong = ~((found - expected).abs() <= RELATIVE * expected.abs() + slack)
    if not bool(wrong.any()):
        return None
    return tuple(int(index) for index in wrong.nonzero()[0])


def _call(params: Any, question: Question) -> str:
    keywords = ", ".join(f"{name}={value!r}" for name, value in question.keywords.items())
    shapes = ", ".join(f"{name}{list(value.shape)}" for name, value in question.part().items())
    return f"{params['function']}({shapes}{', ' if keywords else ''}{keywords})"
