"""Python submissions on a device (PyTorch, Triton): the calls of a round are captured in one CUDA graph.

Where capturing fails they are made one by one in the round, and the author is told why.
"""

import gc
import os
from typing import TYPE_CHECKING

from .arena import Slots
from .failures import SubmissionError
from .frames import ANSWERS, COMMANDS, DONE, GO, NONCE, ROUND_FRAME
from .python_code import PythonCode, returned

if TYPE_CHECKING:
    import torch


class GraphCode(PythonCode):
    """As PythonCode, for tensors on a device."""

    _graph: "torch.cuda.CUDAGraph | None" = None
    _captured = 0
    _reason = ""

    def bind(self, slots: Slots, entry: str) -> None:
        """Make the arguments of every slot."""
        self._forget()
        super().bind(slots, entry)

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
        import torch

        graph, synchronize = self._graph, torch.cuda.synchronize
        frame = os.read(COMMANDS, ROUND_FRAME)
        if not frame.startswith(GO):
            raise SystemExit(0)  # The judge has closed the channel.
        try:
            if graph is not None:
                graph.replay()
            else:
                self._calls(calls)
            synchronize()
        except BaseException as error:
            raise self._failure(error) from error
        finally:
            gc.enable()
        os.write(ANSWERS, DONE + frame[NONCE])

    def _calls(self, calls: int) -> None:
        assert self._solve is not None
        for arguments in self._arguments[:calls]:
            if (result := self._solve(*arguments, **self._scalars)) is not None:
                raise returned(result)

    def _capture(self, calls: int) -> None:
        """On success a graph that has run once, so that its first replay in a round costs no more."""
        import torch

        graph = torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call, unused-ignore]
        stream.wait_stream(torch.cuda.current_stream())
        try:
            with torch.cuda.stream(stream):
                self._calls(1)  # Handles and workspaces of libraries belong to a stream.
            torch.cuda.synchronize()
            with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
                self._calls(calls)
            graph.replay()
            torch.cuda.synchronize()
        except SubmissionError:
            raise
        except Exception as error:  # noqa: BLE001 (whatever it is, the calls are then made one by one)
            self._reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"[:500]
            self._synchronize()
        else:
            self._graph = graph

    def _forget(self) -> None:
        self._graph, self._captured, self._reason = None, 0, ""

    def _synchronize(self) -> None:
        import torch

        try:
            torch.cuda.synchronize()
        except Exception as error:
            raise self._failure(error) from error
