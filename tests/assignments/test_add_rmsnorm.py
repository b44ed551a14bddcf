"""kernels/add-rmsnorm: oracle, bound, fills, limits, pages."""

import importlib
import math
import re
import struct
from collections import Counter
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import pytest
import torch

from grader.assignment import Assignment, load
from grader.contract import Verdict
from grader.judge import audit
from grader.task import Candidate, Case, FunctionTask, Params, Tensor, Tolerance

CHECKOUT = Path(__file__).parents[2]
FOLDER = CHECKOUT / "assignments/kernels/add-rmsnorm"
REFERENCE = CHECKOUT / "reference/kernels/add-rmsnorm"
VALUES = ["rows", "zeros", "large", "small", "outlier"]
DTYPES = ["float32", "float16", "bfloat16"]
DRAWS, TIMED_DRAWS = 20, 4
"""Fills over which a test measures the honest reference; the folder's numbers come from 400."""
FACTOR = 1.45
"""Limits over the honest reference's errors."""
FLOAT32 = (6e-7, 4e-7)
"""What float32 is always allowed (worst row, mean row): a root good to 2 ulp and three roundings."""
ASSIGNMENT = load(FOLDER)
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@pytest.fixture(scope="module")
def assignment() -> Assignment:
    return ASSIGNMENT


@pytest.fixture(scope="module")
def task(assignment: Assignment) -> FunctionTask:
    part = assignment.parts()["kernel"]
    assert isinstance(part, FunctionTask)
    return part


def slot_of(
    task: FunctionTask, params: Params, seed: int
) -> tuple[dict[str, Tensor], dict[str, torch.Tensor]]:
    """Descriptors and filled tensors of one call; outputs and gaps hold NaN."""
    tensors = {tensor.name: tensor for tensor in task.tensors(params)}
    slot = {}
    for name, tensor in tensors.items():
        memory = torch.full(
            (tensor.span_bytes // tensor.item_bytes,), torch.nan, dtype=getattr(torch, tensor.dtype)
        )
        slot[name] = memory.as_strided(tensor.shape, tensor.effective_strides, tensor.offset)
    task.fill(params, [{name: slot[name] for name in ("x", "res", "w")}], [seed])
    return tensors, slot


# --- the oracle ---------------------------------------------------------------------------------------------


def rounded(value: float, dtype: str) -> float:
    """To the nearest number of that type, ties to even: through struct, or by hand for bfloat16."""
    if dtype == "float32":
        return float(struct.unpack("f", struct.pack("f", value))[0])
    if dtype == "float16":
        return float(struct.unpack("e", struct.pack("e", value))[0])
    if value == 0:
        return value
    ulp = 2.0 ** (math.frexp(value)[1] - 8)
    return round(value / ulp) * ulp


def by_hand(
    x: Any, res: Any, w: Any, epsilon: float, dtype: str
) -> tuple[list[list[float]], list[list[float]]]:
    """y and res_out of nested lists, one number at a time in Python's float64."""
    sums = [[rounded(a + b, dtype) for a, b in zip(*pair, strict=True)] for pair in zip(x, res, strict=True)]
    result = []
    for row in sums:
        root = math.sqrt(math.fsum(value * value for value in row) / len(row) + epsilon)
        result.append([value / root * weight for value, weight in zip(row, w, strict=True)])
    return result, sums


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("strided", [False, True])
def test_oracle_equals_the_formula_by_hand(
    task: FunctionTask, dtype: str, values: str, strided: bool
) -> None:
    for rows, columns in ((7, 13), (1, 1), (3, 40)):
        params = {"rows": rows, "columns": columns, "dtype": dtype, "epsilon": 1e-4}
        params |= {"values": values, "strided": strided}
        _, slot = slot_of(task, params, 3)
        before = {name: slot[name].clone() for name in ("x", "res", "w")}
        found = task.oracle(params, {name: slot[name] for name in before})
        y, res_out = by_hand(before["x"].tolist(), before["res"].tolist(), before["w"].tolist(), 1e-4, dtype)
        assert found["res_out"].tolist() == res_out
        assert found["y"].dtype == torch.float64
        torch.testing.assert_close(found["y"], torch.tensor(y, dtype=torch.float64), rtol=1e-13, atol=0)
        assert all(torch.equal(slot[name], value) for name, value in before.items())


def test_oracle_of_no_rows_is_empty(task: FunctionTask) -> None:
    params = {"rows": 0, "columns": 9, "dtype": "float32", "epsilon": 1e-6}
    _, slot = slot_of(task, params, 1)
    assert {name: tuple(out.shape) for name, out in task.oracle(params, slot).items()} == {
        "y": (0, 9),
        "res_out": (0, 9),
    }


# --- the bound ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "columns"), [*product((1, 2, 3), (1, 2, 5)), (0, 4)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_bound_counts_exactly_the_bytes_that_must_be_touched(
    task: FunctionTask, rows: int, columns: int, dtype: str
) -> None:
    """Each input is changed by itself; it counts if any output changes. Every output counts once."""
    params = {"rows": rows, "columns": columns, "dtype": dtype, "epsilon": 1e-3, "values": "small"}
    tensors, slot = slot_of(task, params, 5)
    inputs = {name: slot[name] for name in ("x", "res", "w")}
    before = task.oracle(params, inputs)
    touched = 0
    for name, tensor in inputs.items():
        for index in product(*map(range, tensor.shape)):
            changed = {**inputs, name: tensor.clone()}
            changed[name][index] = tensor[index] * -1.5 + 1
            after = task.oracle(params, changed)
            if any(not torch.equal(before[output], after[output]) for output in before):
                touched += tensors[name].item_bytes
    touched += sum(tensors[name].item_bytes * value.numel() for name, value in before.items())
    assert task.cost(params).dram_bytes == touched


def test_arithmetic_never_binds_on_a_machine_with_a_ridge_above_one(task: FunctionTask) -> None:
    for dtype in DTYPES:
        cost = task.cost({"rows": 1000, "columns": 999, "dtype": dtype, "epsilon": 1e-6})
        assert cost.operations["fp32"] / cost.dram_bytes < 1


# --- the fills ----------------------------------------------------------------------------------------------


def test_a_prediction_that_is_no_time_is_a_wrong_answer(assignment: Assignment) -> None:
    episode = assignment.parts()["predict"].episode  # type: ignore[union-attr]
    (case, *_) = (case for case in assignment.cases("cpu", bytes(16)) if case.part == "predict")

    class Answers:
        def __init__(self, value: Any) -> None:
            self.ask = lambda *_arguments: [value, "memory"]

    for value in (10**400, -(10**400), 1 << 62, True, "1", None):
        assert not episode(case, cast("Candidate", Answers(value)), 1).passed


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ridge", [0.05, 20.0])
def test_a_prediction_is_held_against_every_byte(assignment: Assignment, dtype: str, ridge: float) -> None:
    """At 10,000 rows w is one part in 40,000 of the bytes: a prediction that leaves it out is wrong still."""
    prediction = importlib.import_module(assignment.parts()["predict"].episode.__module__)  # type: ignore[union-attr]
    rows, columns, item = 10_000, 7_777, prediction.ITEM[dtype]
    asked = {
        "rows": rows,
        "columns": columns,
        "dtype": dtype,
        "operations_per_second": ridge * 5 / (4 * item) * 1e12,
        "bytes_per_second": 1e12,
    }
    compute, memory = (
        5 * rows * columns / (ridge * 5 / (4 * item) * 1e12),
        (4 * rows + 1) * columns * item / 1e12,
    )
    by = "compute" if ridge < 1 else "memory"
    bound = max(compute, memory)
    assert (by == "compute") is (compute > memory)
    assert prediction.wrong(asked, [bound, by]) is None
    assert prediction.wrong(asked, [bound * (1 + 1e-9), by]) is None
    assert (
        "is bound by" in prediction.wrong(asked, [bound, {"compute": "memory", "memory": "compute"}[by]])[0]
    )
    for other in (bound * (1 + 1e-5), bound * (1 - 1e-5), compute + memory, 4 * rows * columns * item / 1e12):
        assert "is not the bound" in prediction.wrong(asked, [other, by])[0]


@pytest.mark.parametrize("values", VALUES)
def test_slots_are_independent_and_can_be_made_again(task: FunctionTask, values: str) -> None:
    params = {"rows": 30, "columns": 200, "dtype": "float32", "epsilon": 1e-6, "values": values}
    first, second, again = (slot_of(task, params, seed)[1] for seed in (11, 12, 11))
    for name in ("x", "res", "w"):
        assert torch.equal(first[name], again[name])
        both = torch.stack([first[name].flatten(), second[name].flatten()])
        if values not in ("outlier", "zeros"):
            assert abs(float(torch.corrcoef(both)[0, 1])) < 0.25
        assert (both[0] == both[1]).float().mean() < (0.6 if values == "zeros" else 0.01)
    assert not torch.equal(first["x"], first["res"])


def test_zero_rows_are_zero_or_cancel(task: FunctionTask) -> None:
    params = {"rows": 9, "columns": 50, "dtype": "float16", "epsilon": 1e-6, "values": "zeros"}
    _, slot = slot_of(task, params, 2)
    zero = (slot["x"] == 0).all(1)
    cancels = ((slot["x"] + slot["res"]) == 0).all(1)
    assert (int(zero.sum()), int(cancels.sum())) == (3, 6)


def test_squares_of_large_values_overflow_float16(task: FunctionTask) -> None:
    params = {"rows": 5, "columns": 50, "dtype": "float16", "epsilon": 1e-6, "values": "large"}
    _, slot = slot_of(task, params, 2)
    total = slot["x"] + slot["res"]
    assert total.isfinite().all()
    assert total.square().isinf().all()


# --- the limits ---------------------------------------------------------------------------------------------


def honest(x: torch.Tensor, res: torch.Tensor, w: torch.Tensor, epsilon: float) -> torch.Tensor:
    """y in float32, squares added in column order, one rounding at the end."""
    total = (x + res).float().numpy()
    squares = np.add.accumulate(total * total, axis=1, dtype=np.float32)[:, -1:]
    root = np.sqrt(squares / np.float32(total.shape[1]) + np.float32(epsilon))
    return torch.from_numpy(total * (np.float32(1) / root) * w.float().numpy()).to(x.dtype)


Errors: TypeAlias = tuple[float, ...]
"""Worst row, mean row, worst element."""


def measured(task: FunctionTask, name: str, draws: int) -> Errors:
    """Largest errors of the honest reference on a case, over fresh fills and drawn shapes."""
    largest: Errors = (0.0, 0.0, 0.0)
    for draw in range(1, draws + 1):
        case = cases(draw)[name]
        tensors, slot = slot_of(task, case.params, draw << 64)
        y = honest(slot["x"], slot["res"], slot["w"], case.params["epsilon"])
        found = audit.compare(tensors["y"], y, task.oracle(case.params, slot)["y"], Tolerance(1, 1, 1000))
        errors = (found.worst_row, found.mean_row, found.worst_element)
        largest = tuple(map(max, largest, errors))
    return largest


@cache
def cases(draw: int) -> dict[str, Case]:
    """The cases of one grading by id; what a hidden one draws depends on `draw`."""
    drawn = ASSIGNMENT.cases("cpu", draw.to_bytes(16, "big"))
    return {case.id: case for case in drawn if case.part == "kernel"}


CASES = [(name, case.params["dtype"]) for name, case in cases(1).items() if case.params["rows"]]


@cache
def noted() -> dict[str, Errors]:
    """The honest reference's errors as the folder notes them beside each limit."""
    text = "".join((FOLDER / name).read_text("utf-8") for name in ("assignment.toml", "hidden/cases.toml"))
    pattern = r'^id = "([^"]+)"$(?:(?!^id = ).)*?^# honest: (\S+) (\S+) (\S+)$'
    notes = re.findall(pattern, text, re.MULTILINE | re.DOTALL)
    return {name: tuple(map(float, errors)) for name, *errors in notes}


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_limits_are_at_most_one_and_a_half_times_the_honest_error(name: str, dtype: str) -> None:
    limit = cases(1)[name].tolerance["y"]
    limits = (limit.worst_row, limit.mean_row, limit.worst_element)
    own = noted()[name]
    if dtype == "float32":
        scale = max(1.0, FLOAT32[0] / (FACTOR * own[0]))
        own = (own[0] * scale, max(own[1], FLOAT32[1] / FACTOR), own[2] * scale)
    assert all(error < bound <= 1.5 * error for error, bound in zip(own, limits, strict=True)), (own, limits)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_noted_errors_are_those_of_the_honest_reference(task: FunctionTask, name: str, dtype: str) -> None:
    """A maximum over fewer fills lies below the noted one, but not far."""
    own = measured(task, name, TIMED_DRAWS if name.startswith("timed") else DRAWS)
    pairs = list(zip(own, noted()[name], strict=True))
    assert all(error <= note for error, note in pairs), pairs
    assert own[0] > 0.25 * noted()[name][0]
    assert own[1] > 0.25 * noted()[name][1]


# --- pages and files ----------------------------------------------------------------------------------------


def test_both_pages_have_the_same_headings_numbers_and_formulas(assignment: Assignment) -> None:
    english, chinese = assignment.readme("en"), assignment.readme("zh")
    levels = [re.findall(r"^(#+) ", page, re.MULTILINE) for page in (english, chinese)]
    assert levels[0] == levels[1]
    assert Counter(NUMBER.findall(english)) == Counter(NUMBER.findall(chinese))
    counts = [
        [page.count(mark) for mark in ("$$", "$", "\n- ", "\n|", "](", "`")] for page in (english, chinese)
    ]
    assert counts[0] == counts[1]
    for figure in re.findall(r"\]\((figures/[^)]+)\)", english + chinese):
        assert (FOLDER / figure).is_file()


def header(path: Path) -> dict[str, str]:
    """What the first lines of a reference file say: verdict, mode; `bug` is the first other line."""
    lines = path.read_text("utf-8").splitlines()[:10]
    notes = dict(re.findall(r"^(?:#|//) solmark: (\w+)=(\w+)$", "\n".join(lines), re.MULTILINE))
    notes["bug"] = next(line.lstrip("#/ ") for line in lines if "solmark:" not in line)
    return notes


def test_wrong_solutions_name_their_verdict_and_differ_in_their_bug() -> None:
    wrong = sorted((REFERENCE / "wrong").iterdir())
    headers = [header(path) for path in wrong]
    assert all(Verdict(notes["verdict"]) is not Verdict.ACCEPTED for notes in headers)
    assert len({notes["bug"] for notes in headers}) == len(wrong) >= 12
    assert sum(path.name.startswith("cheat_") for path in wrong) >= 2
    assert {path.suffix for path in wrong} == {".py", ".cpp"}
    assert all(header(path)["verdict"] == "accepted" for path in REFERENCE.glob("*.*"))
