"""What this machine can enforce and measure, found by trying, and what to do about the rest."""

import importlib.metadata
from collections.abc import Callable
from enum import StrEnum
from typing import Literal

from pydantic import Field

from grader.contract import Text, Wire
from grader.doctor.probes import Step, steps
from grader.doctor.texts import ADVICE, title
from grader.hardware.profile import HardwareError
from grader.sandbox.base import SandboxError
from grader.sandbox.registry import BACKENDS, DEFAULT


class State(StrEnum):
    """Outcome of a check."""

    OK = "ok"
    WARNING = "warning"
    """Something is missing that ranked grading can do without."""
    FAILED = "failed"
    SKIPPED = "skipped"
    """It could not be tried: no sandbox starts, or what it is about is missing."""


class Check(Wire):
    """One thing that was tried. `found` needs no translation: versions, numbers, messages of programs."""

    id: str = Field(max_length=64)
    title: Text
    state: State
    found: str = ""
    advice: Text | None = None
    """What to do, unless all is well."""


class Diagnosis(Wire):
    """All checks of one machine. `rankable`: what is graded here may stand on a board."""

    version: Literal[1] = 1
    sandbox: str
    rankable: bool
    unenforced: tuple[str, ...]
    """Limits that the sandbox was seen not to hold here."""
    checks: tuple[Check, ...]


def examine(sandbox: str | None = None, progress: Callable[[Text], None] = lambda _: None) -> Diagnosis:
    """Run all checks, on the sandbox backend of this name; some ten seconds.

    `progress` is told the title of each check before it runs. Raises SandboxError for an unknown backend.
    """
    name = sandbox or DEFAULT
    if name not in BACKENDS:
        raise SandboxError(f"no sandbox is called {name!r}; there are {', '.join(BACKENDS)}")
    checks: list[Check] = []
    states: dict[str, State] = {}
    for step in steps(BACKENDS[name]()):
        progress(title(step.id))
        if step.after and states[step.after] is not State.OK:
            checks.append(Check(id=step.id, title=title(step.id), state=State.SKIPPED))
        else:
            checks.append(_check(step))
        states[step.id] = checks[-1].state
    return Diagnosis(
        sandbox=name,
        rankable=all(check.state in (State.OK, State.WARNING) for check in checks),
        unenforced=tuple(
            check.id.removeprefix("limit_")
            for check in checks
            if check.id.startswith("limit_") and check.state != State.OK
        ),
        checks=tuple(checks),
    )


def _check(step: Step) -> Check:
    try:
        well, found = step.attempt()
    except importlib.metadata.PackageNotFoundError:
        well, found = False, "-"
    except (SandboxError, HardwareError, OSError) as error:
        well, found = False, str(error)
    if well:
        return Check(id=step.id, title=title(step.id), state=State.OK, found=found)
    state = State.WARNING if step.optional else State.FAILED
    return Check(id=step.id, title=title(step.id), state=state, found=found, advice=ADVICE[step.id])
