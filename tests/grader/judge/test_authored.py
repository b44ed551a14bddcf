"""What the assignment's own functions may give: all else is the assignment's fault, named with its case."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from grader.judge import authored, timed
from grader.judge.failure import AssignmentFault
from grader.task import BlobRegion, Case, Cost, DialogueTask, FunctionTask, Outcome, Tensor, Tolerance

Y = Tensor("y", "float32", (2, 3), "out")


@pytest.mark.parametrize(
    "given",
    [
        None,
        (),
        [("y", "float32")],
        [Tensor("y", "float23", (2,), "out")],  # type: ignore[arg-type]
        [Tensor("y", "float32", (2.5,), "out")],  # type: ignore[arg-type]
        [Tensor("y", "float32", 7, "out")],  # type: ignore[arg-type]
        [Tensor("y", "float32", (-1,), "out")],
        [Tensor("y", "float32", (2, 3), "out", strides=(1,))],
        [Tensor("y", "float32", (2, 3), "out", strides=("a", 1))],  # type: ignore[arg-type]
        [Tensor("y", "float32", (1 << 40,), "out")],
        [Tensor(["y"], "float32", (2,), "out")],  # type: ignore[arg-type]
    ],
)
def test_tensors(toy: FunctionTask, case: Callable[..., Case], given: Any) -> None:
    wrong = replace(toy, tensors=lambda _params: given)
    with pytest.raises(AssignmentFault) as raised:
        authored.tensors(wrong, case())
    assert raised.value.what == "tensors"
    assert "task.py: tensors of case 'mode-0'" in raised.value.detail
    with pytest.raises(AssignmentFault):
        timed.plan(wrong, case(), None)


@pytest.mark.parametrize(
    "given", [None, {"n": 1 << 63}, {"n": float("nan")}, {"n": "text"}, {"y": 1}, {"n": None}, {"n": [1]}, 3]
)
def test_scalars(toy: FunctionTask, case: Callable[..., Case], given: Any) -> None:
    with pytest.raises(AssignmentFault) as raised:
        authored.scalars(replace(toy, scalars=lambda _params: given), case())
    assert raised.value.what == "scalars"
    assert "'mode-0'" in raised.value.detail


@pytest.mark.parametrize(
    "given",
    [None, 3, Cost(), Cost({"fp31": 1.0}), Cost(dram_bytes="many"), Cost(dram_bytes=float("inf"))],  # type: ignore[arg-type]
)
def test_cost(toy: FunctionTask, case: Callable[..., Case], given: Any) -> None:
    with pytest.raises(AssignmentFault) as raised:
        timed.plan(replace(toy, cost=lambda _params: given), case(), None)
    assert raised.value.what == "cost"
    assert "'mode-0'" in raised.value.detail


def test_regions(case: Callable[..., Case]) -> None:
    for given in (None, [BlobRegion("a", "int23", 1, "to_candidate")], [3]):  # type: ignore[arg-type]
        task = DialogueTask(episode=lambda *_: Outcome(True), regions=lambda _params, given=given: given)  # type: ignore[misc]
        with pytest.raises(AssignmentFault) as raised:
            authored.regions(task, case())
        assert raised.value.what == "regions"


def test_a_call_beyond_the_memory_there_is(toy: FunctionTask, case: Callable[..., Case]) -> None:
    large = replace(toy, tensors=lambda _params: [Tensor("y", "float32", (1 << 31,), "out")])
    with pytest.raises(AssignmentFault, match="8192 MiB"):
        timed.plan(large, case(), None, most_bytes=4 << 30)


def test_limits_of_outputs_that_do_not_exist(toy: FunctionTask, case: Callable[..., Case]) -> None:
    fine = Tolerance(1e-6, 1e-6, 1e-6)
    assert authored.tensors(toy, replace(case(), tolerance={"y": fine, "*": fine}))
    with pytest.raises(AssignmentFault, match="tolerance names 'yy'"):
        authored.tensors(toy, replace(case(), tolerance={"yy": fine}))


@pytest.mark.parametrize(
    ("expected", "says"),
    [
        ({"y": np.zeros((2, 3))}, "numpy.ndarray; a torch tensor is needed"),
        ({"y": torch.zeros(2, 3), "z": torch.zeros(2)}, "returned 'z'; the outputs are y"),
        ({"y": [0.0]}, "a torch tensor is needed"),
        ([], "a dict of outputs is needed"),
        ({}, "returned no 'y'"),
        ({"y": torch.zeros(2, 3).to_sparse()}, "oracle of case"),
    ],
)
def test_answers_of_an_oracle(case: Callable[..., Case], expected: object, says: str) -> None:
    with pytest.raises(AssignmentFault) as raised:
        authored.compare([Y], {"y": torch.ones(2, 3)}, expected, case())
    assert raised.value.what == "oracle"
    assert says in raised.value.detail
    assert "'mode-0'" in raised.value.detail


@pytest.mark.parametrize("error", [SystemExit(0), KeyboardInterrupt(), GeneratorExit(), ValueError()])
def test_what_ends_programs_ends_none_in_a_session(case: Callable[..., Case], error: BaseException) -> None:
    seen: list[BaseException] = []

    def fails() -> None:
        raise error

    def body() -> None:
        try:
            authored.guard("fill", case(), fails)
        except BaseException as raised:  # noqa: BLE001 (that is the question)
            seen.append(raised)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    (raised,) = seen
    assert isinstance(raised, AssignmentFault)
    assert type(error).__name__ in raised.detail


def test_a_signal_to_the_main_thread_goes_on(case: Callable[..., Case]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        authored.guard("fill", case(), interrupted)
