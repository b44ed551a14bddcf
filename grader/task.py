"""What an author's `task.py` imports: the kinds of task, their cases, costs and tolerances.

An assignment's `task.py` defines `PARTS: dict[str, Part]`, one entry for each `[[parts]]` of its
`assignment.toml`. It is trusted code of the course's staff; it runs in the judge, never in the sandbox.
Nothing here imports torch: the server and the command line read these types without it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import networkx as nx  # type: ignore[import-untyped,unused-ignore]
    import torch

DType: TypeAlias = Literal[
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
    "int64", "int32", "int16", "int8", "uint8", "bool",
]  # fmt: skip
ITEM_BYTES: Mapping[DType, int] = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1,
    "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip
Role: TypeAlias = Literal["in", "out", "inout"]
Scalar: TypeAlias = bool | int | float
Params: TypeAlias = Mapping[str, Any]
Slot: TypeAlias = "Mapping[str, torch.Tensor]"
"""The tensors of one call, by name."""


@dataclass(frozen=True)
class Tensor:
    """Layout of one argument. `strides` and `offset` are in elements; strides None means contiguous."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    role: Role
    strides: tuple[int, ...] | None = None
    offset: int = 0
    alias_of: str | None = None
    """This input shares the memory of the named one (only where the task says so)."""
    count: str | None = None
    """Name of an int64 output of one element that says how many leading rows of this maximum-size output
    are valid; the rest must keep its poison."""

    @property
    def item_bytes(self) -> int:
        """Bytes of one element."""
        return ITEM_BYTES[self.dtype]

    @property
    def elements(self) -> int:
        """Number of elements, strides not counted."""
        return prod(self.shape)

    @property
    def effective_strides(self) -> tuple[int, ...]:
        """Strides in elements, row-major where none are given."""
        if self.strides is not None:
            return self.strides
        strides: list[int] = []
        step = 1
        for size in reversed(self.shape):
            strides.append(step)
            step *= max(size, 1)
        return tuple(reversed(strides))

    @property
    def span_bytes(self) -> int:
        """Bytes from the start of the allocation to the end of the last element."""
        if self.elements == 0:
            return self.offset * self.item_bytes
        last = sum(
            (size - 1) * stride for size, stride in zip(self.shape, self.effective_strides, strict=True)
        )
        return (self.offset + last + 1) * self.item_bytes

    def describe(self) -> str:
        """For people: `float32[257, 1031]`, with strides when they are not row-major."""
        text = f"{self.dtype}[{', '.join(map(str, self.shape))}]"
        return text if self.strides is None else f"{text} strides {self.strides}"


@dataclass(frozen=True)
class Cost:
    """Work of one call that no implementation can avoid; `grader.sol` turns it into a bound.

    `operations`: count by unit (`tensor_bf16`, `tensor_fp8`, `fp32`, `special`, ...). `dram_bytes`: each
    input once, each output once. `link_bytes`: on the busiest device and direction. `steps`: launches or
    hops that cannot overlap, counted only in linked cases.
    """

    operations: Mapping[str, float] = field(default_factory=dict)
    dram_bytes: float = 0.0
    link_bytes: float = 0.0
    steps: int = 0


@dataclass(frozen=True)
class Tolerance:
    """Largest error of an output, relative to the oracle and taken per row (the last dimension).

    `worst_row` and `mean_row` bound the row errors ‖found − expected‖₂ / ‖expected‖₂; `worst_element` bounds
    |found − expected| / rms(expected row). NaN never passes; an expected infinity must be met exactly.
    Integer and boolean outputs are compared exactly, whatever this says.
    """

    worst_row: float
    mean_row: float
    worst_element: float


@dataclass(frozen=True)
class Case:
    """One case after its hidden ranges were drawn: everything about it is fixed."""

    id: str
    part: str
    visibility: Literal["public", "hidden"]
    role: Literal["test", "timed"]
    params: Params
    linked: bool = False
    tolerance: Mapping[str, Tolerance] = field(default_factory=dict)
    """Tolerance by output name; `*` stands for every output not named."""


class Fill(Protocol):
    """Writes fresh input values into the slots, each from its own 128-bit seed alone.

    Must be counter-based (`grader.fills`): slot i depends on seeds[i] only, so that one slot can be made
    again. No value may be shared between slots or repeated within one (no tiling, no common base).
    """

    def __call__(self, params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:
        """Fill the inputs (and inouts) of every slot."""
        ...


class Oracle(Protocol):
    """Outputs of one call in float64 or exact integers, from the judge's copy of its inputs."""

    def __call__(self, params: Params, inputs: Slot) -> Slot:
        """Return expected outputs by name; must not write to `inputs`."""
        ...


@dataclass(frozen=True)
class Product:
    """An output that is the product of two inputs: left [M, K] times right [K, N], or [N, K] `transposed`.

    It is then audited in full by Freivalds's test, which costs a pass over the three matrices; the oracle is
    asked only where that finds something.
    """

    left: str
    right: str
    out: str
    transposed: bool = False


@dataclass(frozen=True)
class FunctionTask:
    """`solve(*inputs, *outputs, **scalars) -> None` over tensors, destination-passing.

    `tensors` fixes the order of the arguments: inputs first, then inouts, then outputs. `audit` says how a
    timed round is checked: `full` recomputes every slot (memory-bound calls), `sampled` some of them.
    `explain` may turn an author's knowledge of typical mistakes into a sentence (en, zh) for a wrong output.
    """

    tensors: Callable[[Params], Sequence[Tensor]]
    fill: Fill
    oracle: Oracle
    cost: Callable[[Params], Cost]
    scalars: Callable[[Params], Mapping[str, Scalar]] = lambda _params: {}
    audit: Literal["full", "sampled"] = "full"
    explain: Callable[[Params, Slot, Slot, Slot], tuple[str, str] | None] | None = None
    """(params, inputs, expected, found) -> sentences in English and Chinese, or None."""
    rowwise: bool = False
    """Every tensor is a matrix of one number of rows, or a vector that serves each row; row i of an output
    depends on row i of the matrices alone. On a device some rows of *every* call are then audited: `oracle`
    gets matrices of fewer rows, and each vector as a matrix of as many equal or unequal rows."""
    product: Product | None = None
    """Where the one output is a product, and may be audited as such."""
    kind: Literal["function"] = "function"


@dataclass(frozen=True)
class CollectiveTask:
    """The same function on each of `ranks(params)` ranks; costs and oracles are over all ranks at once.

    `priced` collectives run each rank alone, on numpy arrays, as `solve(comm, *tensors, **scalars)`; the
    judge carries their messages and prices them on `network(params)`. The others run in real time, on a CPU
    in Python, as `solve(*tensors, **scalars)` with a process group of torch.distributed over gloo; `cost` is
    then what all ranks together take of the memory that they share. Slots and results are lists with one
    entry a rank.
    """

    ranks: Callable[[Params], int]
    tensors: Callable[[Params, int], Sequence[Tensor]]
    """(params, rank) -> this rank's tensors."""
    fill: Callable[[Params, int, Sequence[Slot], Sequence[int]], None]
    """(params, rank, slots, seeds). The seeds of a call are the same on every rank, so that its values can
    fit those of the others; what should not be the same takes a label that names the rank."""
    oracle: Callable[[Params, Sequence[Slot]], Sequence[Slot]]
    cost: Callable[[Params], Cost]
    scalars: Callable[[Params, int], Mapping[str, Scalar]] = lambda _params, _rank: {}
    priced: bool = False
    audit: Literal["full", "sampled"] = "full"
    network: "Callable[[Params], nx.DiGraph[Any]] | None" = None
    """Of a priced collective: its topology (see `grader.network`)."""
    bound: Callable[[Params, Sequence[Slot]], tuple[float, str]] | None = None
    """(params, inputs by rank) -> nanoseconds that no program can beat in a priced call, and what binds."""
    groups: Callable[[Params], Sequence[Sequence[int]]] | None = None
    """Ranks that communicate with each other alone, in their order; by default all of them."""
    calls: Callable[[Params], int] = lambda _params: 1
    """Calls of a test, one right after the other on values of their own; a priced case has one."""
    most_bytes: Callable[[Params], int] | None = None
    """Bytes that one rank may send in a call; by default 64 times all of its tensors."""
    explain: Callable[[Params, int, Sequence[Slot], Slot, Slot], tuple[str, str] | None] | None = None
    """(params, rank, inputs by rank, expected, found) of a wrong rank -> sentences (en, zh), or None."""
    brute_force: "Callable[[int], Outcome] | None" = None
    """As that of a dialogue: the least price of a tiny question, with the bound."""
    kind: Literal["collective"] = "collective"


Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


@dataclass(frozen=True)
class BlobRegion:
    """A named region of the arena for values over 64 KiB: its dtype and the most elements it may hold."""

    name: str
    dtype: DType
    max_elements: int
    direction: Literal["to_candidate", "from_candidate"]


@dataclass(frozen=True)
class TensorRegion:
    """Named tensors in one region: a policy, gradients, rollouts.

    They cross as a safetensors file (a JSON header, then plain bytes), never as a pickle; exactly these
    names, dtypes and shapes are taken. `finite`: an infinity or NaN in one of them is a wrong answer.
    """

    name: str
    tensors: Mapping[str, tuple[DType, tuple[int, ...]]]
    """By name: dtype and shape."""
    direction: Literal["to_candidate", "from_candidate"]
    finite: bool = True

    @property
    def blob(self) -> BlobRegion:
        """The bytes that hold the file, with room for its header."""
        data = sum(prod(shape) * ITEM_BYTES[dtype] for dtype, shape in self.tensors.values())
        header = sum(160 + 6 * len(name) + 24 * len(shape) for name, (_, shape) in self.tensors.items())
        return BlobRegion(self.name, "uint8", 8 + header + data, self.direction)


Region: TypeAlias = BlobRegion | TensorRegion


@dataclass(frozen=True)
class Raised:
    """The candidate's typed answer that a question is not admissible (where the task asks for that)."""

    kind: str
    text: str


class Refused(Exception):  # noqa: N818 (a finding about the candidate, not an error of ours)
    """An episode raises it, from however deep, to end: the answer is wrong, for this reason."""

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.en = en
        self.zh = zh


@runtime_checkable
class Candidate(Protocol):
    """What an episode sees of the candidate: questions by name, answers as plain JSON or blobs."""

    @property
    def waited_ns(self) -> int:
        """Nanoseconds by the judge's clock from question to answer, over all questions so far.

        This is real time. A simulator counts its own (`grader.simulate.events`).
        """
        ...

    def ask(self, method: str, message: Json, *, deadline_seconds: float | None = None) -> "Json | Raised":
        """Send one message of at most 64 KiB and wait for the answer to it."""
        ...

    def write(self, region: str, values: "torch.Tensor") -> None:
        """Place values into a region that goes to the candidate."""
        ...

    def read(self, region: str) -> "torch.Tensor":
        """Copy what the candidate placed into a region, checked against dtype and size."""
        ...

    def write_tensors(self, region: str, values: "Mapping[str, torch.Tensor]") -> None:
        """Place named tensors into a TensorRegion that goes to the candidate."""
        ...

    def read_tensors(self, region: str) -> "dict[str, torch.Tensor]":
        """Copy the tensors of a TensorRegion, checked against its names, dtypes and shapes."""
        ...


@dataclass(frozen=True)
class Budget:
    """What one episode may take of the candidate: questions, and seconds by the judge's clock."""

    messages: int = 10_000
    message_seconds: float = 5.0
    """For one answer, where `ask` names no other deadline."""
    episode_seconds: float = 30.0
    """For all answers together; the task's own work does not count."""


@dataclass(frozen=True)
class Outcome:
    """Result of one episode: whether it is right, a sentence in both languages, and measured quantities.

    The sentence of a public test is shown also where it passed: a rate of operations, a reward reached.
    """

    passed: bool
    en: str = ""
    zh: str = ""
    value: float | None = None
    bound: float | None = None
    bound_by: str | None = None
    quantity: str = ""
    unit: str = ""
    better: Literal["lower", "higher"] = "lower"


@dataclass(frozen=True)
class DialogueTask:
    """The task plays the other side: its state lives in the judge, the candidate answers messages.

    A plan, a layout or a schedule is a dialogue of one exchange; a simulator or a training run is one of
    thousands. The bound of a dialogue comes with its outcome; `cost` is therefore absent. docs/dialogues.md
    shows how an episode is written.
    """

    episode: Callable[[Case, Candidate, int], Outcome]
    """(case, candidate, seed)."""
    regions: Callable[[Params], Sequence[Region]] = lambda _params: ()
    max_messages: int = 10_000
    message_seconds: float = 5.0
    episode_seconds: float = 30.0
    budget: Callable[[Params], Budget] | None = None
    """What a case may take, where the three limits above do not suit every case."""
    brute_force: Callable[[int], Outcome] | None = None
    """(seed) -> the best possible outcome of a tiny drawn question, found by trying every answer, with the
    bound that an episode would give: `solmark check` holds the bound of priced cases against it."""
    kind: Literal["dialogue"] = "dialogue"

    def limits(self, params: Params) -> Budget:
        """What an episode of a case with these parameters may take."""
        if self.budget is not None:
            return self.budget(params)
        return Budget(self.max_messages, self.message_seconds, self.episode_seconds)


Part: TypeAlias = FunctionTask | CollectiveTask | DialogueTask
Parts: TypeAlias = Mapping[str, Part]


def carries_price(part: Part) -> bool:
    """Whether timed cases of the part need no clock: they are priced."""
    return isinstance(part, DialogueTask) or (isinstance(part, CollectiveTask) and part.priced)


def outputs(tensors: Sequence[Tensor]) -> Iterator[Tensor]:
    """The tensors that a call writes."""
    return (tensor for tensor in tensors if tensor.role != "in")


def inputs(tensors: Sequence[Tensor]) -> Iterator[Tensor]:
    """The tensors that a call reads."""
    return (tensor for tensor in tensors if tensor.role != "out")
