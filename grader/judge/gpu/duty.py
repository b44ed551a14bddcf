"""The duty cycle of a device: before each fill it rests for a while, then works for a while on our products.

A device that waits for a long audit cools down and clocks up; one that never waits does not. So how long a
round's audit takes, or a candidate's capturing of its calls, must not decide how fast its calls run.
"""

import time

from grader.judge.duty import Rhythm

PRODUCTS = 8
"""Products of a burst: about 1.5 ms on an H200."""
_SIZE = 4096


class Duty(Rhythm):
    """Rests and bursts between rounds; adds up how much of the time the device had work to do."""

    def __init__(self) -> None:
        import torch

        super().__init__()
        generator = torch.Generator("cuda")
        generator.seed()
        shape = (_SIZE, _SIZE)
        self._left, self._right = (
            torch.randn(shape, device="cuda", generator=generator).to(torch.bfloat16) for _ in range(2)
        )
        self._out = torch.empty_like(self._left)
        self._events = [
            torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call, unused-ignore]
            for _ in range(2)
        ]
        self.burst()  # Loads the library's kernels, and takes its workspace.
        torch.cuda.synchronize()
        self._end = time.monotonic()
        self._worked = self._passed = 0.0

    def burst(self) -> None:
        """Queue the burst on the current stream."""
        import torch

        self._events[0].record()
        for _ in range(PRODUCTS):
            torch.mm(self._left, self._right, out=self._out)
        self._events[1].record()

    def ended(self, seconds: float) -> None:
        """A round's work is over: burst, and so many seconds of fill and calls."""
        now = time.monotonic()
        self._worked += self._events[0].elapsed_time(self._events[1]) * 1e-3 + seconds
        self._passed += now - self._end
        self._end = now

    @property
    def cycle(self) -> float:
        """Share of the time in which the device had work."""
        return min(1.0, self._worked / self._passed) if self._passed > 0 else 0.0
