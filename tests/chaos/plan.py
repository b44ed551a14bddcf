"""What the students of a chaos run hand in: drawn from the seed before anything starts."""

import random
from dataclasses import dataclass

from tests.chaos.assignment import FEW, MANY

VERDICTS = {"pass": "accepted", "wrong": "wrong_answer", "real": "accepted", "real_wrong": "wrong_answer"}
"""Kind of a work -> the verdict that it must get. `die` ends as a grader error, always."""
CHARGED = frozenset({"accepted", "wrong_answer", "runtime_error", "time_limit"})
"""Verdicts that cost one of the gradings."""
SANDBOXED = "real"
_VOLUME = (("pass", 70), ("wrong", 16), ("die", 2), ("slow", 12))
_SOURCES = {
    "real": "import time\ntime.sleep(0.5)\ndef solve(x, y):\n    y.copy_(x * 2)\n",
    "real_wrong": "import time\ntime.sleep(0.5)\ndef solve(x, y):\n    y.copy_(x * 3)\n",
}


@dataclass(frozen=True)
class Work:
    """One hand-in. `nonce` is in its content, so that it can be told from every other."""

    nonce: str
    student: int
    assignment: str
    kind: str
    mode: str
    fraction: float
    """Score that the stand-in for the judge gives it; the real judge gives none, for want of timed cases."""
    seconds: float
    """How long the stand-in takes."""
    fate: str
    """`answered`; or what becomes of its connection: `half` sent, or `deaf` to the answer."""
    cancelled_after: float | None = None

    @property
    def verdict(self) -> str:
        """The verdict that it must get."""
        return VERDICTS.get("pass" if self.kind == "slow" else self.kind, "grader_error")

    @property
    def score(self) -> float | None:
        """The fraction that it must get where it is accepted."""
        return None if self.kind.startswith(SANDBOXED) else self.fraction

    def source(self) -> str:
        """Content of `solution.py`; its first line tells the stand-in what to do."""
        head = f"# chaos {self.kind} {self.fraction} {self.seconds} {self.nonce}\n"
        return head + _SOURCES.get(self.kind, "def solve(x, y):\n    pass\n")


def draw(generator: random.Random, students: int, number: int, sandboxed: int) -> list[list[Work]]:
    """For each student what to hand in, in order: together `number` answered works, so many in a sandbox."""
    kinds = [SANDBOXED if generator.random() < 0.7 else "real_wrong" for _ in range(sandboxed)]
    names, weights = [name for name, _ in _VOLUME], [weight for _, weight in _VOLUME]
    kinds += generator.choices(names, weights, k=number - sandboxed)
    generator.shuffle(kinds)
    lists: list[list[Work]] = [[] for _ in range(students)]
    for index, kind in enumerate(kinds):
        student = index % students
        lists[student].append(_work(generator, student, kind, f"n{index}"))
        if generator.random() < 0.06:  # On top: nobody learns what became of it.
            fate = generator.choice(["half", "deaf"])
            lists[student].append(_work(generator, student, "pass", f"u{index}", fate))
    return lists


def filler(generator: random.Random, student: int, number: int) -> Work:
    """One work more."""
    kind = generator.choices(["slow", "pass", SANDBOXED], [6, 3, 1])[0]
    return _work(generator, student, kind, f"f{student}-{number}")


def probe(student: int, number: int) -> Work:
    """A work handed in at the end, to find where the limit lies."""
    return Work(f"p{student}-{number}", student, FEW, "pass", "grade", 0.01, 0.0, "answered")


def _work(generator: random.Random, student: int, kind: str, nonce: str, fate: str = "answered") -> Work:
    real = kind.startswith(SANDBOXED)
    few = not real and generator.random() < 0.1
    return Work(
        nonce=nonce,
        student=student,
        assignment=FEW if few else MANY,
        kind=kind,
        mode="test" if not few and not real and generator.random() < 0.2 else "grade",
        fraction=round(generator.uniform(0.05, 0.95), 6),
        seconds=round(generator.uniform(1.0, 3.0), 2) if kind == "slow" else 0.0,
        fate=fate,
        cancelled_after=generator.uniform(0.0, 3.0) if generator.random() < 0.06 else None,
    )
