"""Sealed probes: rounds of a single call, a test of whether the calls of a ring overlapped.

A call that leaves most of a device idle can be run beside others, which sells throughput as latency. In a
probe there is no other call. Probes are too noisy to be a clock; the ring's time counts, unless it lies far
below their latency. How far is measured (docs/decisions/0010): the latency of honest calls came out up to 41
microseconds too long, since the constant is that of a round that fills almost nothing.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from grader.contract import Evidence, ProbeResult, Verdict
from grader.judge.clock import IntegrityFailure
from grader.judge.rounds import Rounds
from grader.messages import text

LEAST_SECONDS = 70e-6
"""A shorter latency proves nothing."""
BIAS_SECONDS = 45e-6
"""Most by which an honest call's latency was too long, and a little more."""
SHARE = 0.4
"""A ring faster than this share of what the latency must at least be has run calls side by side."""
COUNT = 200
AGAIN = 1000
ERRORS = 3.0
_IQR_OF_NORMAL = 1.349
_MEDIAN_OF_NORMAL = 1.2533
"""Standard error of a median over that of a mean."""


@dataclass
class Probes:
    """`constant`: seconds of a median empty round of such a candidate."""

    rounds: Rounds
    constant: float
    seconds: list[float] = field(default_factory=list)

    def check(self, ring_seconds: float) -> ProbeResult:
        """Probe a call that takes `ring_seconds` in the ring.

        Raises IntegrityFailure if the ring is faster than single calls can explain, twice; and whatever a
        round raises.
        """
        for count in (COUNT, AGAIN):
            self.seconds = [self.rounds.single() - self.constant for _ in range(count)]
            latency, error = estimate(self.seconds)
            limit = SHARE * (latency - ERRORS * error - BIAS_SECONDS)
            if latency < LEAST_SECONDS or ring_seconds >= limit:
                return ProbeResult(calls=count, seconds=max(0.0, latency), standard_error=error)
        raise IntegrityFailure(
            Verdict.OVERLAP,
            text("overlap", ring=f"{ring_seconds * 1e6:.3g}", single=f"{latency * 1e6:.3g}"),
            Evidence(
                kind="sealed_probes",
                case=self.rounds.clock.case,
                measured=ring_seconds,
                limit=limit,
                unit="s",
                text=f"{AGAIN} single calls: median {latency:.3g} s, standard error {error:.2g} s",
            ),
        )


def estimate(samples: Sequence[float]) -> tuple[float, float]:
    """Median and its standard error, from the quartiles: outliers of a busy machine do not count."""
    low, middle, high = statistics.quantiles(samples, n=4)
    spread = (high - low) / _IQR_OF_NORMAL
    return middle, _MEDIAN_OF_NORMAL * spread / math.sqrt(len(samples))
