"""What the phases of one session share: the plan, the sandboxes, and what was found so far."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from grader.contract import (
    BuildResult,
    Evidence,
    HiddenResult,
    Inspection,
    Language,
    Mode,
    Phase,
    TestResult,
    Text,
    TimedResult,
    Verdict,
    Yardstick,
)
from grader.hardware.profile import Hardware
from grader.judge import authored, correctness, kinds, timed
from grader.judge.client import Client
from grader.judge.collective.group import Group
from grader.judge.collective.team import Team
from grader.judge.failure import CandidateFailure
from grader.judge.gpu.device import Reading
from grader.judge.messages import Ready
from grader.judge.prepare import Plan, Unit, case_seed
from grader.judge.progress import Progress
from grader.judge.sandboxes import Sandboxes
from grader.messages import text
from grader.sandbox.base import Freezer, SandboxError
from grader.task import Case, CollectiveTask, DialogueTask

NATIVE = (Language.CPP, Language.CUDA)
"""Languages that are compiled before they run."""


@dataclass
class Findings:
    """What a session has found so far."""

    build: BuildResult | None = None
    tests: list[TestResult] = field(default_factory=list)
    hidden: HiddenResult | None = None
    hidden_detail: list[TestResult] = field(default_factory=list)
    timed: list[TimedResult] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    inspections: list[Inspection] = field(default_factory=list)
    unranked: Text | None = None
    freezer: Freezer | None = None
    versions: Ready | None = None
    yardstick: Yardstick | None = None
    reading: Reading | None = None
    """Of the device, while cases were timed."""
    duty_cycle: float | None = None
    """Of the device, in the last timed case."""
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
    once: bool = False
    """Of the timed cases one round is audited, none is timed."""
    holds: bool = False
    """The end of the hidden phase must not tell how long it took: a student waits for it."""
    artifact: bytes | None = None
    """What the build made, for the sandboxes of the later phases."""
    most_bytes: int | None = None
    """What `call_bytes` found."""
    timed_plans: tuple[timed.Plan, ...] | None = None
    """Rings of the timed cases, sized once: the memory that is free changes while the session runs."""

    @property
    def watch(self) -> authored.Watch:
        """The supervisor's watch over calls into the assignment's code."""
        return self.sandboxes.supervisor.watch

    def load(
        self, unit: Unit, purpose: str, arena_bytes: int, phase: Phase, *, pinned: bool = False
    ) -> Client:
        """A fresh sandbox with one file of the submission loaded. Raises CandidateFailure if it cannot be."""
        if unit != self.plan.main:
            purpose = f"{purpose} {unit.file}"
        with self.progress.step(phase, "start the sandbox"):
            client = self.sandboxes.take(purpose, arena_bytes, language=unit.language, pinned=pinned)
        self._load(client, unit, phase)
        return client

    def load_team(self, unit: Unit, purpose: str, cases: Sequence[Case], phase: Phase) -> Team:
        """As many fresh ranks as the cases need, with one file of the submission loaded on each."""
        with self.progress.step(phase, "start the sandbox"):
            ranks, size = self._team_size(cases)
            team = self.sandboxes.take_team(team_purpose(unit, purpose), ranks, size)
        self._load(team, unit, phase)
        return team

    def load_group(
        self, unit: Unit, purpose: str, ranks: int, arena_bytes: int, phase: Phase, *, pinned: bool = False
    ) -> Group:
        """So many fresh ranks in one sandbox, with one file of the submission loaded on each."""
        with self.progress.step(phase, "start the sandbox"):
            group = self.sandboxes.take_group(team_purpose(unit, purpose), ranks, arena_bytes, pinned=pinned)
        self._load(group, unit, phase)
        return group

    def load_for(
        self, unit: Unit, purpose: str, cases: Sequence[Case], phase: Phase
    ) -> Client | Team | Group:
        """What the cases of one file need, loaded. Raises CandidateFailure if it cannot be."""
        if unit.collective:
            return self.load_team(unit, purpose, cases, phase)
        if unit.together:
            return self.load_group(unit, purpose, *self._team_size(cases), phase)
        return self.load(unit, purpose, self.arena_bytes(cases), phase)

    def must_load_for(
        self, unit: Unit, purpose: str, cases: Sequence[Case], phase: Phase
    ) -> Client | Team | Group:
        """As `load_for`, where code that cannot be loaded ends the session. Raises Ended."""
        try:
            return self.load_for(unit, purpose, cases, phase)
        except CandidateFailure as failure:
            raise Ended(failure.verdict, failure.text) from None

    def _load(self, client: Client | Team | Group, unit: Unit, phase: Phase) -> None:
        plan = self.plan
        self.findings.freezer = client.process.freezer
        if self.findings.versions is None or unit == plan.main:
            self.findings.versions = client.versions
        entry, call = self._entry(unit)
        artifact = self.artifact if unit.language in NATIVE else None
        with self.progress.step(phase, "load the code"):
            try:
                client.load(self.files, entry, unit.file, artifact, adapter=plan.adapter, signature=call)
            except CandidateFailure:
                self.note_output(client)
                self.sandboxes.release(client)
                raise

    def must_load(
        self, unit: Unit, purpose: str, arena_bytes: int, phase: Phase, *, pinned: bool = False
    ) -> Client:
        """As `load`, where code that cannot be loaded ends the session. Raises Ended."""
        try:
            return self.load(unit, purpose, arena_bytes, phase, pinned=pinned)
        except CandidateFailure as failure:
            raise Ended(failure.verdict, failure.text) from None

    def _entry(self, unit: Unit) -> tuple[str, str]:
        """The function that a file must define and how it is called; empty if only dialogues are in it."""
        plan = self.plan
        for part, task in plan.tasks.items():
            if not isinstance(task, DialogueTask) and plan.units[part] == unit:
                case = next(case for case in (*plan.public, *plan.timed, *plan.hidden) if case.part == part)
                call = kinds.signature(plan.entries[part], task, case, self.watch)
                return plan.entries[part], call
        return "", ""

    def test(self, client: Client | Team | Group, case: Case) -> correctness.CaseRun:
        """Run one correctness case. Raises AssignmentFault and SandboxError."""
        return kinds.test(
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
        return max((self._arena_bytes(case) for case in cases), default=1)

    def _arena_bytes(self, case: Case) -> int:
        task = self.plan.tasks[case.part]
        size = kinds.arena_bytes(task, case, self.watch)
        what = "regions" if isinstance(task, DialogueTask) else "tensors"
        size *= kinds.ranks(task, case, self.watch)
        if isinstance(task, CollectiveTask):
            return authored.fitting(what, case, size, self.call_bytes()) // kinds.ranks(
                task, case, self.watch
            )
        return authored.fitting(what, case, size, self.call_bytes())

    def call_bytes(self) -> int:
        """Most bytes that one call may take, as it was when first asked: no submission can change it."""
        if self.most_bytes is None:
            self.most_bytes = authored.most_bytes()
            if self.sandboxes.device is None:
                self.most_bytes = min(self.most_bytes, self.plan.limits.memory_bytes)
        return self.most_bytes

    def ahead(self, purpose: str, cases: Sequence[Case]) -> None:
        """Start the sandbox in which the entry file will be loaded for these cases."""
        for unit, group in self.plan.groups(cases):
            if unit.collective:
                self.sandboxes.team_ahead(team_purpose(unit, purpose), *self._team_size(group))
            elif unit.together:
                self.sandboxes.group_ahead(team_purpose(unit, purpose), *self._team_size(group))
            elif unit == self.plan.main:
                self.sandboxes.ahead(purpose, self.arena_bytes(group))

    def _team_size(self, cases: Sequence[Case]) -> tuple[int, int]:
        """Ranks, and bytes of the arena of each, with which every one of the cases can run."""
        ranks = max(kinds.ranks(self.plan.tasks[case.part], case, self.watch) for case in cases)
        return ranks, self.arena_bytes(cases)

    def note_output(self, client: Client | Team | Group) -> None:
        """Keep for staff what a client printed that no test result will show."""
        with suppress(SandboxError):
            out, err = client.output()
            if out or err:
                self.findings.notes.append(f"{out}{err}")


def team_purpose(unit: Unit, purpose: str) -> str:
    """Under which ranks wait that were started ahead."""
    return f"{purpose} {unit.file} on ranks"


def because(code: str, reason: Text | None, **fields: object) -> Text:
    """A sentence with another one inside it, in each language its own."""
    reason = reason or text("not_accepted")
    en = text(code, reason=reason.en, **fields)
    return en.model_copy(update={"zh": text(code, reason=reason.zh, **fields).zh})
