"""The step-time model against a roofline in fractions, and how it grows."""

from fractions import Fraction
from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from grader.simulate.engine import Machine, Model, move_ns, step_ns

MODEL = Model(parameters=1_500_000_000, layers=28, heads=12, kv_heads=2, head_size=128)
MACHINE = Machine(989 * 10**12, 4_800 * 10**9, 200_000, 32_768, 50 * 10**9)
COUNTS = st.integers(0, 512)
CONTEXTS = st.integers(0, 1 << 20)


@given(COUNTS, CONTEXTS, st.integers(0, 8192))
def test_a_step_is_the_slower_of_compute_and_memory(decode: int, context: int, prefill: int) -> None:
    found = step_ns(MODEL, MACHINE, decode=decode, context=context, prefill=prefill)
    if decode + prefill == 0:
        assert found == 0
        return
    operations = 2 * 1_500_000_000 * (decode + prefill) + 4 * 28 * 12 * 128 * context
    moved = 2 * 1_500_000_000 + 2 * 28 * 2 * 128 * 2 * (context + prefill)
    slower = max(Fraction(operations, 989 * 10**12), Fraction(moved, 4_800 * 10**9))
    assert found == 200_000 + ceil(slower * 10**9)
    assert isinstance(found, int)


@given(COUNTS, COUNTS, CONTEXTS, CONTEXTS)
def test_more_work_never_takes_less(some: int, more: int, context: int, further: int) -> None:
    little = step_ns(MODEL, MACHINE, decode=some, context=context)
    assert little <= step_ns(MODEL, MACHINE, decode=some + more, context=context + further)
    assert move_ns(MODEL, MACHINE, context) <= move_ns(MODEL, MACHINE, context + further)


def test_a_token_alone_costs_what_the_readme_of_the_scheduler_says() -> None:
    assert step_ns(MODEL, MACHINE, decode=1, context=0) == 825_000
    assert MODEL.kv_bytes == 28_672
