"""Python submissions on a device (PyTorch, Triton): the calls of a round are captured in one CUDA graph.

Between `go` and `done` runs native code alone. Where capturing fails the calls are made one by one in the
round, and the author is told why.
"""

import ctypes
import gc
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .arena import Arena, Slots
from .device import DeviceArena
from .failures import SubmissionError
from .frames import ANSWERS, COMMANDS, DONE, GO, NONCE, ROUND_FRAME
from .link import Link
from .python_code import PythonCode, returned

if TYPE_CHECKING:
    import torch

SOURCE = Path(__file__).with_name("graph_round.cpp")
LIBRARY = "solmark_graph_round.so"


class GraphCode(PythonCode):
    """As PythonCode, for tensors on a device."""

    def __init__(self, arena: Arena | DeviceArena, folder: str) -> None:
        super().__init__(arena, folder)
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._native = native_round(Path(folder).parent)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._exec = ctypes.c_void_p()
        self._stream: torch.cuda.Stream | None = None
        self._captured = 0
        self._reason = ""
        self._link: Link | None = None

    def bind(self, slots: Slots, entry: str) -> None:
        """Make the arguments of every slot."""
        self._forget()
        if self._link is not None:
            self._link.close()
        self._link = None
        try:
            super().bind(slots, entry)
            if slots.link is not None:
                base = self._arena.address
                self._link = Link(slots.link, base, slots.start, slots.stride, slots.count)
        except SubmissionError:
            raise
        except Exception as error:
            raise self._failure(error) from error

    def call(self, slot: int) -> None:
        """One call, to its end on the device."""
        super().call(slot)
        self._synchronize()

    def prepare_round(self, calls: int) -> str:
        """Capture the calls, if they are not yet; why they could not be, if so."""
        if calls != self._captured:
            self._forget()
            gc.collect()
            self._capture(calls)
            self._captured = calls
        super().prepare_round(calls)
        return self._reason

    def round(self, calls: int) -> None:
        """Wait for `go`, make the calls, answer `done`."""
        if self._graph is None or self._native is None:
            self._interpreted_round(calls)
            return
        assert self._stream is not None
        error = self._native.solmark_graph_round(
            COMMANDS, ANSWERS, self._cuda.cuGraphLaunch, self._cuda.cuStreamSynchronize,
            self._exec, ctypes.c_void_p(self._stream.cuda_stream),
        )  # fmt: skip
        gc.enable()
        if error < 0:
            raise SystemExit(0)  # The judge has closed the channel.
        if error:
            raise SubmissionError("cuda", self._name_of(error))

    def _interpreted_round(self, calls: int) -> None:
        import torch

        graph, synchronize = self._graph, torch.cuda.synchronize
        frame = os.read(COMMANDS, ROUND_FRAME)
        if not frame.startswith(GO):
            raise SystemExit(0)
        try:
            if graph is not None:
                graph.replay()
            else:
                self._calls(calls, wait=True)
            synchronize()
        except BaseException as error:
            raise self._failure(error) from error
        finally:
            gc.enable()
        os.write(ANSWERS, DONE + frame[NONCE])

    def _calls(self, calls: int, *, wait: bool = False) -> None:
        """The calls one after the other; with `wait` each to its end on the device before the next."""
        import torch

        assert self._solve is not None
        link, stream = self._link, torch.cuda.current_stream().cuda_stream
        if link is not None:
            link.begin(stream)
        for call, arguments in enumerate(self._arguments[:calls]):
            if (result := self._solve(*arguments, **self._scalars)) is not None:
                raise returned(result)
            if link is not None and call + 1 < calls:
                link.between(call, stream)
            if wait:
                torch.cuda.synchronize()

    def _capture(self, calls: int) -> None:
        """On success a graph that has run once, so that its first launch in a round costs no more."""
        import torch

        try:
            graph = torch.cuda.CUDAGraph(keep_graph=True)
            stream = torch.cuda.Stream()  # type: ignore[no-untyped-call, unused-ignore]
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                self._calls(1)  # Handles and workspaces of libraries belong to a stream.
            torch.cuda.synchronize()
            with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
                self._calls(calls)
            graph.instantiate()
            graph.replay()
            torch.cuda.synchronize()
            self._instantiate(graph, stream)
        except SubmissionError:
            raise
        except Exception as error:  # noqa: BLE001 (whatever it is, the calls are then made one by one)
            self._reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"[:500]
            self._synchronize()
        else:
            self._graph, self._stream = graph, stream

    def _instantiate(self, graph: "torch.cuda.CUDAGraph", stream: "torch.cuda.Stream") -> None:
        """The driver's own executable graph, uploaded: what the native round launches."""
        raw = ctypes.c_void_p(graph.raw_cuda_graph())
        on = ctypes.c_void_p(stream.cuda_stream)
        self._call("cuGraphInstantiateWithFlags", ctypes.byref(self._exec), raw, ctypes.c_ulonglong(0))
        self._call("cuGraphUpload", self._exec, on)
        self._call("cuStreamSynchronize", on)

    def _call(self, name: str, *arguments: Any) -> None:
        if error := getattr(self._cuda, name)(*arguments):
            raise RuntimeError(f"{name}: {self._name_of(error)}")

    def _forget(self) -> None:
        if self._exec:
            self._cuda.cuGraphExecDestroy(self._exec)
            self._exec = ctypes.c_void_p()
        self._graph, self._stream, self._captured, self._reason = None, None, 0, ""

    def _synchronize(self) -> None:
        import torch

        try:
            torch.cuda.synchronize()
        except Exception as error:
            raise self._failure(error) from error

    def _name_of(self, error: int) -> str:
        name = ctypes.c_char_p()
        self._cuda.cuGetErrorName(error, ctypes.byref(name))
        return name.value.decode() if name.value else f"error {error}"


def native_round(folder: Path) -> ctypes.CDLL | None:
    """The native round, compiled in this folder, which must be this sandbox's alone.

    None where there is no compiler, and Python does it then.
    """
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        return None
    library = folder / LIBRARY
    command = [compiler, "-O2", "-shared", "-fPIC", str(SOURCE), "-o", str(library)]
    built = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return ctypes.CDLL(str(library)) if built.returncode == 0 else None
