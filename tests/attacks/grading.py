"""Runs a cheat against the real judge, and against the naive grader that it beats."""

import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

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
from tests.attacks.corpus import HONEST, PROGRAMS, SHARED, Attack

VICTIM = Path(__file__).parent / "victim.py"
ROWS, COLUMNS, TERMS, SLOTS = 32, 512, 8, 16
ANY = Rule(target=1e9)
GAIN = 0.9
"""Accepted in less than this share of the honest time is a gain."""
CONFIRMATIONS = 3
"""Times in a row that a gain in time must show."""
VICTIM_SECONDS = 60.0


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

    def gains(self, honest: "Best", share: float = GAIN) -> bool:
        """Whether both are below this share of the honest ones: load disturbs medians, rarely both."""
        return self.seconds < share * honest.seconds and self.fastest < share * honest.fastest


@dataclass(frozen=True)
class Finding:
    """What the judge made of an attack: its last verdict, whether it gained, in how many gradings."""

    verdict: str
    gained: bool
    gradings: int
    best: Best = field(default_factory=Best)


class Judged:
    """The honest programs at their best in this run, by suffix, and attacks beside them."""

    def __init__(self, grade: "Callable[[Path], Outcome] | None" = None) -> None:
        self._grade = grade or judge
        self._best: dict[str, Best] = {}

    def honest(self, suffix: str, *, again: bool = False) -> Best:
        """The best of all gradings in this run; graded now if never yet, or `again`."""
        best = self._best.setdefault(suffix, Best())
        if again or best.seconds == inf:
            found = self._grade(PROGRAMS / f"{HONEST}{suffix}")
            assert found.accepted, found
            best.take(found)
        return best

    def attempt(self, attack: Attack) -> Finding:
        """Grade an attack; if it seems to gain time, so often as a gain must be confirmed."""
        suffix, best = attack.path.suffix, Best()
        for number in range(1, CONFIRMATIONS + 1):
            outcome = self._grade(attack.path)
            if not outcome.accepted:
                return Finding(outcome.verdict, False, number, best)
            if attack.gain == "acceptance":
                return Finding(outcome.verdict, True, number, best)
            one = Best()
            one.take(outcome)
            best.take(outcome)
            # Both at their best: the honest program has the machine's moods as well.
            if not one.gains(self.honest(suffix)) or not one.gains(self.honest(suffix, again=True)):
                return Finding(outcome.verdict, False, number, best)
        return Finding(Verdict.ACCEPTED.value, True, CONFIRMATIONS, best)


class Naive:
    """The naive grader, and what it makes of the honest programs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._honest: dict[str, float] = {}

    def gains(self, attack: Attack) -> bool:
        """Whether the attack gains from it, in one of three gradings: load can hide a gain."""
        for _ in range(CONFIRMATIONS):
            outcome = victimise(attack.path, self._folder)
            if not outcome.accepted:
                continue
            if attack.gain == "acceptance":
                return True
            assert outcome.seconds is not None
            if outcome.seconds < GAIN * self.honest(attack.path.suffix):
                return True
        return False

    def honest(self, suffix: str) -> float:
        """Seconds of the honest program of this suffix."""
        if suffix not in self._honest:
            found = victimise(PROGRAMS / f"{HONEST}{suffix}", self._folder)
            assert found.accepted, found
            assert found.seconds is not None
            self._honest[suffix] = found.seconds
        return self._honest[suffix]


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
        if not program.exists():
            flags = ["-O2", "-shared", "-fPIC", "-pthread", f"-I{include}"]
            subprocess.run(["g++", *flags, str(path), "-o", str(program)], check=True)
    token = secrets.token_hex(8)
    environment = {**os.environ, "VICTIM_SEED": str(secrets.randbits(31)), "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryFile("w+") as said:  # A pipe would be waited for until every child has ended.
        try:
            subprocess.run(
                [sys.executable, str(VICTIM), str(program), token],
                env=environment,
                stdout=said,
                stderr=subprocess.DEVNULL,
                timeout=VICTIM_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Outcome(Verdict.TIME_LIMIT.value)
        said.seek(0)
        lines = [line for line in said if line.startswith(f"RESULT {token} ")]
    if not lines:
        return Outcome(Verdict.RUNTIME_ERROR.value)
    found: dict[str, Any] = json.loads(lines[0].split(" ", 2)[2])
    verdict = Verdict.ACCEPTED if found["passed"] else Verdict.WRONG_ANSWER
    return Outcome(verdict.value, found["seconds"])


def _files(path: Path) -> Mapping[str, bytes]:
    pattern = "*.h" if path.suffix == ".cpp" else SHARED
    beside = {shared.name: shared.read_bytes() for shared in PROGRAMS.glob(pattern)}
    return {f"solution{path.suffix}": path.read_bytes(), **beside}


@cache
def _built(path: Path) -> bytes:
    with Client.start(
        registry.choose(), Limits(), arena_bytes=BUILD_ARENA_BYTES, language=Language.CPP
    ) as client:
        built = client.build(_files(path), f"solution{path.suffix}", 60.0)
    assert built.status == 0, built.log.decode()
    return built.artifact


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
