"""One grading session, from files to a Report.

    prepare -> build -> public -> timed -> hidden -> score

The phases run in a thread that the supervisor watches (`grader.judge.supervisor`); each gets a sandbox of its
own. Whatever a candidate, an assignment or a node does ends in a Report with a verdict.
"""

import hashlib
import secrets
import shlex
import threading
import time
import traceback
from collections.abc import Callable, Mapping

from grader.assignment import Assignment
from grader.contract import (
    REPORT_BYTES,
    Event,
    JobSpec,
    Language,
    Mode,
    Phase,
    Report,
    Score,
    StaffDetail,
    TestResult,
    Text,
    Verdict,
)
from grader.hardware.profile import DEFAULT_HARDWARE, Hardware
from grader.judge import cores, environment, oom, verdicts
from grader.judge.failure import AssignmentFault, CandidateFailure
from grader.judge.gpu.device import Device
from grader.judge.phases import build, hidden, inspect, oracle, public, review, timed
from grader.judge.phases.context import Context, Ended, Findings
from grader.judge.prepare import Plan, on_device, prepare
from grader.judge.progress import Progress
from grader.judge.sandboxes import Sandboxes
from grader.judge.supervisor import Supervisor
from grader.languages import FilesError, detect
from grader.messages import text
from grader.plaintext import clean, line, shorten
from grader.sandbox.base import Backend, SandboxError

SEED_BYTES = 16
_TRACEBACK_CHARS = 65536


def grade(
    job: JobSpec,
    assignment: Assignment,
    files: Mapping[str, bytes],
    *,
    backend: Backend,
    hardware: Hardware | None,
    emit: Callable[[Event], None],
    seed: bytes | None = None,
    node: str = "",
    once: bool = False,
    holds: bool = False,
) -> Report:
    """Grade one submission. Only an interrupt (KeyboardInterrupt, SystemExit) is raised, after cleaning up.

    `hardware` is None where there is no profile: times are then shown without bounds. The same seed gives
    the same hidden shapes and test values; timed values are always fresh. `emit` is called from a thread.
    `once` audits one round of each timed case and times none: for checks, not for students. `holds` ends the
    hidden phase at fixed marks, for readers who must not learn how long it took.
    """
    chosen = _seed(seed)
    return _Session(job, assignment, files, backend, hardware, emit, chosen, node, once, holds).run()


class _Session:
    """The state of one grading."""

    def __init__(
        self,
        job: JobSpec,
        assignment: Assignment,
        files: Mapping[str, bytes],
        backend: Backend,
        hardware: Hardware | None,
        emit: Callable[[Event], None],
        seed: bytes,
        node: str,
        once: bool,
        holds: bool,
    ) -> None:
        self._job = job
        self._assignment = assignment
        self._files = files
        self._backend = backend
        self._hardware = hardware
        self._seed = seed
        self._node = node
        self._once = once
        self._holds = holds
        self._progress = Progress(job.attempt, emit)
        self._findings = Findings()
        self._plan: Plan | None = None
        self._score: Score | None = None
        self._supervisor = Supervisor()
        self._sandboxes: Sandboxes | None = None
        self._device: Device | None = None
        self._trace = ""

    def run(self) -> Report:
        started, begin = time.time(), time.monotonic()
        with oom.spared():
            try:
                verdict, message = self._guarded(lambda: self._supervisor.run(self._phases))
            finally:
                self._progress.close()
                leftover = self._close()
        if leftover is not None:
            verdict, message = leftover
        report = self._report(verdict, message, started, time.monotonic() - begin)
        return fit(report)

    def _guarded(self, action: Callable[[], tuple[Verdict, Text]]) -> tuple[Verdict, Text]:
        """Every exception but an interrupt as a verdict, with its cause for staff."""
        try:
            return action()
        except CandidateFailure as failure:
            self._findings.notes.append(failure.detail)
            return failure.verdict, failure.text
        except AssignmentFault as fault:
            self._trace += fault.detail
            return Verdict.ASSIGNMENT_ERROR, fault.text or text("assignment_fault", what=fault.what)
        except SandboxError as error:
            self._trace += traceback.format_exc()
            return Verdict.GRADER_ERROR, text("grader_fault", what=_first_line(str(error)))
        except Exception as error:  # noqa: BLE001 (no grading may end without a Report)
            self._trace += traceback.format_exc()
            return Verdict.GRADER_ERROR, text("grader_fault", what=type(error).__name__)

    def _phases(self) -> tuple[Verdict, Text]:
        job = self._job
        with self._progress.step(Phase.PREPARE, "files and assignment"):
            self._check_identity()
            plan = prepare(job, self._assignment, self._files, self._seed, self._supervisor.watch)
            self._plan = plan
            if packages := self._assignment.spec.sandbox.packages:
                self._backend = self._backend.equipped(packages)
                if log := self._backend.build_log:
                    self._findings.notes.append(f"built for this assignment: {self._backend.image}\n{log}")
            if on_device(job.target.hardware):
                self._device = Device.open(job.target.hardware)
            sandboxes = Sandboxes(
                self._backend,
                plan.limits,
                plan.timed_limits(),
                plan.language,
                self._supervisor,
                cores.choose().candidate,
                self._device,
            )
            self._sandboxes = sandboxes
            context = Context(
                plan,
                self._files,
                self._seed,
                job.mode,
                self._hardware,
                sandboxes,
                self._progress,
                self._findings,
                once=self._once,
                holds=self._holds,
            )
            timed.plan_ahead(context)
            public.start_ahead(context)
            loading = threading.Thread(target=_load_torch, name="solmark-torch", daemon=True)
            loading.start()  # Meanwhile C++ is compiled, or the sandbox loads its own.
        try:
            verdict, message = self._run(context, loading)
        except Ended as end:
            verdict, message = end.verdict, end.message
        if job.mode is Mode.GRADE:
            with self._progress.step(Phase.SCORE):
                self._score = self._scored(plan, verdict)
        return verdict, message

    def _run(self, context: Context, loading: threading.Thread) -> tuple[Verdict, Text]:
        try:
            build.run(context)
        finally:
            with self._progress.step(Phase.PREPARE, "load torch"):
                loading.join()
        if context.mode in inspect.MODES:
            return inspect.run(context)
        oracle.run(context)
        public.run(context)
        unstable = timed.run(context)
        if unstable is None and self._unranked() is None:
            review.run(context, self._assignment.spec.reference(self._job.target.hardware))
        hidden.run(context)
        if unstable is not None:
            return Verdict.UNSTABLE_TIMING, text("unstable", case=unstable)
        was_timed = any(result.measure is not None for result in self._findings.timed)
        return Verdict.ACCEPTED, text("accepted_timed" if was_timed else "accepted")

    def _check_identity(self) -> None:
        """The job's digests name what was handed over. Raises SandboxError where they do not."""
        if self._job.bundle != self._assignment.digest:
            raise SandboxError("the assignment here is not the bundle that the job names")
        named = {(file.name, file.sha256) for file in self._job.files}
        for name, data in self._files.items():
            if (name[:128], hashlib.sha256(data).hexdigest()) not in named:
                raise SandboxError("the files here are not those that the job names")

    def _scored(self, plan: Plan, verdict: Verdict) -> Score:
        findings = self._findings
        planned = [
            case
            for case in (*plan.public, *plan.hidden)
            if case.id not in plan.skipped or case.part in plan.left_out
        ]
        return verdicts.score(
            self._assignment.spec,
            self._job.target.hardware,
            planned,
            [*findings.tests, *findings.hidden_detail],
            findings.timed,
            left_out=plan.left_out,
            verdict=verdict,
            unranked=self._unranked(),
            review=review.asked(findings.evidence),
        )

    def _unranked(self) -> Text | None:
        found = self._findings.unranked
        if found is not None and found.code == "no_freezer":
            return found  # Before any other: docs/decisions/0007-dead-leaders-and-no-freezer.md.
        if not self._backend.isolates:
            return text("no_isolation", sandbox=self._backend.name)
        if self._backend.identity != "own":
            return text("own_user")
        return found

    def _close(self) -> tuple[Verdict, Text] | None:
        """End every sandbox; a verdict if something of one is left."""
        try:
            if self._sandboxes is not None:
                self._sandboxes.close()
            if self._device is not None:
                self._device.check_clean()
        except SandboxError as error:
            self._trace += traceback.format_exc()
            return Verdict.GRADER_ERROR, text("grader_fault", what=_first_line(str(error)))
        finally:
            if self._device is not None:
                self._device.close()
        return None

    def _report(self, verdict: Verdict, message: Text, started: float, seconds: float) -> Report:
        job, findings = self._job, self._findings
        return Report(
            submission=job.submission,
            attempt=job.attempt,
            token=job.token,
            mode=job.mode,
            assignment=job.assignment,
            bundle=job.bundle,
            language=self._plan.language if self._plan else job.language,
            target=job.target,
            verdict=verdict,
            message=message,
            started=started,
            seconds=seconds,
            phases=self._progress.times(),
            build=findings.build,
            tests=tuple(findings.tests),
            hidden=findings.hidden,
            timed=tuple(findings.timed),
            score=self._score,
            evidence=tuple(findings.evidence),
            inspections=tuple(findings.inspections),
            environment=environment.describe(
                self._backend,
                self._hardware,
                target=job.target.hardware,
                node=self._node,
                freezer=findings.freezer,
                versions=findings.versions,
                device=self._device,
                reading=findings.reading,
                yardstick=findings.yardstick,
                duty_cycle=findings.duty_cycle,
            ),
            staff=StaffDetail(
                seed=self._seed.hex(),
                replay=self._replay(),
                hidden=tuple(findings.hidden_detail),
                traceback=clean("\n".join([self._trace, *findings.notes]).strip(), _TRACEBACK_CHARS),
            ),
        )

    def _replay(self) -> str:
        job = self._job
        names = " ".join(shlex.quote(line(name, 128)) for name in list(self._files)[:64])
        options = f"--mode test --seed {self._seed.hex()}"
        if job.target.hardware != DEFAULT_HARDWARE:
            options += f" --hardware {job.target.hardware}"
        language = self._plan.language if self._plan else job.language
        if language is not None and language is not self._detected():
            options += f" --language {language.value}"
        return shorten(f"solmark grade {job.assignment} {names} {options}", 4096)

    def _detected(self) -> Language | None:
        """The language that would be chosen where nobody names one."""
        try:
            return detect(self._files)[0]
        except FilesError:
            return None


def fit(report: Report, limit: int = REPORT_BYTES) -> Report:
    """The report in at most `limit` bytes: transcripts go, then outputs of tests are cut until it fits."""
    if len(report.model_dump_json().encode()) > limit:
        report = report.model_copy(
            update={
                "tests": tuple(test.model_copy(update={"transcript": ""}) for test in report.tests),
                "timed": tuple(timed.model_copy(update={"transcript": ""}) for timed in report.timed),
            }
        )
    for chars in (4096, 1024, 256, 0):
        if len(report.model_dump_json().encode()) <= limit:
            return report
        staff = report.staff
        if staff is not None:
            hidden = tuple(_cut(test, chars) for test in staff.hidden)
            trace = shorten(staff.traceback, max(4 * chars, 4096))
            staff = staff.model_copy(update={"hidden": hidden, "traceback": trace})
        tests = tuple(_cut(test, chars) for test in report.tests)
        report = report.model_copy(update={"tests": tests, "staff": staff})
    return report


def _cut(test: TestResult, chars: int) -> TestResult:
    return test.model_copy(
        update={"stdout": shorten(test.stdout, chars), "stderr": shorten(test.stderr, chars)}
    )


def _load_torch() -> None:
    """The oracle's libraries are loaded before the candidate runs."""
    import torch  # noqa: F401


def _seed(seed: bytes | None) -> bytes:
    """A session seed of 16 to 32 bytes; another length is hashed to one."""
    if seed is None:
        return secrets.token_bytes(SEED_BYTES)
    if SEED_BYTES <= len(seed) <= 32:
        return seed
    return hashlib.blake2b(seed, digest_size=SEED_BYTES).digest()


def _first_line(message: str) -> str:
    return line(message.partition("\n")[0], 300)
