"""Sealed probes: rounds of a single call, a test of whether the calls of a ring overlapped.

A call that leaves most of a device idle can be run beside others, which sells throughput as latency. In a
probe there is no other call. Probes are too noisy to be a clock; the ring's time counts, unless it lies below
what their latency can explain. Their constant is the round of the same case, filled alike, by a candidate of
ours that does nothing (docs/decisions/0010).
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import SystemRandom

from grader.contract import Evidence, ProbeResult, Verdict
from grader.judge.clock import IntegrityFailure
from grader.messages import text

LEAST_SECONDS = 50e-6
"""A shorter latency proves nothing: such cases are linked."""
BIAS_SECONDS = 60e-6
SHARE = 0.1
"""A call alone may be slower than in the ring by the two, and no more. Right ones were by up to 52 µs on an
H200: processes differ in how fast they wake up, and a first call meets caches that are cold to code too."""
COUNTS = (60, 240, 1000)
"""Probes of the first look; each further look comes only if the one before says overlap."""
ERRORS = 3.0
AUDITED = 8
"""One probe in so many is audited, and nobody knows which."""
_IQR_OF_NORMAL = 1.349
_MEDIAN_OF_NORMAL = 1.2533
"""Standard error of a median over that of a mean."""


@dataclass(frozen=True)
class Latency:
    """A median in seconds and its standard error."""

    seconds: float
    error: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> "Latency":
        """From the quartiles: outliers of a busy machine do not count."""
        low, middle, high = statistics.quantiles(samples, n=4)
        spread = (high - low) / _IQR_OF_NORMAL
        return cls(middle, _MEDIAN_OF_NORMAL * spread / math.sqrt(len(samples)))


@dataclass
class Probes:
    """`single` makes a round of one call, audited or not, and says its seconds; `empty` is our own round."""

    single: Callable[[bool], float]
    empty: Latency
    case: str = ""
    seconds: list[float] = field(default_factory=list)

    def check(self, ring_seconds: float) -> ProbeResult:
        """Probe a call that takes `ring_seconds` in the ring.

        Raises IntegrityFailure if the ring is faster than single calls can explain, at every look; and
        whatever a round raises.
        """
        random = SystemRandom()
        latency = error = limit = 0.0
        for count in COUNTS:
            self.seconds = [self.single(random.randrange(AUDITED) == 0) for _ in range(count)]
            found = Latency.of(self.seconds)
            latency = found.seconds - self.empty.seconds
            error = math.hypot(found.error, self.empty.error)
            limit = (1 - SHARE) * (latency - ERRORS * error - BIAS_SECONDS)
            if latency < LEAST_SECONDS or ring_seconds >= limit:
                return ProbeResult(calls=count, seconds=max(0.0, latency), standard_error=error)
        raise IntegrityFailure(
            Verdict.OVERLAP,
            text("overlap", ring=f"{ring_seconds * 1e6:.3g}", single=f"{latency * 1e6:.3g}"),
            Evidence(
                kind="sealed_probes",
                case=self.case,
                measured=ring_seconds,
                limit=limit,
                unit="s",
                text=f"{COUNTS[-1]} single calls: median {latency:.3g} s, standard error {error:.2g} s",
            ),
        )
