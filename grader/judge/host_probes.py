"""Sealed probes on a CPU: single calls beside the ring's time, for calls run side by side on several cores.

Neighbours of a virtual machine make calls slower for seconds, never faster. So the fast ones among the probes
are taken for the latency, and the margin is wide: what runs side by side on two cores takes half the time of
a call alone. A candidate with one core cannot run anything side by side, and is not probed.
"""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from grader.contract import Evidence, ProbeResult, Verdict
from grader.judge.clock import IntegrityFailure
from grader.judge.overhead import Overhead
from grader.messages import text

LEAST_SECONDS = 1e-3
"""A shorter call drowns in what waking a candidate takes."""
BIAS_SECONDS = 200e-6
SHARE = 0.25
"""A call alone may be slower than in the ring by the two: its core has just been woken up."""
COUNTS = (30, 60, 120)
"""Probes of the first look; each further look comes only if the one before says overlap."""


@dataclass
class HostProbes:
    """`single` makes an audited round of one call and says its seconds, the constant included."""

    single: Callable[[], float]
    overhead: Overhead
    case: str = ""

    def check(self, ring_seconds: float) -> ProbeResult | None:
        """Probe a call that takes `ring_seconds` in the ring; None where it is too short to be probed.

        Raises IntegrityFailure if the ring is faster than single calls can explain, at every look; and
        whatever a round raises.
        """
        if ring_seconds < LEAST_SECONDS / 2:  # Side by side on two cores it would seem half as long.
            return None
        latency = limit = 0.0
        for count in COUNTS:
            seconds = [self.single() for _ in range(count)]
            low, _, high = statistics.quantiles(seconds, n=4)
            latency = low - self.overhead.median
            limit = (1 - SHARE) * (latency - BIAS_SECONDS)
            if latency < LEAST_SECONDS or ring_seconds >= limit:
                error = (high - low) / count**0.5
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
                text=f"{COUNTS[-1]} single calls: a quarter took less than {latency:.3g} s",
            ),
        )
