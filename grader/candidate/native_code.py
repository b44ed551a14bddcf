"""C++ submissions: a shared object built earlier, called through our runner that is part of it."""

import ctypes
from pathlib import Path

from .arena import Arena, Slots
from .device import DeviceArena
from .failures import SubmissionError
from .frames import ANSWERS, COMMANDS
from .link import Link

_DTYPES = (
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
    "int64", "int32", "int16", "int8", "uint8", "bool",
)  # fmt: skip
_ROLES = ("in", "out", "inout")
_OK, _STATUS, _EXCEPTION, _CHANNEL, _CUDA = range(5)
_Between = ctypes.CFUNCTYPE(None, ctypes.c_long, ctypes.c_void_p)
"""`link_function` of runner.cu: (call, stream); call -1 comes before the first one."""


class _Tensor(ctypes.Structure):
    """`solmark_tensor` of solmark.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("name", ctypes.c_char_p),
        ("dimensions", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
        ("role", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    )


class _Value(ctypes.Union):
    _fields_ = (("integer", ctypes.c_int64), ("real", ctypes.c_double))


class _Scalar(ctypes.Structure):
    """`solmark_scalar` of solmark.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("value", _Value),
    )


class NativeCode:
    """A loaded shared object and the descriptors of the current case."""

    def __init__(self, arena: Arena | DeviceArena, artifact: str) -> None:
        self._base = arena.address
        self._on_device = isinstance(arena, DeviceArena)
        self._captured = 0
        self._reason = ""
        self._artifact = artifact
        self._library: ctypes.CDLL | None = None
        self._solve = ctypes.c_void_p()
        self._tensors: ctypes.Array[_Tensor] = (_Tensor * 0)()
        self._per_slot = 0
        self._scalars: ctypes.Array[_Scalar] = (_Scalar * 0)()
        self._keep: list[object] = []
        self._link: Link | None = None
        self._between = _Between()

    def load(self, entry: str, file: str) -> None:  # noqa: ARG002 (the same door as Python's)
        """Load the shared object; its constructors run now."""
        try:
            self._library = ctypes.CDLL(self._artifact)
        except OSError as error:
            folder = str(Path(self._artifact).parent)
            raise SubmissionError("load_library", str(error).replace(folder + "/", "")) from error
        self._library.solmark_runner_text.restype = ctypes.c_char_p
        self._find(entry)

    def bind(self, slots: Slots, entry: str) -> None:
        """Make the descriptors of every slot; shapes, strides and names are shared by all of them."""
        self._find(entry)
        self._captured = 0
        self._bind_link(slots)
        shared = []
        for placed in slots.tensors:
            dimensions = len(placed.shape)
            shape = (ctypes.c_int64 * max(1, dimensions))(*placed.shape)
            strides = (ctypes.c_int64 * max(1, dimensions))(*placed.strides)
            shared.append((placed, shape, strides, dimensions, placed.name.encode()))
        count = len(shared)
        self._tensors = (_Tensor * (count * slots.count))()
        for index in range(slots.count):
            start = self._base + slots.start + index * slots.stride
            for column, (placed, shape, strides, dimensions, name) in enumerate(shared):
                item = placed.span // max(1, _elements_spanned(placed.shape, placed.strides, placed.offset))
                self._tensors[index * count + column] = _Tensor(
                    start + placed.start + placed.offset * item,
                    shape,
                    strides,
                    name,
                    dimensions,
                    _DTYPES.index(placed.dtype),
                    _ROLES.index(placed.role),
                    0,
                )
        self._per_slot = count
        self._scalars = (_Scalar * len(slots.scalars))(*(_scalar(*scalar) for scalar in slots.scalars))
        self._keep = [shared]

    def call(self, slot: int) -> None:
        """One call; flushes what it printed."""
        assert self._library is not None
        status = ctypes.c_int()
        first = ctypes.byref(self._tensors, slot * self._per_slot * ctypes.sizeof(_Tensor))
        outcome = self._library.solmark_runner_call(
            self._solve, first, self._per_slot, self._scalars, len(self._scalars), ctypes.byref(status)
        )
        ctypes.CDLL(None).fflush(None)
        self._check(outcome, status.value)

    def prepare_round(self, calls: int) -> str:
        """On a device capture the calls, if they are not yet; why they could not be, if so."""
        if not self._on_device or calls == self._captured:
            return self._reason
        assert self._library is not None
        status = ctypes.c_int()
        outcome = self._library.solmark_runner_capture(
            self._solve, self._tensors, self._per_slot, self._scalars, len(self._scalars),
            ctypes.c_long(calls), self._between, ctypes.byref(status),
        )  # fmt: skip
        self._captured, self._reason = calls, ""
        if outcome == _CUDA:
            self._reason = self._text()
        else:
            self._check(outcome, status.value)
        return self._reason

    def round(self, calls: int) -> None:
        """Wait for `go`, make the calls, answer `done`, all in the runner."""
        assert self._library is not None
        status = ctypes.c_int()
        between = (self._between,) if self._on_device else ()
        outcome = self._library.solmark_runner_round(
            COMMANDS, ANSWERS, self._solve, self._tensors, self._per_slot, self._scalars,
            len(self._scalars), ctypes.c_long(calls), *between, ctypes.byref(status),
        )  # fmt: skip
        if outcome == _CHANNEL:
            raise SystemExit(0)  # The judge has closed the channel.
        self._check(outcome, status.value)

    def _bind_link(self, slots: Slots) -> None:
        if self._link is not None:
            self._link.close()
        self._link, self._between = None, _Between()
        if slots.link is None:
            return
        link = Link(slots.link, self._base, slots.start, slots.stride, slots.count)

        def between(call: int, stream: int | None) -> None:
            if call < 0:
                link.begin(stream or 0)
            else:
                link.between(call, stream or 0)

        self._link, self._between = link, _Between(between)

    def _find(self, entry: str) -> None:
        try:
            self._solve = ctypes.cast(getattr(self._library, entry), ctypes.c_void_p)
        except AttributeError as error:
            raise SubmissionError("missing_symbol") from error

    def _check(self, outcome: int, status: int) -> None:
        if outcome == _STATUS:
            raise SubmissionError("status", number=status)
        if outcome == _CUDA:
            what = self._text()
            raise SubmissionError("device_memory" if "MemoryAllocation" in what else "cuda", what)
        if outcome == _EXCEPTION:
            what = self._text()
            raise SubmissionError("memory" if what == "std::bad_alloc" else "exception", what)

    def _text(self) -> str:
        assert self._library is not None
        said: bytes = self._library.solmark_runner_text()
        return said.decode("utf-8", "replace")


def _elements_spanned(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> int:
    """Elements from the start of the allocation to the end of the last element."""
    if 0 in shape:
        return offset
    return offset + 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def _scalar(name: str, value: bool | int | float) -> _Scalar:
    if isinstance(value, bool):
        return _Scalar(name.encode(), 0, 0, _Value(integer=int(value)))
    if isinstance(value, int):
        return _Scalar(name.encode(), 1, 0, _Value(integer=value))
    return _Scalar(name.encode(), 2, 0, _Value(real=value))
