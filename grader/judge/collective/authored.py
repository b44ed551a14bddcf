"""A collective task's own functions as the judge calls them: what goes wrong there is an AssignmentFault."""

from collections.abc import Sequence
from math import isfinite

from grader import callcheck
from grader.judge.authored import Watch, guard
from grader.judge.failure import AssignmentFault
from grader.judge.layout import LayoutError, slot_bytes
from grader.network import Network, NetworkError
from grader.task import Case, CollectiveTask, Scalar, Slot, Tensor

MOST_RANKS = 64
_MOST_TIMES = 64
"""Of all its tensors a rank may send so many times the bytes, where the task says nothing else."""
NUMPY_DTYPES = frozenset(
    {"float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"}
)  # fmt: skip
"""What ranks on numpy arrays can take."""


def ranks(task: CollectiveTask, case: Case, watch: Watch) -> int:
    """How many ranks a case has."""

    def checked() -> int:
        given = task.ranks(case.params)
        if type(given) is not int or not 1 <= given <= MOST_RANKS:
            raise _fault("ranks", case, f"gave {given!r}; right is an integer from 1 to {MOST_RANKS}")
        return given

    return guard("ranks", case, checked, watch)


def tensors(task: CollectiveTask, case: Case, watch: Watch) -> tuple[tuple[Tensor, ...], ...]:
    """The arguments of a call, by rank."""
    count = ranks(task, case, watch)

    def checked() -> tuple[tuple[Tensor, ...], ...]:
        given = tuple(tuple(task.tensors(case.params, rank)) for rank in range(count))
        for mine in given:
            if problems := callcheck.tensor_problems(mine):
                wrong, right = problems[0]
                raise _fault("tensors", case, f"{wrong}; {right}")
            strange = [tensor for tensor in mine if task.priced and tensor.dtype not in NUMPY_DTYPES]
            if strange:
                raise _fault("tensors", case, f"{strange[0].name} is {strange[0].dtype}, which numpy has not")
        return given

    return guard("tensors", case, checked, watch)


def slot_size(task: CollectiveTask, case: Case, watch: Watch) -> int:
    """Bytes of one call's slot on the rank that needs the most."""
    try:
        return max(slot_bytes(mine) for mine in tensors(task, case, watch))
    except LayoutError as error:
        raise AssignmentFault("tensors", str(error)) from error


def scalars(task: CollectiveTask, case: Case, rank: int, watch: Watch) -> dict[str, Scalar]:
    """The scalars of one rank's call."""

    def checked() -> dict[str, Scalar]:
        given = dict(task.scalars(case.params, rank))
        for wrong, right in callcheck.scalar_problems(given, task.tensors(case.params, rank)):
            raise _fault("scalars", case, f"{wrong}; {right}")
        return given

    return guard("scalars", case, checked, watch)


def signature(entry: str, task: CollectiveTask, case: Case, watch: Watch) -> str:
    """How the function is called, for a message: `all_reduce(comm, x, out, *, maximum=False)`."""
    comm = ["comm"] if task.priced else []
    names = [*comm, *(tensor.name for tensor in tensors(task, case, watch)[0])]
    given = [f"{name}={value!r}" for name, value in scalars(task, case, 0, watch).items()]
    return f"{entry}({', '.join([*names, *(['*'] if given else []), *given])})"


def calls(task: CollectiveTask, case: Case, watch: Watch) -> int:
    """Calls of a case, one after the other."""

    def checked() -> int:
        given = task.calls(case.params)
        if type(given) is not int or not 1 <= given <= MOST_RANKS or (case.role == "timed" and given != 1):
            raise _fault(
                "calls", case, f"gave {given!r}; right is an integer from 1 up, 1 where it is priced"
            )
        return given

    return guard("calls", case, checked, watch)


def groups(task: CollectiveTask, case: Case, watch: Watch) -> tuple[tuple[int, ...], ...]:
    """By rank, the group that it is in."""
    count = ranks(task, case, watch)

    def checked() -> tuple[tuple[int, ...], ...]:
        given = [tuple(group) for group in task.groups(case.params)] if task.groups else [tuple(range(count))]
        if sorted(rank for group in given for rank in group) != list(range(count)):
            raise _fault("groups", case, f"gave {given!r}; each of the {count} ranks is in one of them")
        return tuple(next(group for group in given if rank in group) for rank in range(count))

    return guard("groups", case, checked, watch)


def most_bytes(task: CollectiveTask, case: Case, watch: Watch) -> int:
    """Bytes that one rank may send in one call."""

    def checked() -> int:
        if task.most_bytes is not None:
            return int(task.most_bytes(case.params))
        return _MOST_TIMES * max(
            sum(tensor.span_bytes for tensor in mine) for mine in tensors(task, case, watch)
        )

    return guard("most_bytes", case, checked, watch)


def network(task: CollectiveTask, case: Case, watch: Watch) -> Network:
    """What carries the messages of a priced case."""
    count = ranks(task, case, watch)

    def checked() -> Network:
        if task.network is None:
            raise _fault("network", case, "is missing; a priced collective needs one")
        try:
            return Network(task.network(case.params), count)
        except NetworkError as error:
            raise _fault("network", case, str(error)) from error

    return guard("network", case, checked, watch)


def bound(task: CollectiveTask, case: Case, inputs: Sequence[Slot], watch: Watch) -> tuple[float, str]:
    """Nanoseconds that no program can beat, and what binds."""

    def checked() -> tuple[float, str]:
        if task.bound is None:
            raise _fault("bound", case, "is missing; a priced case needs one")
        nanoseconds, by = task.bound(case.params, inputs)
        if not isfinite(nanoseconds) or nanoseconds < 0:
            raise _fault("bound", case, f"gave {nanoseconds!r}; right is a finite number from 0 up")
        return float(nanoseconds), str(by)[:64]

    return guard("bound", case, checked, watch)


def _fault(what: str, case: Case, wrong: str) -> AssignmentFault:
    return AssignmentFault(what, f"task.py: {what} of case {case.id!r}: {wrong}")
