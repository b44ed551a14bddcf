"""The duty cycle: before each fill the machine rests for a while, then works on the judge's data for a while.

How long a round's audit takes, or a candidate's preparing for the next one, must not decide how cool its chip
is, nor how high it clocks. Devices have a burst of their own (`judge.gpu.duty`).
"""

import time
from typing import TYPE_CHECKING

from grader.judge.pool import CorePool

if TYPE_CHECKING:
    import torch

DWELL_SECONDS = 0.005
"""From the end of a round's work to the next burst at least."""
PRODUCTS = 6
"""Products of a burst on each core: one or two milliseconds."""
_SIZE = 192


class Rhythm:
    """Rests between rounds."""

    def __init__(self) -> None:
        self._end = time.monotonic()

    def rest(self) -> None:
        """Wait until the machine has rested long enough."""
        left = self._end + DWELL_SECONDS - time.monotonic()
        if left > 0:
            time.sleep(left)


class Duty(Rhythm):
    """Rests and bursts of a CPU, on every core that a candidate may have."""

    def __init__(self) -> None:
        import torch

        super().__init__()
        generator = torch.Generator()
        generator.seed()
        self._left, self._right = (torch.randn(_SIZE, _SIZE, generator=generator) for _ in range(2))
        self._begin = self._end
        self._rested = 0.0

    def rest(self) -> None:
        """Wait, and count it."""
        begin = time.monotonic()
        super().rest()
        self._rested += time.monotonic() - begin

    def burst(self, pool: CorePool) -> None:
        """Work on every core of the pool; it is over on return."""
        pool.everywhere(self._products)

    def ended(self) -> None:
        """A round's work is over."""
        self._end = time.monotonic()

    @property
    def cycle(self) -> float:
        """Share of the time, from the first round on, in which the judge did not let the machine rest."""
        passed = self._end - self._begin
        return max(0.0, 1.0 - self._rested / passed) if passed > 0 else 0.0

    def _products(self) -> "torch.Tensor":
        import torch

        out = self._left
        for _ in range(PRODUCTS):
            out = torch.mm(self._left, self._right)
        return out
