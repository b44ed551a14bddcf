"""The watchdog: a kernel on every SM, right behind the fill, that sees whether anything else is let in.

Work that a candidate has queued does not stop with its process. The watchdog keeps every SM until the host
has noted its clock; what runs before that shows as a gap between two looks at an SM's own clock.
"""

import time

from grader.judge.gpu.driver import CudaError
from grader.judge.gpu.kernels import Launch, address, processors, word

DWELL_SECONDS = 0.0003
"""Within it queued work of another process never began; with longer ones the gap showed it."""
GAP_CYCLES = 100_000
"""Alone, gaps are 12 thousand cycles; with another process's work let in, 770 thousand and more."""
_THREADS = 1024
_BLOCKS_EACH = 2
"""Of so many threads fill an SM."""
_START_SECONDS = 5.0


class Watchdog:
    """Writes `size` bytes (at most 8) of `pattern` at the address `last` and then keeps the device."""

    def __init__(self, last: int, size: int, pattern: int) -> None:
        import torch

        self._state = torch.zeros(2, dtype=torch.int64, device="cuda")
        self._host = torch.zeros(2, dtype=torch.int32).pin_memory()
        self._flags = self._host.numpy()
        arguments = [
            address(self._state.data_ptr()),
            address(self._host.data_ptr()),
            address(last),
            word(size),
            address(pattern),
        ]
        self._launch = Launch("watchdog", _BLOCKS_EACH * processors(), _THREADS, arguments)

    def reset(self) -> None:
        """To be called before the fill is queued."""
        self._state.zero_()
        self._flags[:] = 0

    def queue(self) -> None:
        """Queue it on the current stream."""
        self._launch.queue()

    def await_start(self, seconds: float) -> None:
        """Wait until it keeps the device. Raises CudaError if it does not start."""
        deadline = time.monotonic() + seconds + _START_SECONDS
        while not self._flags[1]:
            if time.monotonic() > deadline:
                self.stop()
                raise CudaError("the judge's own kernels did not get the device")

    def dwell(self) -> None:
        """Keep the device for a moment more, on the judge's own core."""
        end = time.monotonic() + DWELL_SECONDS
        while time.monotonic() < end:
            pass

    def stop(self) -> None:
        """Let go of the device."""
        self._flags[0] = 1

    def gap(self) -> int:
        """The largest gap in cycles, after the device has been synchronised."""
        return int(self._state[0].item())
