"""A small task, a submission that misbehaves on request, and sandboxes to run it in."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch

from grader import fills
from grader.contract import Language
from grader.hardware.profile import Hardware, Rates
from grader.judge import cores, timed
from grader.judge.client import BUILD_ARENA_BYTES, Client
from grader.sandbox import registry
from grader.sandbox.base import Limits
from grader.task import Case, Cost, FunctionTask, Params, Scalar, Slot, Tensor, Tolerance

ROWS, COLUMNS = 31, 257


def _tensors(params: Params) -> list[Tensor]:
    strides = (COLUMNS + 3, 1) if params.get("strided") else None
    return [
        Tensor("x", "float32", (ROWS, COLUMNS), "in", strides),
        Tensor("y", "float32", (ROWS, COLUMNS), "out"),
    ]


def _fill(params: Params, slots: Any, seeds: Any) -> None:
    for slot, seed in zip(slots, seeds, strict=True):
        fills.uniform(slot["x"], seed, "x")


def _oracle(params: Params, inputs: Slot) -> Slot:
    return {"y": inputs["x"].to(torch.float64) * 3}


def _scalars(params: Params) -> Mapping[str, Scalar]:
    return {"mode": params["mode"]}


TASK = FunctionTask(
    tensors=_tensors,
    fill=_fill,
    oracle=_oracle,
    cost=lambda _params: Cost(dram_bytes=8.0 * ROWS * COLUMNS),
    scalars=_scalars,
)


@pytest.fixture(scope="session")
def toy() -> FunctionTask:
    """y = 3 x, over ROWS x COLUMNS."""
    return TASK


@pytest.fixture(scope="session")
def hardware() -> Callable[..., Hardware]:
    """A made-up profile: `hardware(bytes_per_second)`."""

    def make(dram: float = 1e12) -> Hardware:
        return Hardware(
            hardware="cpu",
            name="made up",
            kind="cpu",
            interval_target=1e9,
            dram=Rates(score=dram, ceiling=1.25 * dram, measured=dram),
            llc_bytes=1 << 20,
            calibrated="2026-01-01T00:00:00Z",
        )

    return make


@pytest.fixture(scope="session")
def case() -> Callable[..., Case]:
    """A timed case of the toy: `case(mode)`."""

    def make(mode: int = 0, **params: Any) -> Case:
        return Case(
            id=f"mode-{mode}",
            part="toy",
            visibility="public",
            role="timed",
            params={"mode": mode, **params},
            tolerance={"*": Tolerance(1e-6, 1e-6, 1e-6)},
        )

    return make


@pytest.fixture(scope="session")
def artifact() -> bytes:
    """toy.cpp, built in a sandbox."""
    source = (Path(__file__).parent / "toy.cpp").read_bytes()
    backend = registry.choose("bubblewrap")
    with Client.start(backend, Limits(), arena_bytes=BUILD_ARENA_BYTES, language=Language.CPP) as builder:
        built = builder.build({"solution.cpp": source}, "solution.cpp", 60.0)
    assert built.status == 0, built.log.decode()
    return built.artifact


@pytest.fixture
def start(artifact: bytes) -> Iterator[Callable[..., Client]]:
    """A client with the toy loaded and room for a plan's ring: `start(plan)`."""
    with ExitStack() as stack:

        def make(plan: timed.Plan, backend: str = "bubblewrap") -> Client:
            client = stack.enter_context(
                Client.start(
                    registry.choose(backend),
                    Limits(),
                    arena_bytes=plan.arena_bytes,
                    language=Language.CPP,
                    cpus=cores.choose().candidate,
                )
            )
            client.load({}, "solve", "solution.cpp", artifact)
            return client

        yield make
