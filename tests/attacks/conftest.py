"""Runs one program of the corpus against the real judge, and against the naive grader that it beats."""

import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

import pytest
import torch

from grader import fills
from grader.candidate import __file__ as candidate_file
from grader.contract import Language, Verdict
from grader.judge import cores, timed
from grader.judge.client import BUILD_ARENA_BYTES, Client
from grader.judge.failure import CandidateFailure
from grader.judge.interval import Rule
from grader.judge.overhead import Overhead
from grader.sandbox import registry
from grader.sandbox.base import Limits
from grader.task import Case, Cost, FunctionTask, Params, Slot, Tensor, Tolerance

PROGRAMS = Path(__file__).parent / "programs"
VICTIM = Path(__file__).parent / "victim.py"
ROWS, COLUMNS, TERMS, SLOTS = 32, 512, 8, 16
ANY = Rule(target=1e9)
_HEADER = re.compile(r"attack: family=(?P<family>\S+) expect=(?P<expect>\S+) gain=(?P<gain>\S+)")


@dataclass(frozen=True)
class Attack:
    """A program and what its header promises: the verdicts it may get, and what would count as a gain."""

    path: Path
    family: str
    expect: tuple[str, ...]
    """Verdicts, or `no_gain`: accepted, at the honest price."""
    gain: str
    """`time`: to be accepted in less time than the honest program; `acceptance`: to be accepted at all."""


@dataclass(frozen=True)
class Outcome:
    """What a grader made of a program; seconds of a call where it was timed: the median, the fastest round."""

    verdict: str
    seconds: float | None = None
    fastest: float | None = None

    @property
    def accepted(self) -> bool:
        """It passed."""
        return self.verdict == Verdict.ACCEPTED.value


def attacks() -> list[Attack]:
    """The corpus, by name."""
    found = []
    for path in sorted(PROGRAMS.glob("*")):
        if path.suffix == ".h" or path.stem == "honest":
            continue
        header = _HEADER.search(path.read_text().partition("\n")[0])
        assert header is not None, f"{path.name} has no header"
        found.append(Attack(path, header["family"], tuple(header["expect"].split(",")), header["gain"]))
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "attack" in metafunc.fixturenames:
        corpus = attacks()
        metafunc.parametrize("attack", corpus, ids=[attack.path.name for attack in corpus])


def _tensors(_params: Params) -> Sequence[Tensor]:
    return [
        Tensor("x", "float32", (ROWS, COLUMNS), "in"),
        Tensor("y", "float32", (ROWS, COLUMNS), "out"),
    ]


def _fill(params: Params, slots: Sequence[Slot], seeds: Sequence[int]) -> None:
    del params
    for slot, seed in zip(slots, seeds, strict=True):
        fills.uniform(slot["x"], seed, "x", -3.0, 3.0)


def _oracle(params: Params, inputs: Slot) -> Slot:
    del params
    x = inputs["x"].double()
    y = torch.sin(x)
    for j in range(2, TERMS + 1):
        y.add_(torch.sin(j * x), alpha=1 / j**2)
    return {"y": y}


TASK = FunctionTask(
    tensors=_tensors, fill=_fill, oracle=_oracle, cost=lambda _params: Cost(dram_bytes=8.0 * ROWS * COLUMNS)
)
CASE = Case(
    id="attacked",
    part="kernel",
    visibility="public",
    role="timed",
    params={},
    tolerance={"*": Tolerance(worst_row=1e-5, mean_row=1e-5, worst_element=1e-4)},
)


def _files(path: Path) -> Mapping[str, bytes]:
    headers = {header.name: header.read_bytes() for header in PROGRAMS.glob("*.h")}
    return {f"solution{path.suffix}": path.read_bytes(), **(headers if path.suffix == ".cpp" else {})}


@cache
def _built(path: Path) -> bytes:
    with Client.start(
        registry.choose(), Limits(), arena_bytes=BUILD_ARENA_BYTES, language=Language.CPP
    ) as client:
        built = client.build(_files(path), f"solution{path.suffix}", 60.0)
    assert built.status == 0, built.log.decode()
    return built.artifact


def judge(path: Path) -> Outcome:
    """Time a program as a session does: its own sandbox, cores and arena, fresh values, every slot audited."""
    language = Language.CPP if path.suffix == ".cpp" else Language.PYTHON
    artifact = _built(path) if language is Language.CPP else None
    plan = timed.plan(TASK, CASE, None)
    plan = replace(plan, slots=plan.slots[:SLOTS])
    with Client.start(
        registry.choose(),
        Limits(),
        arena_bytes=plan.arena_bytes,
        language=language,
        cpus=cores.choose().candidate,
    ) as client:
        try:
            client.load(_files(path), "solve", f"solution{path.suffix}", artifact)
        except CandidateFailure as failure:
            return Outcome(failure.verdict.value)
        result = timed.run(client, plan, overhead=Overhead(), rule=ANY).result
    assert result.verdict is not None
    if result.measure is None:
        return Outcome(result.verdict.value)
    return Outcome(result.verdict.value, result.measure.value, min(result.rounds))


def victimise(path: Path, folder: Path) -> Outcome:
    """Grade a program with the naive grader, in a process of its own."""
    program = path
    if path.suffix == ".cpp":
        program = folder / f"{path.stem}.so"
        include = Path(candidate_file).parent
        subprocess.run(
            ["g++", "-O2", "-shared", "-fPIC", "-pthread", f"-I{include}", path, "-o", program], check=True
        )
    token = secrets.token_hex(8)
    environment = {**os.environ, "VICTIM_SEED": str(secrets.randbits(31)), "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(
        [sys.executable, VICTIM, program, token],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    for line in ran.stdout.splitlines():
        if line.startswith(f"RESULT {token} "):
            found: dict[str, Any] = json.loads(line.split(" ", 2)[2])
            verdict = Verdict.ACCEPTED if found["passed"] else Verdict.WRONG_ANSWER
            return Outcome(verdict.value, found["seconds"])
    return Outcome(Verdict.RUNTIME_ERROR.value)


@pytest.fixture(scope="session")
def grade() -> Callable[[Path], Outcome]:
    """The real judge."""
    return judge


@dataclass
class Best:
    """The least that several gradings found: of the medians, and of the fastest rounds."""

    seconds: float = inf
    fastest: float = inf

    def take(self, outcome: Outcome) -> None:
        """Count one more grading."""
        assert outcome.seconds is not None
        assert outcome.fastest is not None
        self.seconds = min(self.seconds, outcome.seconds)
        self.fastest = min(self.fastest, outcome.fastest)

    def gains(self, honest: "Best", share: float) -> bool:
        """Whether both are below this share of the honest ones: load disturbs medians, rarely both."""
        return self.seconds < share * honest.seconds and self.fastest < share * honest.fastest


class Honest:
    """The honest programs at their best, by suffix."""

    def __init__(self) -> None:
        self._best: dict[str, Best] = {}

    def best(self, suffix: str, *, again: bool = False) -> Best:
        """Of all gradings in this run; graded now if never yet, or `again`."""
        best = self._best.setdefault(suffix, Best())
        if again or best.seconds == inf:
            found = judge(PROGRAMS / f"honest{suffix}")
            assert found.accepted
            best.take(found)
        return best


@pytest.fixture(scope="session")
def honest() -> Honest:
    """What the real judge measures of the honest programs."""
    return Honest()


@pytest.fixture
def best() -> Best:
    """Nothing yet."""
    return Best()


@pytest.fixture(scope="session")
def naive(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Outcome]:
    """The naive grader."""
    folder = tmp_path_factory.mktemp("victim")
    return lambda path: victimise(path, folder)


@pytest.fixture(scope="session")
def naive_honest(naive: Callable[[Path], Outcome]) -> Callable[[str], float]:
    """Seconds of the honest program of a suffix, by the naive grader."""

    @cache
    def seconds(suffix: str) -> float:
        found = naive(PROGRAMS / f"honest{suffix}")
        assert found.accepted
        assert found.seconds is not None
        return found.seconds

    return seconds
