"""The speed of light: the least time that a cost can take on a hardware.

T = max over resources of amount / rate   (+ steps x latency of a step, in linked cases)
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from grader.hardware.profile import Hardware, RateKind, Rates
from grader.task import Cost

DRAM = "dram"
LINK = "link"
STEPS = "steps"


class SolError(ValueError):
    """No bound can be computed: the hardware lacks a rate, or the cost is empty or not finite."""


@dataclass(frozen=True)
class Bound:
    """The least time in seconds, the resource that binds, and the seconds that each resource would take."""

    seconds: float
    by: str
    terms: Mapping[str, float]


def bound(cost: Cost, hardware: Hardware, *, linked: bool = False, rates: RateKind = "score") -> Bound:
    """The bound of one call, at the rates of one kind (`score` for fractions, `ceiling` for verdicts).

    `by` is `dram`, `link`, a unit of `cost.operations`, or `steps` where their latency outweighs the rest.
    Raises SolError where a needed rate is missing or the bound would be zero.
    """
    terms = {unit: _seconds(unit, amount, hardware.units.get(unit), hardware, rates)
             for unit, amount in cost.operations.items()}  # fmt: skip
    terms[DRAM] = _seconds(DRAM, cost.dram_bytes, hardware.dram, hardware, rates)
    terms[LINK] = _seconds(LINK, cost.link_bytes, hardware.link, hardware, rates)
    by = max(terms, key=lambda name: terms[name])
    seconds = terms[by]
    if linked and cost.steps:
        if cost.steps < 0:
            raise SolError(f"steps: {cost.steps} is negative")
        if hardware.step_seconds is None:
            raise SolError(
                f"{hardware.hardware} has no latency of a step: calibrate it (`solmark calibrate`)"
            )
        terms[STEPS] = cost.steps * hardware.step_seconds
        by = STEPS if terms[STEPS] > seconds else by
        seconds += terms[STEPS]
    if not (math.isfinite(seconds) and seconds > 0):
        raise SolError(f"the bound is {seconds} s: a cost needs at least one amount above zero")
    return Bound(seconds, by, {name: term for name, term in terms.items() if term > 0})


def _seconds(resource: str, amount: float, rates: Rates | None, hardware: Hardware, kind: RateKind) -> float:
    if not math.isfinite(amount) or amount < 0:
        raise SolError(f"{resource}: an amount of {amount} is not a finite number from zero up")
    if amount == 0:
        return 0.0
    rate = None if rates is None else rates.get(kind)
    if rate is None:
        known = ", ".join([*hardware.units, *(name for name in (DRAM, LINK) if getattr(hardware, name))])
        raise SolError(
            f"{hardware.hardware} has no {kind} rate for {resource!r} (it has: {known or 'none'}); "
            "calibrate it (`solmark calibrate`), or change the cost"
        )
    return amount / rate
