"""What the phases of one session share: the plan, the sandboxes, and what was found so far."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from grader.contract import (
    BuildResult,
    Evidence,
    HiddenResult,
    Mode,
    Phase,
    TestResult,
    Text,
    TimedResult,
    Verdict,
)
from grader.hardware.profile import Hardware
from grader.judge import correctness
from grader.judge.client import Client
from grader.judge.failure import CandidateFailure
from grader.judge.messages import Ready
from grader.judge.prepare import Plan, case_seed
from grader.judge.progress import Progress
from grader.judge.sandboxes import Sandboxes
from grader.messages import text
from grader.sandbox.base import Freezer, SandboxError
from grader.task import Case


@dataclass
class Findings:
    """What a session has found so far."""

    build: BuildResult | None = None
    tests: list[TestResult] = field(default_factory=list)
    hidden: HiddenResult | None = None
    hidden_detail: list[TestResult] = field(default_factory=list)
    timed: list[TimedResult] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    unranked: Text | None = None
    freezer: Freezer | None = None
    versions: Ready | None = None
    notes: list[str] = field(default_factory=list)
    """For staff."""


class Ended(Exception):  # noqa: N818
    """The session has its verdict."""

    def __init__(self, verdict: Verdict, message: Text) -> None:
        super().__init__(message.en)
        self.verdict = verdict
        self.message = message


@dataclass
class Context:
    """One session. What is found is kept as it comes, so that a session that breaks off still reports it."""

    plan: Plan
    files: Mapping[str, bytes]
    seed: bytes
    mode: Mode
    hardware: Hardware | None
    sandboxes: Sandboxes
    progress: Progress
    findings: Findings
    artifact: bytes | None = None
    """What the build made, for the sandboxes of the later phases."""

    @property
    def watch(self) -> correctness.Watch:
        """The supervisor's watch over calls into the assignment's code."""
        return self.sandboxes.supervisor.watch

    def load(self, purpose: str, arena_bytes: int, phase: Phase, *, pinned: bool = False) -> Client:
        """A fresh sandbox with the submission loaded. Raises CandidateFailure if it cannot be."""
        plan = self.plan
        with self.progress.step(phase, "start the sandbox"):
            client = self.sandboxes.take(purpose, arena_bytes, pinned=pinned)
        self.findings.freezer, self.findings.versions = client.process.freezer, client.versions
        part = next(iter(plan.tasks))
        case = next(case for case in (*plan.public, *plan.timed, *plan.hidden) if case.part == part)
        call = correctness.signature(plan.entries[part], plan.tasks[part], case.params, self.watch)
        with self.progress.step(phase, "load the code"):
            try:
                client.load(self.files, plan.entries[part], plan.entry_name, self.artifact, signature=call)
            except CandidateFailure:
                self.note_output(client)
                self.sandboxes.release(client)
                raise
        return client

    def test(self, client: Client, case: Case) -> correctness.CaseRun:
        """Run one correctness case. Raises AssignmentFault and SandboxError."""
        return correctness.run(
            client,
            self.plan.tasks[case.part],
            case,
            case_seed(self.seed, case),
            entry=self.plan.entries[case.part],
            call_seconds=self.plan.call_seconds,
            watch=self.watch,
        )

    def arena_bytes(self, cases: Sequence[Case]) -> int:
        """Bytes of an arena in which each of the correctness cases fits."""
        return max(
            (correctness.arena_bytes(self.plan.tasks[case.part], case, self.watch) for case in cases),
            default=1,
        )

    def note_output(self, client: Client) -> None:
        """Keep for staff what a client printed that no test result will show."""
        with suppress(SandboxError):
            out, err = client.output()
            if out or err:
                self.findings.notes.append(f"{out}{err}")


def because(code: str, reason: Text | None, **fields: object) -> Text:
    """A sentence with another one inside it, in each language its own."""
    reason = reason or text("not_accepted")
    en = text(code, reason=reason.en, **fields)
    return en.model_copy(update={"zh": text(code, reason=reason.zh, **fields).zh})
