"""The assignment's own functions as the judge calls them: whatever goes wrong there is an AssignmentFault.

What they return is checked here, before anything is sized or sent by it.
"""

import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TypeVar

from grader import callcheck
from grader.callcheck import Problem
from grader.judge.audit import AuditError, Comparison, compare_slot
from grader.judge.failure import AssignmentFault
from grader.task import (
    Budget,
    Case,
    Cost,
    DialogueTask,
    FunctionTask,
    Region,
    Scalar,
    Slot,
    Tensor,
    outputs,
)

SECONDS = 30.0
"""For one call of the assignment's own functions."""
MEMORY_SHARE = 4
"""One call takes at most one part in so many of the memory that is free: the judge's image is as large, and
the oracle and the candidate need theirs."""

Watch = Callable[[str, float], AbstractContextManager[None]]
"""(function of the assignment, seconds): see `supervisor.Supervisor.watch`."""
Result = TypeVar("Result")


def unwatched(_what: str, _seconds: float) -> AbstractContextManager[None]:
    """No deadline of its own: a watch outside holds."""
    return nullcontext()


def guard(what: str, case: Case, function: Callable[[], Result], watch: Watch = unwatched) -> Result:
    """A call of the assignment's code, which raises AssignmentFault for all that comes out of it.

    That includes what would end a program. Only what interrupts the main thread goes on as it is: a signal.
    """
    with watch(what, SECONDS):
        try:
            return function()
        except AssignmentFault:
            raise
        except BaseException as error:
            signalled = isinstance(error, KeyboardInterrupt | SystemExit)
            if signalled and threading.current_thread() is threading.main_thread():
                raise
            detail = f"task.py: {what} of case {case.id!r}:\n{traceback.format_exc()}"
            raise AssignmentFault(what, detail) from error


def tensors(task: FunctionTask, case: Case, watch: Watch = unwatched) -> tuple[Tensor, ...]:
    """The arguments of a call, and that the case's limits are about outputs among them."""

    def checked() -> tuple[Tensor, ...]:
        given = tuple(task.tensors(case.params))
        _refuse("tensors", case, callcheck.tensor_problems(given))
        written = [tensor.name for tensor in outputs(given)]
        unknown = [name for name in case.tolerance if name not in (*written, "*")]
        if unknown:
            raise AssignmentFault(
                f"tolerance of {unknown[0]!r}"[:100],
                f"assignment.toml: case {case.id!r}: tolerance names {unknown[0]!r}; "
                f"the outputs are {', '.join(written)}",
            )
        return given

    return guard("tensors", case, checked, watch)


def scalars(task: FunctionTask, case: Case, watch: Watch = unwatched) -> dict[str, Scalar]:
    """The scalars of a call, by name."""

    def checked() -> dict[str, Scalar]:
        given = dict(task.scalars(case.params))
        _refuse("scalars", case, list(callcheck.scalar_problems(given, task.tensors(case.params))))
        return given

    return guard("scalars", case, checked, watch)


def cost(task: FunctionTask, case: Case, watch: Watch = unwatched) -> Cost:
    """The work of a call."""

    def checked() -> Cost:
        given = task.cost(case.params)
        _refuse("cost", case, callcheck.cost_problems(given, case))
        return given

    return guard("cost", case, checked, watch)


def regions(task: DialogueTask, case: Case, watch: Watch = unwatched) -> tuple[Region, ...]:
    """The regions of an episode."""

    def checked() -> tuple[Region, ...]:
        given = tuple(task.regions(case.params))
        _refuse("regions", case, callcheck.region_problems(given))
        return given

    return guard("regions", case, checked, watch)


def budget(task: DialogueTask, case: Case, watch: Watch = unwatched) -> Budget:
    """What an episode may take of the candidate."""

    def checked() -> Budget:
        given = task.limits(case.params)
        _refuse("budget", case, callcheck.budget_problems(given))
        return given

    return guard("budget", case, checked, watch)


def fitting(what: str, case: Case, size: int, most: int) -> int:
    """The bytes that one call takes, where they can be had. Raises AssignmentFault."""
    if size > most:
        raise AssignmentFault(
            what,
            f"task.py: {what} of case {case.id!r}: one call needs {size >> 20} MiB; "
            f"at most {most >> 20} MiB are possible here",
        )
    return size


def most_bytes() -> int:
    """Most bytes that one call may take on this machine now."""
    return available_bytes() // MEMORY_SHARE


def available_bytes() -> int:
    """Memory that can be taken without swapping, as the kernel estimates it."""
    for line in Path("/proc/meminfo").read_text("ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return 2 << 30


def compare(arguments: Sequence[Tensor], found: Slot, expected: object, case: Case) -> list[Comparison]:
    """Compare a call's outputs with what the oracle returned; what is no answer is the oracle's fault."""

    def compared() -> list[Comparison]:
        try:
            if not isinstance(expected, Mapping):
                kind = type(expected).__name__
                raise AuditError(f"it returned a {kind}; a dict of outputs is needed")
            return compare_slot(arguments, found, expected, case.tolerance)
        except AuditError as error:
            raise AssignmentFault("oracle", f"task.py: oracle of case {case.id!r}: {error}") from error

    return guard("oracle", case, compared)


def _refuse(what: str, case: Case, problems: Sequence[Problem]) -> None:
    if problems:
        sentences = "\n".join(f"{wrong}; {right}" for wrong, right in problems)
        raise AssignmentFault(what, f"task.py: {what} of case {case.id!r}: {sentences}")
