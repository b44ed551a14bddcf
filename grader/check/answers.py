"""Answers that no dialogue may take: constants and values of the wrong form, given without a sandbox.

Each must be refused with a sentence in both languages, and none may make the task's own code raise.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.assignment import Assignment
from grader.check.finding import Finding, fails, holds
from grader.task import Case, DialogueTask, Json, Outcome, Raised, Refused, Region, TensorRegion

if TYPE_CHECKING:
    import torch

_SEED = bytes(16)
_DRAWS = 4
"""Of each hidden case."""
_CHINESE = re.compile("[\u4e00-\u9fff]")


def _deep() -> "Json":
    value: Json = 1
    for _ in range(40):
        value = [value]
    return value


_ANSWERS: Mapping[str, "Json | Raised"] = {
    "None": None,
    "True": True,
    "0": 0,
    "-1": -1,
    "2^62": 1 << 62,
    "0.5": 0.5,
    "''": "",
    "'answer'": "answer",
    "[]": [],
    "[None]": [None],
    "[0]": [0],
    "[[], []]": [[], []],
    "['a', 'b', 'c']": ["a", "b", "c"],
    "[-1, -1, -1]": [-1, -1, -1],
    "{}": {},
    "{'a': 1}": {"a": 1},
    "[{}] x 30": [{} for _ in range(30)],
    "40 lists in each other": _deep(),
    "a raised KeyError": Raised("KeyError", "'k'"),
}


class _TooMany(Exception):  # noqa: N818 (ends an episode; no error of anybody's)
    """The episode has asked as often as it may."""


@dataclass
class _Partner:
    """A candidate that gives one answer to everything."""

    regions: Sequence[Region]
    limit: int
    answer: "Json | Raised"
    asked: int = 0

    @property
    def waited_ns(self) -> int:
        """Every answer takes a microsecond."""
        return 1000 * self.asked

    def ask(self, _method: str, _message: Json, *, deadline_seconds: float | None = None) -> "Json | Raised":
        del deadline_seconds
        self.asked += 1
        if self.asked > self.limit:
            raise _TooMany
        return self.answer

    def write(self, _region: str, _values: "torch.Tensor") -> None:
        """Nobody reads it."""

    def read(self, region: str) -> "torch.Tensor":
        """Nothing was placed there."""
        import torch

        found = next(one for one in self.regions if one.name == region)
        blob = found.blob if isinstance(found, TensorRegion) else found
        dtype: torch.dtype = getattr(torch, blob.dtype)
        return torch.empty(0, dtype=dtype)

    def write_tensors(self, _region: str, _values: "Mapping[str, torch.Tensor]") -> None:
        """Nobody reads them."""

    def read_tensors(self, region: str) -> "dict[str, torch.Tensor]":
        """Nothing was placed there, which ends an episode."""
        raise Refused(f"The region {region} is empty.", f"区域 {region} 为空。")


def check(assignment: Assignment, hardware: str) -> list[Finding]:
    """What every dialogue says to such answers in its public cases. Runs `task.py`.

    A hidden case must not raise whatever it draws: it gets one of them, several times.
    """
    findings: list[Finding] = []
    cases = [case for case in assignment.cases(hardware, _SEED) if case.visibility == "public"]
    seeds = [bytes([draw]) * len(_SEED) for draw in range(_DRAWS)]
    hidden = [
        case for seed in seeds for case in assignment.cases(hardware, seed) if case.visibility == "hidden"
    ]
    for name, part in assignment.parts().items():
        if isinstance(part, DialogueTask):
            own = [case for case in cases if case.part == name]
            wrong = [fault for case in own for fault in _faults(part, case, _ANSWERS)]
            for draw, case in enumerate(case for case in hidden if case.part == name):
                wrong += [
                    f for f in _faults(part, case, {"None": None}, 1 + draw) if "the episode raises" in f
                ]
            subject = f"answers of {name}"
            findings += [fails(subject, text) for text in wrong[:10]]
            if not wrong:
                text = f"{len(_ANSWERS)} malformed answers are refused in words in {len(own)} cases"
                findings.append(holds(subject, text))
    return findings


def _faults(
    task: DialogueTask, case: Case, answers: Mapping[str, "Json | Raised"], seed: int = 1
) -> Iterator[str]:
    for shown, answer in answers.items():
        partner = _Partner(task.regions(case.params), task.limits(case.params).messages, answer)
        try:
            outcome = task.episode(case, partner, seed)
        except _TooMany:
            continue
        except Refused as refused:
            outcome = Outcome(False, refused.en, refused.zh)
        except (Exception, SystemExit) as error:  # noqa: BLE001 (an author's code may raise anything)
            yield f"{case.id}: to {shown} the episode raises {type(error).__name__}: {error}"
            continue
        if fault := _refused(outcome):
            yield f"{case.id}: {shown} {fault}"


def _refused(outcome: Outcome) -> str | None:
    if outcome.passed:
        return "is accepted"
    if not outcome.en or not outcome.zh:
        return "is refused without a sentence in both languages"
    if not _CHINESE.search(outcome.zh):
        return f"is refused in Chinese without Chinese: {outcome.zh}"
    return None
