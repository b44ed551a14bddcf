"""kernels/sol-gemm: oracle, fills, bound, limits, hidden shapes, and what its page says of measurements."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.assignment import load
from grader.judge import audit
from grader.task import Case, FunctionTask, Params

CHECKOUT = Path(__file__).parents[2]
ASSIGNMENT = load(CHECKOUT / "assignments/kernels/sol-gemm")
RESULTS = CHECKOUT / "benchmarks/results"
VALUES = ["rows", "positive", "spikes", "low_rank", "cancel"]
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
MOST_PRODUCTS = 1 << 25
"""Of a case whose limits are tried here."""
SHAPE = re.compile(
    r"^\| (\d+) x (\d+) x (\d+)(, linked)? \| ([\d.]+) µs \| ([\d.]+) % \| ([\d.]+) µs \|$", re.MULTILINE
)


@pytest.fixture(scope="module")
def task() -> FunctionTask:
    part = ASSIGNMENT.parts()["kernel"]
    assert isinstance(part, FunctionTask)
    return part


def operands(task: FunctionTask, params: Params, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    dtype = DTYPES[params["dtype"]]
    slot = {
        "a": torch.full((params["m"], params["k"]), torch.nan, dtype=dtype),
        "b": torch.full((params["n"], params["k"]), torch.nan, dtype=dtype),
    }
    task.fill(params, [slot], [seed])
    return slot["a"], slot["b"]


def honest(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Products added one after the other in float32, rounded once."""
    left, right = a.float().T.contiguous(), b.float().T.contiguous()
    total = torch.zeros(len(a), len(b))
    for row, column in zip(left, right, strict=True):
        total.addr_(row, column)
    return total.to(a.dtype)


def cases() -> list[Case]:
    """Of both targets, the hidden ones drawn once."""
    found: dict[str, Case] = {}
    for hardware in ("cpu", "h200"):
        found |= {case.id: case for case in ASSIGNMENT.cases(hardware, bytes(range(16)))}
    return list(found.values())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("values", VALUES)
def test_oracle_is_the_sum_of_products_and_leaves_the_operands_alone(
    task: FunctionTask, dtype: str, values: str
) -> None:
    for m, n, k in ((3, 5, 7), (1, 1, 1), (4, 2, 40)):
        params = {"m": m, "n": n, "k": k, "dtype": dtype, "values": values}
        a, b = operands(task, params, 3)
        before = a.clone(), b.clone()
        found = task.oracle(params, {"a": a, "b": b})["c"]
        expected = [
            [math.fsum(x * y for x, y in zip(p, q, strict=True)) for q in b.tolist()] for p in a.tolist()
        ]
        assert found.dtype == torch.float64
        torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=1e-9, atol=1e-9)
        assert torch.equal(a, before[0])
        assert torch.equal(b, before[1])


def test_fills_are_what_they_are_called(task: FunctionTask) -> None:
    params = {"m": 40, "n": 30, "k": 1024, "dtype": "float32"}
    a, b = operands(task, params | {"values": "spikes"}, 5)
    heavy = a.abs().argmax(1)
    assert len(set(heavy.tolist())) > 20
    rest = a.clone()
    rest[torch.arange(40), heavy] = 0
    share = (rest @ b.T).norm() / (a @ b.T).norm()
    assert 0.5 < share < 0.95
    a, b = operands(task, params | {"values": "low_rank"}, 5)
    assert int(torch.linalg.matrix_rank(a.double(), rtol=1e-4)) == 2
    a, b = operands(task, params | {"values": "cancel"}, 5)
    assert (a @ b.T).norm() < 0.35 * (a[:, :512] @ b[:, :512].T).norm()
    assert all(operands(task, params | {"values": v}, 5)[0].isfinite().all() for v in VALUES)


@pytest.mark.parametrize(("m", "n", "k"), [(130, 1, 96), (300, 1, 700), (100, 2, 64)])
def test_rows_of_few_elements_are_never_too_imprecise_for_the_honest(
    task: FunctionTask, m: int, n: int, k: int
) -> None:
    params = {"m": m, "n": n, "k": k, "dtype": "float16", "values": "positive"}
    limits = [case.tolerance["c"] for case in cases() if case.params.get("values") == "positive"]
    assert len(limits) == 2
    for seed in range(200):
        a, b = operands(task, params, seed)
        right = task.oracle(params, {"a": a, "b": b})["c"]
        rows = (honest(a, b).double() - right).norm(dim=1) / right.norm(dim=1)
        assert float(rows.max()) < min(limit.worst_row for limit in limits)
        assert float(rows.mean()) < min(limit.mean_row for limit in limits)


def test_another_seed_gives_other_values_and_the_same_seed_the_same(task: FunctionTask) -> None:
    for values in VALUES:
        params = {"m": 9, "n": 8, "k": 70, "dtype": "float16", "values": values}
        first, again, other = (operands(task, params, seed) for seed in (1, 1, 2))
        assert all(torch.equal(x, y) for x, y in zip(first, again, strict=True))
        assert not any(torch.equal(x, y) for x, y in zip(first, other, strict=True))


def test_cost_counts_each_operand_once(task: FunctionTask) -> None:
    cost = task.cost({"m": 64, "n": 18432, "k": 7168, "dtype": "bfloat16"})
    assert cost.operations == {"tensor_bf16": 2 * 64 * 18432 * 7168}
    assert cost.dram_bytes == 2 * (64 * 7168 + 18432 * 7168 + 64 * 18432)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_honest_code_keeps_the_limits_and_the_limits_are_near(task: FunctionTask, case: Case) -> None:
    params = case.params
    if params["m"] * params["n"] * params["k"] > MOST_PRODUCTS:
        assert case.tolerance["c"].worst_row <= {"float32": 1.5e-6, "bfloat16": 4e-3}[params["dtype"]]
        return
    tensors = task.tensors(params)
    for seed in (11, 12):
        a, b = operands(task, params, seed)
        expected = task.oracle(params, {"a": a, "b": b})
        (result,) = audit.compare_slot(tensors, {"c": honest(a, b)}, expected, case.tolerance)
        assert result.passed, result
        (result,) = audit.compare_slot(
            tensors, {"c": (honest(a, b).double() * 1.02).to(a.dtype)}, expected, case.tolerance
        )
        assert not result.passed


def test_hidden_shapes_of_the_device_are_skinny_prime_and_deep() -> None:
    drawn = [
        case.params
        for case in ASSIGNMENT.cases("h200", bytes(range(16)))
        if case.visibility == "hidden" and case.params["dtype"] == "bfloat16"
    ]
    assert len({(p["m"], p["n"], p["k"]) for p in drawn}) >= 8
    assert any(min(p["m"], p["n"]) <= 64 and max(p["m"], p["n"]) >= 2000 for p in drawn)
    assert any(p["k"] >= 16384 for p in drawn)
    assert any(all(prime(p[name]) for name in ("m", "n", "k")) for p in drawn)
    assert {"spikes", "low_rank", "cancel"} <= {p.get("values") for p in drawn}


def prime(number: int) -> bool:
    return number > 1 and all(number % d for d in range(2, math.isqrt(number) + 1))


def test_short_cases_of_the_device_are_linked() -> None:
    for case in ASSIGNMENT.cases("h200", bytes(16)):
        if case.role == "timed":
            p = case.params
            bound = max(
                2 * p["m"] * p["n"] * p["k"] / 9.894e14,
                2 * (p["m"] * p["k"] + p["n"] * p["k"] + p["m"] * p["n"]) / 4.8e12,
            )
            assert case.linked is (bound < 50e-6)


def measured() -> dict[tuple[str, str], dict[str, Any]]:
    """The committed rows by case and role."""
    rows: list[dict[str, Any]] = json.loads((RESULTS / "kernels.h200.json").read_text("utf-8"))["rows"]
    return {(row["case"], row["solution"]): row for row in rows if row["assignment"] == "kernels/sol-gemm"}


def test_the_page_says_what_was_measured() -> None:
    found = measured()
    timed = [case for case in ASSIGNMENT.cases("h200", bytes(16)) if case.role == "timed"]
    said = SHAPE.findall((ASSIGNMENT.root / "README.md").read_text("utf-8"))
    assert len(said) == len(timed) == 13
    for case, (m, n, k, linked, microseconds, percent, library) in zip(timed, said, strict=True):
        row = found[case.id, "reference"]
        assert (int(m), int(n), int(k)) == (case.params["m"], case.params["n"], case.params["k"])
        assert bool(linked) is case.linked is row["linked"]
        assert float(microseconds) == pytest.approx(row["seconds"] * 1e6, rel=2e-3)
        assert float(percent) == pytest.approx(row["fraction"] * 100, abs=0.06)
        assert float(library) == pytest.approx(found[case.id, "library"]["seconds"] * 1e6, rel=2e-3)


def test_the_reference_stands_beside_the_library_as_the_page_says() -> None:
    found = measured()
    ratios = {
        case: row["seconds"] / found[case, "library"]["seconds"]
        for (case, role), row in found.items()
        if role == "reference"
    }
    aligned = math.prod(r for case, r in ratios.items() if "odd" not in case) ** (1 / 8)
    odd = math.prod(r for case, r in ratios.items() if "odd" in case) ** (1 / 5)
    assert {row["measured"] for (_, role), row in found.items() if role in ("reference", "library")} == {
        found["h200-square", "reference"]["measured"]
    }, "of one run"
    assert aligned == pytest.approx(0.984, abs=0.002)
    assert max(ratios, key=lambda case: ratios[case]) == "h200-decode"
    assert max(ratios.values()) < 1 / 0.9
    assert odd < 1 / 3
