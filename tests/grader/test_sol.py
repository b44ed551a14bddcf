"""The bound: monotone in the cost, inverse in the rates, the largest of its terms."""

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import sol
from grader.hardware.profile import Hardware, Rates
from grader.sol import Bound, SolError, bound
from grader.task import Cost

RATE = Rates(score=1e12, ceiling=1.1e12, measured=0.8e12)


def hardware(**changes: Any) -> Hardware:
    values: dict[str, Any] = {
        "hardware": "h200",
        "name": "test",
        "kind": "gpu",
        "interval_target": 0.01,
        "units": {"tensor_bf16": Rates(score=1e15, ceiling=1.1e15, measured=0.8e15), "fp32": RATE},
        "dram": Rates(score=4e12, ceiling=4.4e12, measured=3.6e12),
        "link": Rates(score=4.5e11, ceiling=4.5e11),
        "step_seconds": 2e-6,
    }
    return Hardware(**(values | changes))


amounts = st.floats(min_value=1, max_value=1e18, allow_nan=False)
costs = st.builds(
    Cost,
    operations=st.dictionaries(st.sampled_from(["tensor_bf16", "fp32"]), amounts),
    dram_bytes=amounts,
    link_bytes=st.one_of(st.just(0.0), amounts),
    steps=st.integers(0, 1000),
)


@given(costs, st.booleans())
def test_the_bound_is_the_largest_term_and_names_it(cost: Cost, linked: bool) -> None:
    found = bound(cost, hardware(), linked=linked)
    resources = {name: term for name, term in found.terms.items() if name != sol.STEPS}
    steps = found.terms.get(sol.STEPS, 0.0)
    assert found.seconds == pytest.approx(max(resources.values()) + steps)
    assert found.terms[found.by] == max(found.terms.values())
    assert steps == (pytest.approx(cost.steps * 2e-6) if linked else 0)


@given(costs, costs, st.booleans())
def test_more_work_never_lowers_the_bound(cost: Cost, more: Cost, linked: bool) -> None:
    units = set(cost.operations) | set(more.operations)
    both = Cost(
        operations={unit: cost.operations.get(unit, 0) + more.operations.get(unit, 0) for unit in units},
        dram_bytes=cost.dram_bytes + more.dram_bytes,
        link_bytes=cost.link_bytes + more.link_bytes,
        steps=cost.steps + more.steps,
    )
    assert bound(both, hardware(), linked=linked).seconds >= bound(cost, hardware(), linked=linked).seconds


@given(costs, st.floats(0.01, 100))
def test_a_machine_twice_as_fast_takes_half_as_long(cost: Cost, factor: float) -> None:
    def faster(rates: Rates | None) -> Rates | None:
        return rates and Rates(score=rates.score * factor, ceiling=rates.ceiling * factor)

    machine = hardware()
    other = machine.model_copy(
        update={
            "units": {unit: faster(rates) for unit, rates in machine.units.items()},
            "dram": faster(machine.dram),
            "link": faster(machine.link),
        }
    )
    assert bound(cost, other).seconds == pytest.approx(bound(cost, machine).seconds / factor)


@given(costs)
def test_the_physical_ceiling_allows_less_time_than_the_score(cost: Cost) -> None:
    assert bound(cost, hardware(), rates="ceiling").seconds <= bound(cost, hardware()).seconds


def test_a_copy_on_an_h200_is_bound_by_its_memory() -> None:
    found = bound(Cost(operations={"fp32": 1e6}, dram_bytes=4e9), hardware())
    assert found == Bound(1e-3, "dram", {"fp32": 1e-6, "dram": 1e-3})


def test_steps_bind_small_linked_work_and_nothing_else() -> None:
    small = Cost(dram_bytes=4e3, steps=3)
    assert bound(small, hardware()).by == "dram"
    linked = bound(small, hardware(), linked=True)
    assert linked.by == "steps"
    assert linked.seconds == pytest.approx(6e-6 + 1e-9)


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (Cost(), "above zero"),
        (Cost(operations={"tensor_fp8": 1.0}), "tensor_fp8.*tensor_bf16"),
        (Cost(dram_bytes=-1.0), "finite"),
        (Cost(dram_bytes=math.nan), "finite"),
        (Cost(operations={"fp32": math.inf}), "finite"),
        (Cost(dram_bytes=1.0, steps=-1), "negative"),
    ],
)
def test_no_bound_is_made_of_nothing_or_nonsense(cost: Cost, message: str) -> None:
    with pytest.raises(SolError, match=message):
        bound(cost, hardware(), linked=True)


def test_a_rate_that_was_not_measured_is_named_with_what_to_do() -> None:
    with pytest.raises(SolError, match=r"measured rate for 'link'.*solmark calibrate"):
        bound(Cost(link_bytes=1.0), hardware(), rates="measured")
    with pytest.raises(SolError, match=r"latency of a step"):
        bound(Cost(dram_bytes=1.0, steps=1), hardware(step_seconds=None), linked=True)


def test_what_costs_nothing_needs_no_rate() -> None:
    cost = replace(Cost(dram_bytes=4e12), operations={"special": 0.0})
    assert bound(cost, hardware()).seconds == 1.0
