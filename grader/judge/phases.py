"""The phases of a session in their order: build, public, timed, hidden. Each runs in a fresh sandbox.

What is found is kept in `Findings` as it comes, so that a session that breaks off still reports it.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from grader.contract import (
    BuildResult,
    Evidence,
    HiddenResult,
    Language,
    Mode,
    Phase,
    TestResult,
    Text,
    TimedResult,
    Verdict,
)
from grader.hardware.profile import Hardware
from grader.judge import build, correctness, timed
from grader.judge.client import Client
from grader.judge.failure import CandidateFailure
from grader.judge.messages import Ready
from grader.judge.overhead import Overhead
from grader.judge.prepare import Plan, case_seed
from grader.judge.progress import Progress
from grader.judge.sandboxes import Sandboxes
from grader.messages import text
from grader.sandbox.base import Freezer, SandboxError
from grader.task import Case

MAX_RESTARTS = 3
"""Of a public phase whose cases crash; the cases left over are not run."""
TIMED_SECONDS = 180.0
"""For one timed case as a whole, fills and audits included; its candidate has shorter limits of its own."""


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


@dataclass
class Phases:
    """Runs one plan. Raises AssignmentFault and SandboxError; what the candidate does ends in a verdict."""

    plan: Plan
    files: Mapping[str, bytes]
    seed: bytes
    mode: Mode
    hardware: Hardware | None
    sandboxes: Sandboxes
    progress: Progress
    findings: Findings
    _artifact: bytes | None = None
    _refused: tuple[Verdict, Text] | None = None
    """What the compiler said to code that it does not take."""

    def run(self) -> tuple[Verdict, Text]:
        """All phases, or as many as it takes to a verdict."""
        if self._refused is not None:
            return self._refused
        try:
            self._public()
            unstable = self._timed()
            self._hidden()
        except _Ended as end:
            return end.verdict, end.message
        if unstable is not None:
            return Verdict.UNSTABLE_TIMING, text("unstable", case=unstable)
        timed_here = any(result.measure is not None for result in self.findings.timed)
        return Verdict.ACCEPTED, text("accepted_timed" if timed_here else "accepted")

    # Build.

    def build(self) -> None:
        """Compile what must be compiled; `run` comes next. Needs no torch in the judge."""
        plan = self.plan
        if plan.language is not Language.CPP:
            return
        with self.progress.step(Phase.BUILD, "compile"):
            built = build.compile_cpp(
                self.sandboxes.backend,
                plan.limits,
                self.files,
                plan.entry_name,
                seconds=plan.build_seconds,
                cpus=None,
                supervisor=self.sandboxes.supervisor,
            )
        self.findings.build = built.result
        if built.verdict is not Verdict.ACCEPTED:
            self._refused = built.verdict, built.message or text("compile_error", status=0)
        self._artifact = built.artifact

    def start_ahead(self) -> None:
        """Start the first sandbox; called before the judge loads torch itself, which takes as long."""
        if self.plan.language is not Language.CPP:
            self.sandboxes.ahead("public", self._arena_bytes(self.plan.public))

    def _load(self, purpose: str, arena_bytes: int, phase: Phase, *, pinned: bool = False) -> Client:
        """A fresh sandbox with the submission loaded. Raises CandidateFailure if it cannot be."""
        plan = self.plan
        with self.progress.step(phase, "start the sandbox"):
            client = self.sandboxes.take(purpose, arena_bytes, pinned=pinned)
        self.findings.freezer, self.findings.versions = client.process.freezer, client.versions
        part = next(iter(plan.tasks))
        case = next(case for case in (*plan.public, *plan.timed, *plan.hidden) if case.part == part)
        call = correctness.signature(plan.entries[part], plan.tasks[part], case.params, self._watch)
        with self.progress.step(phase, "load the code"):
            try:
                client.load(self.files, plan.entries[part], plan.entry_name, self._artifact, signature=call)
            except CandidateFailure:
                self._note_output(client)
                self.sandboxes.release(client)
                raise
        return client

    # Public tests.

    def _public(self) -> None:
        cases = self.plan.public
        arena_bytes = self._arena_bytes(cases)
        client: Client | None = None
        restarts = 0
        for number, case in enumerate(cases):
            self.progress.event(Phase.PUBLIC, case=case.id, done=number, total=len(cases))
            if case.id in self.plan.skipped:
                self.findings.tests.append(_not_run(case, self.plan.skipped[case.id]))
                continue
            if client is None:
                if restarts > MAX_RESTARTS:
                    self.findings.tests.append(_not_run(case, text("not_run_restarts", count=MAX_RESTARTS)))
                    continue
                client = self._first_load(arena_bytes) if not restarts else self._reload(arena_bytes)
                self._ahead_of_public()
            with self.progress.step(Phase.PUBLIC, "tests"):
                run = self._test(client, case)
            self.findings.tests.append(run.result)
            if not run.alive:
                self.sandboxes.release(client)
                client, restarts = None, restarts + 1
        if client is not None:
            self.sandboxes.release(client)
        self.progress.event(Phase.PUBLIC, done=len(cases), total=len(cases))
        self._check_public()

    def _first_load(self, arena_bytes: int) -> Client:
        """The first sandbox in which the code is loaded: what fails here is a failure to build."""
        try:
            return self._load("public", arena_bytes, Phase.BUILD)
        except CandidateFailure as failure:
            raise _Ended(failure.verdict, failure.text) from None

    def _reload(self, arena_bytes: int) -> Client:
        try:
            return self._load("again", arena_bytes, Phase.PUBLIC)
        except CandidateFailure as failure:
            raise _Ended(failure.verdict, failure.text) from None

    def _check_public(self) -> None:
        ran = [test for test in self.findings.tests if test.verdict is not None]
        failed = [test for test in ran if test.verdict is not Verdict.ACCEPTED]
        if not failed:
            return
        first = failed[0]
        reason = first.message or text("not_accepted")
        message = text("public_failed", failed=len(failed), total=len(ran), case=first.case, reason=reason.en)
        chinese = text("public_failed", failed=len(failed), total=len(ran), case=first.case, reason=reason.zh)
        raise _Ended(first.verdict or Verdict.WRONG_ANSWER, message.model_copy(update={"zh": chinese.zh}))

    def _test(self, client: Client, case: Case) -> correctness.CaseRun:
        return correctness.run(
            client,
            self.plan.tasks[case.part],
            case,
            case_seed(self.seed, case),
            entry=self.plan.entries[case.part],
            call_seconds=self.plan.call_seconds,
            watch=self._watch,
        )

    # Timed cases.

    def _timed(self) -> str | None:
        """Time the timed cases. Returns the first case whose times scattered too much, if any."""
        if self.mode is not Mode.GRADE:
            return None
        cases = [case for case in self.plan.timed if case.id not in self.plan.skipped]
        for case in self.plan.timed:
            if case not in cases or self.plan.language is Language.TRITON:
                reason = self.plan.skipped.get(case.id, text("triton_not_timed"))
                self.findings.timed.append(_not_timed(case, reason))
        if not cases or self.plan.language is Language.TRITON:
            return None
        plans = self._timed_plans()
        arena_bytes = max(plan.arena_bytes for plan in plans)
        try:
            client = self._load("timed", arena_bytes, Phase.TIMED, pinned=True)
        except CandidateFailure as failure:
            raise _Ended(failure.verdict, failure.text) from None
        overhead = Overhead.of(self.hardware)
        self.findings.unranked = timed.unranked(client, self.hardware, overhead)
        unstable: str | None = None
        try:
            with self.sandboxes.still():
                for number, plan in enumerate(plans):
                    if self._time(client, plan, overhead, number, len(plans)) is Verdict.UNSTABLE_TIMING:
                        unstable = unstable or plan.case.id
        finally:
            self.sandboxes.release(client)
        return unstable

    def _time(self, client: Client, plan: timed.Plan, overhead: Overhead, number: int, total: int) -> Verdict:
        case = plan.case
        self.progress.event(Phase.TIMED, case=case.id, done=number, total=total)
        limits = timed.TimeLimits(warm_up=self.plan.call_seconds)
        client.entry = self.plan.entries[case.part]
        with self._watch(f"timed case {case.id}", TIMED_SECONDS):
            begin = time.monotonic()
            timing = timed.run(client, plan, overhead=overhead, limits=limits)
            seconds = time.monotonic() - begin
        for step, spent in {**timing.steps, "rest": seconds - sum(timing.steps.values())}.items():
            self.progress.add(Phase.TIMED, step, max(0.0, spent))
        self.findings.timed.append(timing.result)
        self.findings.evidence.extend(timing.evidence)
        if timing.detail:
            self.findings.notes.append(f"{case.id}: {timing.detail}")
        verdict = timing.result.verdict
        assert verdict is not None
        if verdict not in (Verdict.ACCEPTED, Verdict.UNSTABLE_TIMING):
            self._note_output(client)
            reason = timing.result.message or text("not_accepted")
            message = text("timed_failed", case=case.id, reason=reason.en)
            chinese = text("timed_failed", case=case.id, reason=reason.zh)
            raise _Ended(verdict, message.model_copy(update={"zh": chinese.zh}))
        return verdict

    def _timed_plans(self) -> list[timed.Plan]:
        with self._watch("cost", correctness.TASK_SECONDS):
            return [
                timed.plan(self.plan.tasks[case.part], case, self.hardware)
                for case in self.plan.timed
                if case.id not in self.plan.skipped
            ]

    # Hidden tests.

    def _hidden(self) -> None:
        """All hidden cases up to the first that fails: one bit for the student, everything for staff."""
        cases = self.plan.hidden_here()
        if not cases:
            return
        self.findings.hidden = HiddenResult(passed=None, cases=len(cases))
        passed = True
        try:
            client = self._load("hidden", self._arena_bytes(cases), Phase.HIDDEN)
        except CandidateFailure as failure:
            self.findings.notes.append(f"hidden: {failure.text.en}\n{failure.detail}")
            passed = False
        else:
            with self.progress.step(Phase.HIDDEN, "tests"):
                passed = self._hidden_cases(client, cases)
            self.sandboxes.release(client)
        self.findings.hidden = HiddenResult(passed=passed, cases=len(cases))
        if not passed:
            # The kind of failure would be a second bit.
            raise _Ended(Verdict.WRONG_ANSWER, text("hidden_failed"))

    def _hidden_cases(self, client: Client, cases: Sequence[Case]) -> bool:
        for case in cases:
            run = self._test(client, case)
            self.findings.hidden_detail.append(run.result)
            if run.result.verdict is not Verdict.ACCEPTED:
                return False
        return True

    # Shared.

    def _ahead_of_public(self) -> None:
        """Start the sandboxes of the next phases while the public tests run."""
        if self.plan.language is Language.CPP:
            return  # They start in a tenth of a second.
        if self.mode is Mode.GRADE and self.plan.language is not Language.TRITON:
            plans = self._timed_plans()
            if plans:
                self.sandboxes.ahead("timed", max(plan.arena_bytes for plan in plans), pinned=True)
        if hidden := self.plan.hidden_here():
            self.sandboxes.ahead("hidden", self._arena_bytes(hidden))

    def _arena_bytes(self, cases: Sequence[Case]) -> int:
        return max(
            (correctness.arena_bytes(self.plan.tasks[case.part], case, self._watch) for case in cases),
            default=1,
        )

    def _note_output(self, client: Client) -> None:
        """Keep for staff what a client printed that no test result will show."""
        with suppress(SandboxError):
            out, err = client.output()
            if out or err:
                self.findings.notes.append(f"{out}{err}")

    @property
    def _watch(self) -> correctness.Watch:
        return self.sandboxes.supervisor.watch


class _Ended(Exception):  # noqa: N818
    """The session has its verdict."""

    def __init__(self, verdict: Verdict, message: Text) -> None:
        super().__init__(message.en)
        self.verdict = verdict
        self.message = message


def _not_run(case: Case, why: Text) -> TestResult:
    return TestResult(case=case.id, part=case.part, verdict=None, message=why, params=dict(case.params))


def _not_timed(case: Case, why: Text) -> TimedResult:
    return TimedResult(
        case=case.id,
        part=case.part,
        verdict=None,
        message=why,
        params=dict(case.params),
        fraction_reason=why,
        linked=case.linked,
    )
