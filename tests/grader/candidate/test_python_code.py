"""Python submissions in a real sandbox: loading, calling, and what each mistake is told."""

import secrets
import time
from collections.abc import Callable, Iterator

import pytest
import torch

from grader import contract
from grader.contract import Language, Verdict
from grader.judge import correctness
from grader.judge.client import Client
from grader.judge.failure import CandidateFailure
from grader.judge.layout import plan
from grader.judge.supervisor import Supervisor
from grader.sandbox import registry
from grader.sandbox.base import Limits
from grader.task import Case, Cost, FunctionTask, Params, Slot, Tensor, Tolerance

SOURCE = """
import os
import sys
import threading

import helper
import torch


def honest(x, n, y, *, factor, shift, negate):
    assert isinstance(shift, int) and not isinstance(shift, bool) and negate is False
    y.copy_(helper.scale(x, factor) + shift)


def shows_its_environment(x, n, y, *, factor, shift, negate):
    honest(x, n, y, factor=factor, shift=shift, negate=negate)
    print(sorted(os.listdir("/solmark")), threading.active_count(), torch.get_num_threads())
    print("to stderr", file=sys.stderr)


def returns(x, n, y, *, factor, shift, negate):
    return x * factor + shift


def forgets_to_write(x, n, y, *, factor, shift, negate):
    y = x * factor + shift


def resizes(x, n, y, *, factor, shift, negate):
    y.resize_(1000).fill_(1)


def wrong_shape(x, n, y, *, factor, shift, negate):
    y.copy_((x * factor)[:2, :2])


def writes_nan(x, n, y, *, factor, shift, negate):
    y.copy_(x * float("nan"))


def half_done(x, n, y, *, factor, shift, negate):
    y[:1].copy_(x[:1] * factor + shift)


def too_few_arguments(x, y):
    pass


def raises(x, n, y, *, factor, shift, negate):
    helper.fail("a\\x1b[2Jb")


def raises_what_cannot_be_shown(x, n, y, *, factor, shift, negate):
    class Odd(Exception):
        def __str__(self):
            raise ValueError

    raise Odd


def says_a_number(x, n, y, *, factor, shift, negate):
    class Odd(RuntimeError):
        def __str__(self):
            return 7

    raise Odd


def interrupts_when_asked(x, n, y, *, factor, shift, negate):
    class Odd(RuntimeError):
        def __str__(self):
            raise KeyboardInterrupt

    raise Odd


def leaves_when_asked(x, n, y, *, factor, shift, negate):
    class Code:
        def __str__(self):
            raise SystemExit

    sys.exit(Code())


def returns_what_cannot_be_touched(x, n, y, *, factor, shift, negate):
    class Untouchable:
        def __getattribute__(self, name):
            raise SystemExit(3)

    return Untouchable()


def exits(x, n, y, *, factor, shift, negate):
    sys.exit(5)


def asks_for_too_much(x, n, y, *, factor, shift, negate):
    torch.empty(1 << 50)


def closes_stdout(x, n, y, *, factor, shift, negate):
    honest(x, n, y, factor=factor, shift=shift, negate=negate)
    sys.stdout.close()


no_function = 7
"""
HELPER = """
def scale(x, factor):
    return x * factor


def fail(text):
    raise KeyError(text)
"""
FILES = {"solution.py": SOURCE.encode(), "helper.py": HELPER.encode()}


def _tensors(params: Params) -> list[Tensor]:
    return [
        Tensor("x", params["dtype"], (3, 5), "in", strides=(9, 1), offset=2),
        Tensor("n", "int64", (), "in"),
        Tensor("y", params["dtype"], (3, 5), "out", strides=(7, 1), offset=1),
    ]


def _fill(params: Params, slots: list[Slot], seeds: list[int]) -> None:
    for slot, seed in zip(slots, seeds, strict=True):
        slot["x"].copy_(torch.randn(3, 5, generator=torch.Generator().manual_seed(seed % (1 << 63))))
        slot["n"].fill_(3)


def _oracle(params: Params, inputs: Slot) -> Slot:
    return {"y": inputs["x"].double() * 2.5 + 3}


TASK = FunctionTask(
    tensors=_tensors,
    fill=_fill,  # type: ignore[arg-type]
    oracle=_oracle,
    cost=lambda _params: Cost(dram_bytes=1),
    scalars=lambda _params: {"factor": 2.5, "shift": 3, "negate": False},
)


@pytest.fixture(scope="module")
def python() -> Iterator[Client]:
    """One sandbox with the submission loaded; every test but the last leaves it usable."""
    (slot,) = plan(_tensors({"dtype": "float64"}), 1)
    with Client.start(
        registry.choose("bubblewrap"), Limits(), arena_bytes=4 * slot.end, language=Language.PYTHON
    ) as client:
        client.load(FILES, "honest", "solution.py", signature="honest(x, n, y, ...)")
        yield client


@pytest.fixture
def run(python: Client) -> Callable[..., contract.TestResult]:
    """Run one entry on the case: `run(entry, dtype)`."""

    def run(entry: str, dtype: str = "float32") -> contract.TestResult:
        case = Case(
            id=entry[:64],
            part="kernel",
            visibility="public",
            role="test",
            params={"dtype": dtype},
            tolerance={"*": Tolerance(2e-2, 2e-2, 5e-2)},
        )
        outcome = correctness.run(
            python,
            TASK,
            case,
            secrets.randbits(128),
            entry=entry,
            call_seconds=10.0,
            watch=Supervisor().watch,
        )
        assert outcome.alive
        return outcome.result

    return run


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_strided_tensors_of_every_float_type(run: Callable[..., contract.TestResult], dtype: str) -> None:
    result = run("honest", dtype)
    assert result.message is None
    assert result.verdict is Verdict.ACCEPTED


@pytest.mark.parametrize(
    ("entry", "verdict", "code", "says"),
    [
        ("returns", Verdict.RUNTIME_ERROR, "returned", "Tensor of shape (3, 5)"),
        ("forgets_to_write", Verdict.WRONG_ANSWER, "never_written", "y was never written"),
        ("resizes", Verdict.RUNTIME_ERROR, "exception", "resize"),
        ("wrong_shape", Verdict.RUNTIME_ERROR, "exception", "solution.py"),
        ("writes_nan", Verdict.WRONG_ANSWER, "not_finite", "NaN"),
        ("half_done", Verdict.WRONG_ANSWER, "partly_written", "10 of 15"),
        ("too_few_arguments", Verdict.RUNTIME_ERROR, "signature", "too_few_arguments(x, n, y, factor=2.5"),
        ("raises", Verdict.RUNTIME_ERROR, "exception", 'File "helper.py", line 7'),
        ("raises_what_cannot_be_shown", Verdict.RUNTIME_ERROR, "exception", "Odd"),
        ("says_a_number", Verdict.RUNTIME_ERROR, "exception", "Odd"),
        ("interrupts_when_asked", Verdict.RUNTIME_ERROR, "exception", "Odd"),
        ("leaves_when_asked", Verdict.RUNTIME_ERROR, "exit", "exit code 1"),
        ("returns_what_cannot_be_touched", Verdict.RUNTIME_ERROR, "returned", "Untouchable"),
        ("exits", Verdict.RUNTIME_ERROR, "exit", "exit code 5"),
        ("asks_for_too_much", Verdict.MEMORY_LIMIT, "memory", "4096 MiB"),
        ("no_function", Verdict.BUILD_ERROR, "not_callable", "no_function(x, n, y, factor=2.5"),
        ("nowhere", Verdict.BUILD_ERROR, "missing_entry", "nowhere(x, n, y, factor=2.5"),
    ],
)
def test_a_mistake_is_told_what_to_change(
    run: Callable[..., contract.TestResult], entry: str, verdict: Verdict, code: str, says: str
) -> None:
    result = run(entry)
    assert result.message is not None
    assert (result.verdict, result.message.code) == (verdict, code)
    assert says in result.message.en
    assert "/tmp" not in result.message.en
    assert "harness" not in result.message.en
    assert "\x1b" not in result.message.en
    assert run("honest").verdict is Verdict.ACCEPTED


def test_output_is_kept_apart_by_case(run: Callable[..., contract.TestResult]) -> None:
    result = run("shows_its_environment")
    assert result.stdout.startswith("['candidate'] 1 ")
    assert result.stderr == "to stderr\n"
    assert run("honest").stdout == ""


@pytest.mark.parametrize(
    ("source", "verdict", "code", "says"),
    [
        ("def solve(:\n", Verdict.BUILD_ERROR, "syntax", "line 1"),
        ("import no_such_module\n", Verdict.BUILD_ERROR, "import", "no_such_module"),
        ("from helper import nothing\n", Verdict.BUILD_ERROR, "import", "nothing"),
        ("import grader\n", Verdict.BUILD_ERROR, "import", "grader"),
        ("def solution(x):\n    pass\n", Verdict.BUILD_ERROR, "missing_entry", "solve(x, y)"),
        ("solve = 3\n", Verdict.BUILD_ERROR, "not_callable", "solve(x, y)"),
        ("1 / 0\n", Verdict.RUNTIME_ERROR, "load_exception", "ZeroDivisionError"),
        ("raise SystemExit(3)\n", Verdict.RUNTIME_ERROR, "exit", "3"),
    ],
)
def test_a_file_that_cannot_be_loaded(
    python: Client, source: str, verdict: Verdict, code: str, says: str
) -> None:
    name = f"load_{secrets.token_hex(4)}.py"
    with pytest.raises(CandidateFailure) as raised:
        python.load({name: source.encode()}, "solve", name, signature="solve(x, y)")
    assert (raised.value.verdict, raised.value.text.code) == (verdict, code)
    assert says in raised.value.text.en
    assert raised.value.alive


def test_a_round_runs_every_slot_once_and_reports_what_it_raises(python: Client) -> None:
    tensors = _tensors({"dtype": "float32"})
    slots = plan(tensors, 2)
    python.arena.prepare(slots)
    for slot in slots:
        _fill({}, [python.arena.tensors(slot)], [slot.index])
    scalars = {"factor": 2.5, "shift": 3, "negate": False}
    python.load(FILES | {"again.py": SOURCE.encode()}, "honest", "again.py")
    python.bind(slots, scalars)
    nonce = secrets.token_bytes(16)
    python.arm(2, time.monotonic() + 5)
    python.go(nonce)
    python.await_done(nonce, time.monotonic() + 5)
    for slot in slots:
        views = python.arena.tensors(slot)
        torch.testing.assert_close(views["y"], views["x"] * 2.5 + 3)
    for entry, code in (("returns", "returned"), ("raises", "exception")):
        python.bind(slots, scalars, entry=entry)
        python.arm(2, time.monotonic() + 5)
        python.go(nonce)
        with pytest.raises(CandidateFailure) as raised:
            python.await_done(nonce, time.monotonic() + 5)
        assert (raised.value.text.code, raised.value.alive) == (code, True)


def test_a_closed_stdout_does_not_end_the_harness(run: Callable[..., contract.TestResult]) -> None:
    assert run("closes_stdout").verdict is Verdict.ACCEPTED
    assert run("honest").verdict is Verdict.ACCEPTED
